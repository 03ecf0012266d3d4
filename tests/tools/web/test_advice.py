"""What a model is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.results import (
    ADVICE,
    MAX_REASON_CHARS,
    OpenPageToolResult,
    SearchResultItem,
    WebSearchToolResult,
    advice,
)


def test_every_kind_has_its_sentence() -> None:
    assert set(ADVICE) == set(ErrorKind)
    assert len(set(ADVICE.values())) == len(ErrorKind)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (-5.0, ""),
        (0.2, "about 1 seconds."),
        (90.0, "about 90 seconds."),
        (150.0, "about 2 minutes."),
        (7200.0, "about 2 hours."),
        (10 * 86400.0, "about 10 days."),
    ],
)
def test_it_says_when_it_may_be_better(seconds: float | None, words: str) -> None:
    told = advice(
        WebError(ErrorKind.QUOTA, "no", retry_at=None if seconds is None else 50.0 + seconds, told="all gone"), 50.0
    )
    assert told.startswith("all gone. " + ADVICE[ErrorKind.QUOTA])
    assert told.endswith(words or ADVICE[ErrorKind.QUOTA])


@given(st.sampled_from(sorted(ErrorKind)), st.text(max_size=2000))
def test_hostile_words_stay_short_and_on_one_line(kind: ErrorKind, message: str) -> None:
    told = advice(WebError(kind, message), 0.0)
    assert "\n" not in told
    assert len(told) <= MAX_REASON_CHARS + len(ADVICE[kind]) + 3


def test_the_results_have_the_names_of_the_contract() -> None:
    item = SearchResultItem(title="t", url="u", snippet="s", citation_id=1)
    answer = WebSearchToolResult(results=[item], message="m", sources=["[1] t (u)"])
    assert answer.model_dump() == {
        "results": [{"title": "t", "url": "u", "snippet": "s", "citation_id": 1}],
        "message": "m",
        "sources": ["[1] t (u)"],
    }
    page = OpenPageToolResult(url="u", status="error", error="no")
    names = {"url", "title", "content", "content_length", "original_length", "truncated", "status", "error"}
    assert names <= set(page.model_dump())
