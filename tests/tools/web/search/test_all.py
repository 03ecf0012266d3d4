"""What is true of every provider with an API, over loopback: results, failures of all kinds, cancellation."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock, deferLater

from mud_assistant.resilience.testing.fake import json_response
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult
from mud_assistant.tools.web.testing.service import HITS
from tests.tools.web.search.calling import KEY, SERVED, WELL, error_of, served

NAMES = sorted(SERVED)


@pytest.mark.parametrize("name", NAMES)
async def test_it_finds_what_there_is_up_to_the_limit(name: str, reactor: Any) -> None:
    make, fake_type = SERVED[name]
    fake = fake_type(reactor, key=KEY)
    async with served(fake, reactor) as (shared, url):
        provider = make(shared, KEY, url)
        results = await provider.search(SearchQuery("village well", limit=3))
    assert [(result.title, result.url) for result in results] == [(hit.title, hit.url) for hit in HITS[:3]]
    assert all(hit.snippet in result.snippet for hit, result in zip(HITS, results, strict=False))
    assert all(isinstance(result, SearchResult) for result in results)
    assert provider.name == name
    assert len(fake.requests) == 1


@pytest.mark.parametrize("name", NAMES)
async def test_nothing_found_is_no_error(name: str, reactor: Any) -> None:
    make, fake_type = SERVED[name]
    async with served(fake_type(reactor, hits=()), reactor) as (shared, url):
        assert list(await make(shared, KEY, url).search(WELL)) == []


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("garbage", ErrorKind.PARSE),
        ("die", ErrorKind.NETWORK),
        ("huge", ErrorKind.PARSE),
        ("huge-error", ErrorKind.SERVER),
        ("redirect", ErrorKind.SERVER),
        ("server-error", ErrorKind.SERVER),
        ("unavailable", ErrorKind.SERVER),
        ("wrong-types", ErrorKind.PARSE),
    ],
)
@pytest.mark.parametrize("name", NAMES)
async def test_any_server_may_fail(name: str, fault: str, kind: ErrorKind, reactor: Any) -> None:
    make, fake_type = SERVED[name]
    fake = fake_type(reactor)
    fake.fail(fault)
    async with served(fake, reactor) as (shared, url):
        error = await error_of(make(shared, KEY, url).search(WELL))
        if fault == "unavailable":
            assert error.retry_at == pytest.approx(reactor.seconds() + 30, abs=5)
    assert error.kind is kind
    assert error.provider == name
    assert error.message.startswith(f"{name} ")
    assert len(error.message) < 400
    assert len(fake.requests) == 1


@pytest.mark.parametrize("name", NAMES)
async def test_a_wrong_key_is_told_without_the_key(name: str, reactor: Any) -> None:
    make, fake_type = SERVED[name]
    async with served(fake_type(reactor, key="another"), reactor) as (shared, url):
        error = await error_of(make(shared, KEY, url).search(WELL))
    assert error.kind is ErrorKind.AUTH


@pytest.mark.parametrize("name", NAMES)
async def test_a_server_that_repeats_the_key_does_not_get_it_into_a_message(name: str, reactor: Any) -> None:
    make, fake_type = SERVED[name]
    fake = fake_type(reactor)
    async with served(fake, reactor) as (shared, url):
        for body in ({"error": f"bad key {KEY}\x1b[2J\u202e"}, {"detail": {"error": f"bad key {KEY}"}}):
            fake.fail_with(json_response(body, 401))
            error = await error_of(make(shared, KEY, url).search(WELL))
            assert "bad key" in error.message
            assert KEY not in error.message
            assert error.message.isprintable()


@pytest.mark.parametrize("fault", ["hang", "hang-body"])
@pytest.mark.parametrize("name", NAMES)
async def test_silence_ends_at_the_deadline_and_the_connection_with_it(name: str, fault: str, reactor: Any) -> None:
    make, fake_type = SERVED[name]
    fake, clock = fake_type(reactor), Clock()
    fake.fail(fault)
    async with served(fake, reactor, clock) as (shared, url):
        work = Deferred.fromCoroutine(error_of(make(shared, KEY, url).search(WELL)))
        await until(reactor, lambda: bool(fake.requests))
        clock.advance(15)
        assert (await work).kind is ErrorKind.TIMEOUT
        await until(reactor, lambda: bool(fake.abandoned))
    assert clock.getDelayedCalls() == []


@pytest.mark.parametrize("name", NAMES)
async def test_cancelling_closes_the_connection(name: str, reactor: Any) -> None:
    make, fake_type = SERVED[name]
    fake = fake_type(reactor)
    fake.fail("hang")
    async with served(fake, reactor) as (shared, url):

        async def search() -> object:
            return await make(shared, KEY, url).search(WELL)

        work = Deferred.fromCoroutine(search())
        await until(reactor, lambda: bool(fake.requests))
        work.cancel()
        with pytest.raises(CancelledError):
            await work
        await until(reactor, lambda: bool(fake.abandoned))


@pytest.mark.parametrize("name", NAMES)
async def test_a_closed_port_is_a_network_that_fails(name: str, reactor: Any) -> None:
    make, fake_type = SERVED[name]
    async with served(fake_type(reactor), reactor) as (_, url):
        pass
    async with served(fake_type(reactor), reactor) as (shared, _):
        error = await error_of(make(shared, KEY, url).search(WELL))
    assert error.kind is ErrorKind.NETWORK


async def until(reactor: Any, happened: Any) -> None:
    """Turn the reactor until it happened; the test's own time-out is the guard."""
    for _ in range(500):
        if happened():
            return
        await deferLater(reactor, 0.01)
    raise AssertionError("it did not happen within 5 s")
