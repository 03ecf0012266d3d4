"""A client leaves: the provider is left as well, everything is given back, and nobody is held to have failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytest_twisted

from mud_assistant.llm.testing import Hang, Reply
from mud_assistant.resilience import CircuitState
from tests.assistant.gateway.asking import LANES, PATHS, ask, body_of, connect, post, settle
from tests.assistant.gateway.http.reached import until
from tests.assistant.gateway.standing import Standing, reactor, standing

LONG = Reply("The well lies north of the mill. " * 20)
WHERE = {
    "before the headers": Hang("headers"),
    "before the first byte": Hang("body"),
    "in the middle": Hang("mid", after=20, reply=LONG),
}


def assert_given_back(gateway: Standing) -> None:
    """Nothing is under way, and the provider is thought as well of as before."""
    states = gateway.service.parts.pipeline.servers()
    assert {(one.permits_out, one.in_flight, one.waiting) for one in states} == {(0, 0, 0)}
    assert {(one.state, one.failures_in_a_row) for one in states} == {(CircuitState.CLOSED, 0)}
    ends = {end.how for one in states for end in one.recent}
    assert ends <= {"given back"}, "a client that left is neither a success nor a failure"
    assert gateway.gateway._listener.held_bytes == 0
    assert [use.in_flight for use in gateway.gateway._keys._uses.values()] == [0]
    (offered,) = gateway.gateway.models._offered.values()
    assert offered.places.tokens == offered.places.limit


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_a_client_that_leaves_a_stream_ends_the_call(
    tmp_path: Path, dialect: str, provider: str, where: str
) -> None:
    async with standing(tmp_path, [WHERE[where], Reply("Here.")], provider=provider) as gateway:
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect)))
        await until(reactor, lambda: gateway.fake.chats)
        if where == "in the middle":
            await client.got(b"mill")
        client.transport.abortConnection()
        await settle(gateway)
        assert gateway.fake.abandoned == gateway.fake.chats
        assert_given_back(gateway)
        spent = gateway.service.parts.ledger.spent("key:anyone")
        if where == "before the headers":
            assert spent.tokens == 0
        elif where == "in the middle":
            assert 5 < spent.tokens < 500, "what was read and written is booked as an estimate"
        assert gateway.service.parts.ledger.reserved("key:anyone").tokens == 0
        assert (await ask(gateway, PATHS[dialect], body_of(dialect))).status == 200


@pytest.mark.parametrize("where", ["before the headers", "in the middle"])
@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_a_client_that_leaves_before_a_whole_answer_ends_the_call(
    tmp_path: Path, dialect: str, provider: str, where: str
) -> None:
    async with standing(tmp_path, [WHERE[where]], provider=provider) as gateway:
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect, streams=False)))
        await until(reactor, lambda: gateway.fake.chats)
        client.transport.abortConnection()
        await settle(gateway)
        assert gateway.fake.abandoned == gateway.fake.chats
        assert client.received == b""
        assert_given_back(gateway)


@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_a_client_that_leaves_after_the_end_changes_nothing(tmp_path: Path, dialect: str, provider: str) -> None:
    async with standing(tmp_path, [Reply("Here.", usage=(7, 3))], provider=provider) as gateway:
        counts: dict[str, Any] = {"stream_options": {"include_usage": True}} if dialect == "chat" else {}
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect, **counts)))
        await client.got(b"0\r\n\r\n")
        client.transport.abortConnection()
        await settle(gateway)
        assert gateway.fake.abandoned == []
        assert gateway.service.parts.ledger.spent("key:anyone").tokens == 10
        (state,) = gateway.service.parts.pipeline.servers()
        assert (state.permits_out, state.in_flight) == (0, 0)


@pytest_twisted.ensureDeferred
async def test_a_client_that_leaves_while_it_waits_for_a_place_asks_nobody(tmp_path: Path) -> None:
    async with standing(tmp_path, [Hang("headers")] * 9) as gateway:
        (offered,) = gateway.gateway.models._offered.values()
        body = post(PATHS["chat"], body_of("chat"))
        clients = [await connect(gateway, body) for _ in range(5)]
        await until(reactor, lambda: len(gateway.gateway._listener) == 5 and offered.places.tokens == 0)
        places = offered.places.limit
        await until(reactor, lambda: len(gateway.fake.chats) == places)
        for client in reversed(clients):  # those that wait leave first
            client.transport.abortConnection()
        await settle(gateway)
        assert len(gateway.fake.chats) == len(gateway.fake.abandoned) == places < len(clients)
        assert_given_back(gateway)


@pytest.mark.parametrize("streams", [True, False])
@pytest_twisted.ensureDeferred
async def test_the_gateway_closes_at_once_though_clients_keep_idle_connections(tmp_path: Path, streams: bool) -> None:
    async with standing(tmp_path, [Reply("Here.")]) as gateway:
        client = await connect(gateway, post(PATHS["chat"], body_of("chat", streams=streams)))
        await client.got(b"Here" if streams else b'"total_tokens"')
        await settle(gateway)
        clock = reactor.seconds()
        await gateway.gateway._listener.close()
        assert client.is_closed or gateway.gateway._listener.connections == 0
        assert reactor.seconds() - clock < 0.9, "it does not wait until what is left is cut"
