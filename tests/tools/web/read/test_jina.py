"""Jina's shapes, over loopback."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.read.jina import JinaReadProvider, JinaSettings
from tests.tools.web.read.fake_readers import Failing, FakeJina
from tests.tools.web.read.services import PAGES, URL, reading, refusal

KEY = "jina_planted_key_0123456789"


def jina(key: str = "", **settings: Any) -> Any:
    return lambda shared, judge, url: JinaReadProvider(shared, judge, key, JinaSettings(base_url=url, **settings))


def envelope(code: int, name: str, message: str) -> dict[str, Any]:
    return {"data": None, "code": code, "name": name, "status": code * 100, "message": message}


async def test_a_page_is_read_whole_and_cut(reactor: Any) -> None:
    fake = FakeJina(Clock().seconds, PAGES)
    async with reading(fake, reactor, jina()) as (reader, judge):
        page = await reader.read_url(URL, offset=2, max_length=6)
        await reader.read_url("https://example.org/app#/route")
    assert (page.title, page.url, page.content) == ("A page", URL, "A page")
    assert (page.content_length, page.original_length, page.truncated) == (6, len(PAGES[URL].content), True)
    assert [fake.url_of(one) for one in fake.requests] == [URL, "https://example.org/app#/route"]
    assert judge.judged == [(URL, 0), ("https://example.org/app#/route", 1)]
    sent = fake.requests[0].headers
    assert "authorization" not in sent
    assert (sent["x-return-format"], sent["x-retain-images"], sent["x-timeout"]) == ("markdown", "none", "20")
    assert sent["accept"] == "application/json"


async def test_a_private_address_never_leaves(reactor: Any) -> None:
    fake = FakeJina(Clock().seconds, PAGES)
    async with reading(fake, reactor, jina()) as (reader, _):
        assert (await refusal(reader, "http://10.0.0.1/")).kind is ErrorKind.POLICY
    assert not fake.requests


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://example.org/gone", ErrorKind.BAD_REQUEST),
        ("https://example.org/members", ErrorKind.BLOCKED_OR_EMPTY),
        ("https://example.org/empty", ErrorKind.BLOCKED_OR_EMPTY),
        ("https://example.org/unknown", ErrorKind.BLOCKED_OR_EMPTY),
        ("gopher://example.org/", ErrorKind.BAD_REQUEST),
    ],
)
async def test_a_page_that_is_none(reactor: Any, url: str, kind: ErrorKind) -> None:
    async with reading(FakeJina(Clock().seconds, PAGES), reactor, jina()) as (reader, _):
        error = await refusal(reader, url)
    assert (error.kind, error.provider) == (kind, "jina")


@pytest.mark.parametrize(
    ("failing", "kind", "words"),
    [
        (Failing(401, envelope(401, "AuthenticationRequiredError", "need a key")), ErrorKind.AUTH, "need a key"),
        (Failing(402, envelope(402, "InsufficientBalanceError", "top up")), ErrorKind.QUOTA, "top up"),
        (Failing(403, envelope(403, "SecurityCompromiseError", "abuse")), ErrorKind.BLOCKED_OR_EMPTY, "abuse"),
        (Failing(403, b"<html>blocked by cloudflare"), ErrorKind.SERVER, "403"),
        (Failing(451, envelope(451, "SecurityCompromiseError", "blocked")), ErrorKind.BLOCKED_OR_EMPTY, "blocked"),
        (Failing(422, envelope(422, "AssertionFailureError", "goto")), ErrorKind.BLOCKED_OR_EMPTY, "goto"),
        (Failing(422, envelope(422, "ParamValidationError", "bad url")), ErrorKind.BAD_REQUEST, "bad url"),
        (Failing(500, envelope(500, "TypeError", "parentNode")), ErrorKind.SERVER, "parentNode"),
        (Failing(524, b"<html>timeout"), ErrorKind.TIMEOUT, "524"),
        (Failing(200, envelope(422, "AssertionFailureError", "goto")), ErrorKind.BLOCKED_OR_EMPTY, "goto"),
        (Failing(200, b"no json"), ErrorKind.PARSE, "JSON"),
        (Failing(200, {"code": 200, "data": None}), ErrorKind.PARSE, "without a page"),
        (Failing(401, envelope(401, "AuthenticationFailedError", f"bad {KEY}")), ErrorKind.AUTH, "bad"),
    ],
)
async def test_what_jina_says_instead(reactor: Any, failing: Failing, kind: ErrorKind, words: str) -> None:
    fake = FakeJina(Clock().seconds, PAGES)
    fake.failures.append(failing)
    async with reading(fake, reactor, jina(KEY)) as (reader, _):
        error = await refusal(reader)
    assert error.kind is kind
    assert words in error.message
    assert KEY not in error.message


async def test_without_a_key_twenty_a_minute_and_then_the_time_to_wait(reactor: Any) -> None:
    fake = FakeJina(Clock().seconds, PAGES)
    async with reading(fake, reactor, jina()) as (reader, _):
        for _ in range(20):
            await reader.read_url(URL)
        before = reactor.seconds()
        error = await refusal(reader)
    assert error.kind is ErrorKind.RATE_LIMITED
    assert error.retry_at is not None
    assert 59 < error.retry_at - before < 62


async def test_with_a_key_more_and_with_a_wrong_one_none(reactor: Any) -> None:
    fake = FakeJina(Clock().seconds, PAGES, key=KEY)
    async with reading(fake, reactor, jina(KEY)) as (reader, _):
        for _ in range(21):
            await reader.read_url(URL)
    async with reading(fake, reactor, jina("another")) as (reader, _):
        assert (await refusal(reader)).kind is ErrorKind.AUTH


async def test_nobody_there(reactor: Any) -> None:
    fake = FakeJina(Clock().seconds, PAGES)
    async with reading(
        fake, reactor, lambda s, j, _: JinaReadProvider(s, j, settings=JinaSettings("http://127.0.0.1:9"))
    ) as (
        reader,
        _,
    ):
        assert (await refusal(reader)).kind is ErrorKind.NETWORK


async def test_cancelling_ends_the_question(reactor: Any) -> None:
    fake = FakeJina(Clock().seconds, PAGES)
    async with reading(fake, reactor, jina()) as (reader, _):

        async def read() -> None:
            await reader.read_url(URL)

        work = Deferred.fromCoroutine(read())
        work.cancel()
        with pytest.raises(CancelledError):
            await work
