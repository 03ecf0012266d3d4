"""A listener that is not ready holds the stream back, down to the connection."""

from __future__ import annotations

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.internet.tcp import Client

from mud_assistant.llm import LLMDeadlineExceeded, StreamBroken, Unavailable
from mud_assistant.llm.response import StreamEvent, TextDelta
from mud_assistant.llm.testing import DieMidStream, Reply
from mud_assistant.resilience import Deadline, Limits
from tests.llm.test_client import ASKED, client_of, reactor

LONG = Reply("".join(f"w{number} " for number in range(200)), chunk_size=5)


@pytest.mark.parametrize("name", ["ollama", "local"])
async def test_every_event_waits_for_the_one_before(name: str) -> None:
    open_events = 0
    heard: list[str] = []

    async def slowly(text: str) -> None:
        nonlocal open_events
        open_events += 1
        assert open_events == 1
        await deferLater(reactor, 0)
        heard.append(text)
        open_events -= 1

    def listen(event: StreamEvent) -> Deferred[None] | None:
        return Deferred.fromCoroutine(slowly(event.text)) if isinstance(event, TextDelta) else None

    async with client_of(name, [LONG]) as (client, _):
        answer = await client.chat_completion(ASKED, listener=listen)
    assert "".join(heard) == answer.content == LONG.text


def reading() -> list[object]:
    """Our ends of connections that are being read."""
    return [reader for reader in reactor.getReaders() if isinstance(reader, Client)]


async def test_nothing_more_is_read_while_the_listener_waits() -> None:
    """A megabyte that nobody reads stays in the server: the sockets' buffers are all that is taken."""
    gate: Deferred[None] = Deferred()
    waits: list[bool] = []

    def listen(event: StreamEvent) -> Deferred[None] | None:
        if not waits and isinstance(event, TextDelta):
            waits.append(True)
            return gate
        return None

    huge = Reply("x" * 8_000_000, chunk_size=4000)
    async with client_of("ollama", [huge]) as (client, _):
        running = client.chat_completion(ASKED, listener=listen)
        while not waits:
            await deferLater(reactor, 0.01)
        await deferLater(reactor, 0.2)
        assert reading() == []
        gate.callback(None)
        await deferLater(reactor, 0)
        assert len(reading()) == 1
        assert len((await running).content) == 8_000_000


async def test_the_wait_is_not_the_servers_silence() -> None:
    def listen(event: StreamEvent) -> Deferred[None] | None:
        return deferLater(reactor, 1.0) if isinstance(event, TextDelta) else None

    async with client_of("ollama", [Reply("one")], limits=Limits(1, 1, 0.5)) as (client, _):
        assert (await client.chat_completion(ASKED, listener=listen)).content == "one"


async def test_the_deadline_goes_on_while_the_listener_waits() -> None:
    never: Deferred[None] = Deferred()

    async with client_of("ollama", [Reply("one")]) as (client, _):
        with pytest.raises(LLMDeadlineExceeded):
            await client.chat_completion(ASKED, listener=lambda _: never, deadline=Deadline.after(reactor, 1.0))
    assert never.called


async def test_cancelling_reaches_a_waiting_listener() -> None:
    never: Deferred[None] = Deferred()

    def listen(_: StreamEvent) -> Deferred[None]:
        reactor.callLater(0, running.cancel)
        return never

    async with client_of("ollama", [Reply("one")]) as (client, _):
        running = client.chat_completion(ASKED, listener=listen)
        with pytest.raises(CancelledError):
            await running
    assert never.called


async def test_what_a_listener_raises_ends_the_call_and_reaches_the_caller() -> None:
    def at_once(_: StreamEvent) -> None:
        raise KeyError("at once")

    async def later() -> None:
        await deferLater(reactor, 0)
        raise KeyError("later")

    async with client_of("ollama", [LONG, LONG]) as (client, _):
        with pytest.raises(KeyError, match="at once"):
            await client.chat_completion(ASKED, listener=at_once)
        with pytest.raises(KeyError, match="later"):
            await client.chat_completion(ASKED, listener=lambda _: Deferred.fromCoroutine(later()))


async def test_a_server_that_dies_while_the_listener_waits_is_told_after_it() -> None:
    heard: list[StreamEvent] = []

    def listen(event: StreamEvent) -> Deferred[None]:
        heard.append(event)
        return deferLater(reactor, 0.05)

    async with client_of("ollama", [DieMidStream(2, LONG)]) as (client, _):
        with pytest.raises((StreamBroken, Unavailable)):
            await client.chat_completion(ASKED, listener=listen)
    assert heard
