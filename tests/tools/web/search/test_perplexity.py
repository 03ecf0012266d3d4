"""Perplexity's own errors."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.search.perplexity import PerplexitySearchProvider
from mud_assistant.tools.web.testing import FakePerplexity
from tests.tools.web.search.calling import KEY, WELL, error_of, served


@pytest.mark.parametrize(
    ("fault", "kind", "wait", "words"),
    [
        ("bad-request", ErrorKind.BAD_REQUEST, None, "Invalid request body"),
        ("invalid", ErrorKind.BAD_REQUEST, None, "must be below 21"),
        ("auth", ErrorKind.AUTH, None, "Invalid API key"),
        ("forbidden", ErrorKind.AUTH, None, "Access denied"),
        ("rate-limit", ErrorKind.RATE_LIMITED, 2, "Rate limit exceeded"),
    ],
)
async def test_each_error_has_its_kind_and_its_words(
    fault: str, kind: ErrorKind, wait: float | None, words: str, reactor: Any
) -> None:
    fake = FakePerplexity(reactor)
    fake.fail(fault)
    async with served(fake, reactor) as (shared, url):
        error = await error_of(PerplexitySearchProvider(shared, KEY, url).search(WELL))
        assert error.retry_at == (None if wait is None else pytest.approx(reactor.seconds() + wait, abs=5))
    assert error.kind is kind
    assert words in error.message
