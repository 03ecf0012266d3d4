"""The limit on Twisted as a subject: a transport, ready bytes, and no HTTP that deserves the name.

What the answer says is read from its JSON all the same, event by event: that work nobody is spared.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol

from benchmarks.canned import ANSWER, MODEL, TEXT, TOOLS, history
from benchmarks.paired import Turn, metered

_EVENT = re.compile(rb"^data: (\{.*\})$", re.MULTILINE)


class _Wire(Protocol):
    """One connection: a request's bytes out, all bytes of the answer in."""

    def __init__(self, end: bytes) -> None:
        self._end = end
        self._held: list[bytes] = []
        self._waiting: Deferred[bytes] | None = None

    def ask(self, request: bytes) -> Deferred[bytes]:
        """Everything that came, up to the end."""
        self._waiting = Deferred()
        assert self.transport is not None
        self.transport.write(request)
        return self._waiting

    def dataReceived(self, data: bytes) -> None:
        """Collect until the end is there."""
        self._held.append(data)
        if data.endswith(self._end) and self._waiting is not None:
            whole, self._held = b"".join(self._held), []
            waiting, self._waiting = self._waiting, None
            waiting.callback(whole)


class Transport:
    """Requests over connections made once; an answer is whole with its last bytes; `kind` is `json` or `stream`."""

    def __init__(self, reactor: Any, url: str, kind: str, count: int = 20, callers: int = 8) -> None:
        asked = {"model": MODEL, "tools": TOOLS, "messages": history(count)}
        body = json.dumps(asked).encode()
        host, _, path = url.removeprefix("http://").partition("/")
        self._request = f"POST /{path}/chat/completions HTTP/1.1\r\nHost: {host}\r\n".encode()
        self._request += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        self._port = int(host.rpartition(":")[2])
        self._reactor = reactor
        self._end = b"}" if kind == "json" else b"0\r\n\r\n"
        self._check = _check_whole if kind == "json" else _check_events
        self._callers = callers
        self._wires: list[_Wire] = []

    async def turn(self, seconds: float) -> Turn:
        """Volleys of requests."""
        return await metered(self, seconds)

    async def volley(self) -> int:
        """One request on each connection."""
        for answer in await gatherResults([wire.ask(self._request) for wire in self._wires], consumeErrors=True):
            self._check(answer)
        return self._callers

    async def reset(self) -> None:
        """Connect at the first time."""
        while len(self._wires) < self._callers:
            endpoint = TCP4ClientEndpoint(self._reactor, "127.0.0.1", self._port)
            self._wires.append(await connectProtocol(endpoint, _Wire(self._end)))

    async def close(self) -> None:
        """Hang up."""
        for wire in self._wires:
            assert wire.transport is not None
            wire.transport.loseConnection()


def _check_whole(answer: bytes) -> None:
    document = orjson.loads(answer[answer.index(b"\r\n\r\n") :])
    assert document["choices"][0]["message"]["content"] == ANSWER


def _check_events(answer: bytes) -> None:
    text = list[str]()
    for event in _EVENT.findall(answer):
        for choice in orjson.loads(event)["choices"]:
            text.append(choice["delta"].get("content") or "")
    assert "".join(text) == TEXT
