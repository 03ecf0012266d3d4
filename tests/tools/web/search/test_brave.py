"""Brave's own: two windows in one header, markup in descriptions, its errors."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.search.brave import BraveSearchProvider, closed_windows
from mud_assistant.tools.web.testing import FakeBrave
from tests.tools.web.search.calling import KEY, WELL, Canned, canned, done, error_of, failed, served, shared


def headers(remaining: str, reset: str) -> Headers:
    return Headers({"X-RateLimit-Remaining": [remaining], "X-RateLimit-Reset": [reset]})


@pytest.mark.parametrize(
    ("remaining", "reset", "closed"),
    [
        ("1, 14523", "1, 1209600", (0, 0)),
        ("0, 14523", "1, 1209600", (1, 0)),
        ("1, 0", "1, 1209600", (0, 1209600)),
        ("0,0", "1,1209600", (1, 1209600)),
        ("0", "1", (1, 0)),
        ("", "", (0, 0)),
        ("0, 0", "", (0, 0)),
        ("0, x", "1, 2", (0, 0)),
        ("-1, nan", "inf, 1e9", (0, 0)),
        ("0, 0", "1", (1, 0)),
        ("0," * 60, "1," * 60, (0, 0)),
    ],
)
def test_two_windows_are_read_from_one_header(remaining: str, reset: str, closed: tuple[float, float]) -> None:
    assert closed_windows(headers(remaining, reset)) == closed
    assert closed_windows(Headers()) == (0, 0)


@pytest.mark.parametrize(
    ("fault", "kind", "wait", "words"),
    [
        ("bad-request", ErrorKind.BAD_REQUEST, None, "Unable to validate"),
        ("auth", ErrorKind.AUTH, None, "token is invalid"),
        ("forbidden", ErrorKind.AUTH, None, "plan does not have"),
        ("rate-limit", ErrorKind.RATE_LIMITED, 1, "rate limit exceeded"),
        ("month-used-up", ErrorKind.QUOTA, 1_209_600, "no requests left"),
    ],
)
async def test_each_error_has_its_kind_and_its_words(
    fault: str, kind: ErrorKind, wait: float | None, words: str, reactor: Any
) -> None:
    fake = FakeBrave(reactor)
    fake.fail(fault)
    async with served(fake, reactor) as (shared, url):
        error = await error_of(BraveSearchProvider(shared, KEY, url).search(WELL))
        assert error.retry_at == (None if wait is None else pytest.approx(reactor.seconds() + wait, abs=5))
    assert error.kind is kind
    assert words in error.message


async def test_descriptions_come_without_markup(reactor: Any) -> None:
    async with served(FakeBrave(reactor), reactor) as (shared, url):
        results = await BraveSearchProvider(shared, KEY, url).search(WELL)
    assert results[0].snippet == "Where the well lies, part 1. & more"


def limited(remaining: str, reset: str) -> Canned:
    return canned({"type": "search"}, X_RateLimit_Remaining=remaining, X_RateLimit_Reset=reset)


def test_an_empty_second_is_waited_for() -> None:
    clock, exchange = Clock(), limited("0, 90", "1, 1000")
    provider = BraveSearchProvider(shared(exchange, clock), KEY)
    done(provider.search(WELL))
    second = Deferred.fromCoroutine(provider.search(WELL))
    assert len(exchange.asked) == 1
    clock.advance(1)
    assert second.called
    assert len(exchange.asked) == 2


def test_a_wait_can_be_cancelled() -> None:
    clock, exchange = Clock(), limited("0, 90", "1, 1000")
    provider = BraveSearchProvider(shared(exchange, clock), KEY)
    done(provider.search(WELL))
    second = Deferred.fromCoroutine(provider.search(WELL))
    second.cancel()
    second.addErrback(lambda _: None)
    assert clock.getDelayedCalls() == []
    assert len(exchange.asked) == 1


def test_a_longer_window_is_not_waited_for() -> None:
    clock, exchange = Clock(), limited("0, 90", "30, 1000")
    provider = BraveSearchProvider(shared(exchange, clock), KEY)
    done(provider.search(WELL))
    error = failed(provider.search(WELL))
    assert (error.kind, error.retry_at) == (ErrorKind.RATE_LIMITED, 30)


def test_an_empty_month_is_not_asked_again_until_it_is_over() -> None:
    clock, exchange = Clock(), limited("1, 0", "1, 1000")
    provider = BraveSearchProvider(shared(exchange, clock), KEY)
    done(provider.search(WELL))
    clock.advance(999)
    error = failed(provider.search(WELL))
    assert (error.kind, error.retry_at) == (ErrorKind.QUOTA, 1000)
    assert len(exchange.asked) == 1
    clock.advance(1)
    done(provider.search(WELL))
    assert len(exchange.asked) == 2


@pytest.mark.parametrize("web", [None, [], 3, {}, {"results": None}, {"results": {"title": "x"}}])
def test_an_answer_of_another_shape_cannot_be_read(web: object) -> None:
    assert failed(BraveSearchProvider(shared(canned({"web": web})), KEY).search(WELL)).kind is ErrorKind.PARSE
