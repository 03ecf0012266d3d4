"""Tavily's own: its errors with and without a key, credits, reading."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.resilience.testing.fake import Response
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.search.tavily import TavilyOptions, TavilyProvider
from mud_assistant.tools.web.testing import FakeTavily
from tests.tools.web.search.calling import KEY, WELL, canned, done, error_of, failed, served, shared

PAGE = "https://wells.example.org/1"


@pytest.mark.parametrize(
    ("fault", "kind", "wait", "words"),
    [
        ("bad-request", ErrorKind.BAD_REQUEST, None, "Query is too long"),
        ("auth", ErrorKind.AUTH, None, "missing or invalid"),
        ("forbidden", ErrorKind.BLOCKED_OR_EMPTY, None, "not supported"),
        ("rate-limit", ErrorKind.RATE_LIMITED, 7, "excessive requests"),
        ("plan-used-up", ErrorKind.QUOTA, None, "plan's set usage limit"),
        ("pay-as-you-go-used-up", ErrorKind.QUOTA, None, "pay-as-you-go"),
        ("keyless-minute", ErrorKind.RATE_LIMITED, 42, "this minute"),
        ("keyless-month", ErrorKind.QUOTA, 864_000, "this month"),
    ],
)
async def test_each_error_has_its_kind_and_its_words(
    fault: str, kind: ErrorKind, wait: float | None, words: str, reactor: Any
) -> None:
    fake = FakeTavily(reactor)
    fake.fail(fault)
    async with served(fake, reactor) as (shared, url):
        error = await error_of(TavilyProvider(shared, url=url).search(WELL))
        assert error.retry_at == (None if wait is None else pytest.approx(reactor.seconds() + wait, abs=5))
    assert error.kind is kind
    assert words in error.message


@pytest.mark.parametrize("wait", [None, "7", -1, True, 1e30, [], {}])
def test_a_keyless_cap_without_a_sensible_wait_is_a_rate_limit(wait: object) -> None:
    exchange = canned({"error": {"code": 1, "message": None, "retry_after_seconds": wait}}, 429)
    error = failed(TavilyProvider(shared(exchange)).search(WELL))
    assert (error.kind, error.retry_at) == (ErrorKind.RATE_LIMITED, None)


async def test_credits_are_added_up(reactor: Any) -> None:
    fake = FakeTavily(reactor)
    fake.pages = {PAGE: "text"}
    async with served(fake, reactor) as (shared, url):
        provider = TavilyProvider(shared, KEY, url, TavilyOptions(search_depth="advanced"))
        await provider.search(WELL)
        await provider.read_url(PAGE)
    assert provider.credits == 3


@pytest.mark.parametrize("told", [None, True, "1", -4, [], {}])
def test_credits_that_are_none_do_not_count(told: object) -> None:
    provider = TavilyProvider(shared(canned({"results": [], "usage": {"credits": told}})), KEY)
    done(provider.search(WELL))
    assert provider.credits == 0


async def test_a_page_is_read_in_parts(reactor: Any) -> None:
    fake = FakeTavily(reactor)
    fake.pages = {PAGE: "# The well\nIt is 12 m deep."}
    async with served(fake, reactor) as (shared, url):
        provider = TavilyProvider(shared, KEY, url)
        whole = await provider.read_url(PAGE)
        part = await provider.read_url(PAGE, offset=11, max_length=5)
    assert (whole.url, whole.title, whole.content) == (PAGE, "The well", "# The well\nIt is 12 m deep.")
    assert (whole.content_length, whole.original_length, whole.truncated) == (27, 27, False)
    assert (part.content, part.content_length, part.original_length, part.truncated) == ("It is", 5, 27, True)
    assert fake.requests[0].path == "/extract"
    assert fake.requests[0].body == {
        "urls": [PAGE],
        "format": "markdown",
        "extract_depth": "basic",
        "timeout": 12,
        "include_usage": True,
    }


async def test_a_page_it_cannot_read_is_told_with_its_reason(reactor: Any) -> None:
    async with served(FakeTavily(reactor), reactor) as (shared, url):
        error = await error_of(TavilyProvider(shared, KEY, url).read_url(PAGE))
    assert error.kind is ErrorKind.BLOCKED_OR_EMPTY
    assert error.message == "tavily could not read the page: Failed to fetch url"


def test_pages_are_matched_by_address_and_not_by_place() -> None:
    entries = [
        {"url": "https://other.example.org/", "raw_content": "other"},
        {"url": "https://WELLS.example.org/1/", "raw_content": "mine"},
    ]
    provider = TavilyProvider(shared(canned({"results": entries, "failed_results": []})), KEY)
    assert done(provider.read_url(PAGE)).content == "mine"
    assert failed(provider.read_url("https://wells.example.org/2")).kind is ErrorKind.BLOCKED_OR_EMPTY


@pytest.mark.parametrize("content", [None, 3, "", "  \n", ["a"], {"a": 1}])
@pytest.mark.parametrize("failures", [None, 7, [None, 1, {"url": None}], [{"url": PAGE, "error": None}]])
def test_a_page_without_text_is_none(content: object, failures: object) -> None:
    record = {"results": [None, 5, {}, {"url": PAGE, "raw_content": content}], "failed_results": failures}
    error = failed(TavilyProvider(shared(canned(record)), KEY).read_url(PAGE))
    assert (error.kind, error.message) == (ErrorKind.BLOCKED_OR_EMPTY, "tavily could not read the page")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"detail":{"error":"This URL is not supported."}}', ErrorKind.BLOCKED_OR_EMPTY),
        (b"<!DOCTYPE html><html><title>Just a moment...</title></html>", ErrorKind.SERVER),
        (b"error code: 1020", ErrorKind.SERVER),
        (b'{"detail":{"error":"Not available in your region"}}', ErrorKind.SERVER),
        (b'{"detail":{"error":"Forbidden"}}', ErrorKind.AUTH),
    ],
)
async def test_a_403_is_the_keys_only_when_it_speaks_of_nothing_else(
    body: bytes, kind: ErrorKind, reactor: Any
) -> None:
    fake = FakeTavily(reactor)
    fake.fail_with(Response(403, {"Content-Type": "text/plain"}, (body,)))
    async with served(fake, reactor) as (shared, url):
        error = await error_of(TavilyProvider(shared, url=url).read_url("https://example.org/"))
    assert error.kind is kind
