"""SearXNG's own: JSON that is off, engines that fail, results that are none, a second page."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.resilience.testing.fake import json_response
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.search.searxng import SearxngSearchProvider
from mud_assistant.tools.web.source.protocol import SearchQuery
from mud_assistant.tools.web.testing import FakeSearxng
from mud_assistant.tools.web.testing.service import Hit
from tests.tools.web.search.calling import WELL, canned, done, error_of, failed, served, shared

URL = "http://127.0.0.1:8888"
MANY = tuple(Hit(f"Well {number}", f"https://w.example.org/{number}", "deep") for number in range(25))


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("bad-request", ErrorKind.BAD_REQUEST, "No query"),
        ("limiter", ErrorKind.RATE_LIMITED, "Too Many Requests"),
        (
            "engines-failed",
            ErrorKind.BLOCKED_OR_EMPTY,
            "duckduckgo: Suspended: too many requests, brave: HTTP connection",
        ),
    ],
)
async def test_each_error_has_its_kind_and_its_words(fault: str, kind: ErrorKind, words: str, reactor: Any) -> None:
    fake = FakeSearxng(reactor)
    fake.fail(fault)
    async with served(fake, reactor) as (shared, url):
        error = await error_of(SearxngSearchProvider(shared, "", url).search(WELL))
    assert error.kind is kind
    assert words in error.message


async def test_json_that_is_off_is_told_with_what_to_do(reactor: Any) -> None:
    fake = FakeSearxng(reactor)
    fake.fail("json-off")
    async with served(fake, reactor) as (shared, url):
        error = await error_of(SearxngSearchProvider(shared, "", url).search(WELL))
    assert error.kind is ErrorKind.AUTH
    assert error.message == ("searxng answers no JSON (403): JSON is off: add json to search.formats in settings.yml")


def test_a_403_in_json_is_something_else() -> None:
    error = failed(SearxngSearchProvider(shared(canned({"error": "go away"}, 403)), "", URL).search(WELL))
    assert error.kind is ErrorKind.AUTH
    assert "go away" in error.message


async def test_results_count_although_some_engines_failed(reactor: Any) -> None:
    fake = FakeSearxng(reactor)
    fake.fail("some-engines-failed")
    async with served(fake, reactor) as (shared, url):
        assert len(await SearxngSearchProvider(shared, "", url).search(WELL)) == 5


async def test_results_without_address_and_title_are_skipped(reactor: Any) -> None:
    fake = FakeSearxng(reactor)
    fake.fail("key-values-only")
    async with served(fake, reactor) as (shared, url):
        assert list(await SearxngSearchProvider(shared, "", url).search(WELL)) == []


@pytest.mark.parametrize("engines", [None, 3, [], [None], [[]], [[None, 3]], {"a": 1}, ["x"]])
def test_an_odd_list_of_engines_does_no_harm(engines: object) -> None:
    exchange = canned({"results": [], "unresponsive_engines": engines})
    provider = SearxngSearchProvider(shared(exchange), "", URL)
    assert done(provider.search(WELL)) == []


async def test_a_second_page_is_asked_for_when_the_first_is_full_and_too_short(reactor: Any) -> None:
    fake = FakeSearxng(reactor, hits=MANY)
    async with served(fake, reactor) as (shared, url):
        results = await SearxngSearchProvider(shared, "", url).search(SearchQuery("well", 14))
        assert [result.url for result in results] == [hit.url for hit in MANY[:14]]
        assert [asked.query["pageno"] for asked in fake.requests] == ["1", "2"]
        assert len(await SearxngSearchProvider(shared, "", url).search(SearchQuery("well", 10))) == 10
    assert len(fake.requests) == 3


async def test_a_second_page_that_fails_leaves_the_first(reactor: Any) -> None:
    fake = FakeSearxng(reactor, hits=MANY)
    entries: Any = [{"title": f"t{number}", "url": f"https://w.example.org/{number}"} for number in range(10)]
    fake.fail_with(json_response({"results": entries}), times=1)
    async with served(fake, reactor) as (shared, url):
        fake._hits = lambda _: 1 / 0  # type: ignore[assignment,return-value]  # the fake falls over: a 500
        fake.fail_with(json_response({"results": entries}))
        provider = SearxngSearchProvider(shared, "", url)
        assert len(await provider.search(SearchQuery("well", 14))) == 10
    assert len(fake.requests) == 2


async def test_its_own_address_may_be_private_and_a_proxy_before_it_may_want_a_key(reactor: Any) -> None:
    fake = FakeSearxng(reactor, key="made-up")
    async with served(fake, reactor) as (shared, url):
        assert url.startswith("http://127.0.0.1:")
        assert len(await SearxngSearchProvider(shared, "made-up", url).search(WELL)) == 5
