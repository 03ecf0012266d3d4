"""The requests on the page docs/prompts.md are those that go over the wire."""

from __future__ import annotations

import pytest

from tests.shown_requests import drawn, shown

pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def test_the_page_shows_the_requests_as_they_are() -> None:
    assert drawn() == await shown(), "what a model reads has changed: run python -m tests.shown_requests"
