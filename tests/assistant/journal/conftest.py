"""Where the durable journal is kept: most of its tests hold for a file and for PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assistant.journal.keeping import Place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The path of a file that does not exist, or the URL of an empty schema."""
    if request.param == "sqlite":
        return tmp_path / "j"
    url: str = request.getfixturevalue("postgres_url")
    return url
