from __future__ import annotations

from pathlib import Path

import pytest

from tests.llm.embedded.stage import Stage, build_stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return build_stage(tmp_path)
