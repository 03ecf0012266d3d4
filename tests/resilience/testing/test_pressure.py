"""A client that does not read: the proxy makes, takes and keeps no more than a little for it."""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.task import deferLater

from mud_assistant.resilience.testing import EndlessEvents, FaultProxy, always
from tests.resilience.testing.test_connections import until
from tests.resilience.testing.test_proxy import GET, rigged

reactor: Any = _reactor


async def test_a_client_that_does_not_read_holds_endless_events_back() -> None:
    async with rigged() as rig:
        bare = await rig.raw()
        await until(lambda: rig.proxy.open_connections == 1)
        narrow(rig.proxy, bare)
        rig.proxy.plan = always(EndlessEvents(0))
        bare.transport.pauseProducing()
        bare.send(GET)
        sent = await settled(rig.proxy)
        assert waiting_bytes(rig.proxy) <= 2000
        bare.transport.resumeProducing()
        await until(lambda: rig.proxy.requests[0].sent_bytes > sent)


async def test_a_client_that_does_not_read_holds_the_server_back() -> None:
    async with rigged() as rig:
        bare = await rig.raw()
        await until(lambda: rig.proxy.open_connections == 1)
        narrow(rig.proxy, bare)
        rig.model.answer = b"x" * 30_000_000
        bare.transport.pauseProducing()
        bare.send(GET)
        sent = await settled(rig.proxy)
        assert sent < 20_000_000
        assert waiting_bytes(rig.proxy) < 2_000_000
        bare.transport.abortConnection()
        await bare.lost


async def settled(proxy: FaultProxy) -> int:
    """How many bytes of the first answer had gone out when no more would."""
    sent = -1
    same = 0
    while same < 10:
        await deferLater(reactor, 0.01)
        now = proxy.requests[0].sent_bytes if proxy.requests else -1
        same = same + 1 if now == sent > 0 else 0
        sent = now
    return sent


def narrow(proxy: FaultProxy, bare: Any) -> None:
    """Make the kernel hold little between the proxy and its only client."""
    (connection,) = _connections(proxy)
    connection.transport.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    bare.transport.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)


def waiting_bytes(proxy: FaultProxy) -> int:
    """How much the proxy itself holds for its only client."""
    (connection,) = _connections(proxy)
    transport, outlet = connection.transport, connection._writer
    return int(len(transport.dataBuffer) + transport._tempDataLen + (outlet._queued if outlet else 0))


def _connections(proxy: FaultProxy) -> list[Any]:
    return list(proxy.clients._open)
