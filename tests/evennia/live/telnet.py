"""A plain telnet client for tests: what a player sees, as text without negotiation and colours."""

from __future__ import annotations

import re
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.internet.protocol import Protocol
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

#: How long a test waits for a text, in seconds: the machine may be busy with others.
PATIENCE = 60.0
#: Commands of the protocol: subnegotiations, options, the rest.
_IAC = re.compile(rb"\xff\xfa.*?\xff\xf0|\xff[\xfb-\xfe].|\xff[^\xfa\xff]", re.DOTALL)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Telnet(Protocol):
    """A connection to the game. `raw` is every byte that came."""

    def __init__(self) -> None:
        self.raw = b""
        self.closed: Deferred[None] = Deferred()
        self._watched: list[tuple[str, int, Deferred[str]]] = []

    @property
    def text(self) -> str:
        """All that was seen so far."""
        return _ANSI.sub("", _IAC.sub(b"", self.raw).decode("utf-8", "replace")).replace("\r", "")

    @property
    def mark(self) -> int:
        """The present end of the text."""
        return len(self.text)

    def type(self, line: str) -> int:
        """Send a line; the end of the text before anything it causes."""
        mark = self.mark
        transport: Any = self.transport
        transport.write(f"{line}\r\n".encode())
        return mark

    async def saw(self, words: str, after: int = 0) -> str:
        """The text behind `after`, once it holds these words."""
        seen: Deferred[str] = Deferred()
        self._watched.append((words, after, seen))
        self._look()
        try:
            return await seen.addTimeout(PATIENCE, _reactor())
        except Exception as error:
            error.add_note(f"waited for {words!r}; seen: ...{self.text[-600:]!r}")
            raise

    async def asks(self, line: str, words: str) -> str:
        """What came of a line, once it holds these words."""
        return await self.saw(words, self.type(line))

    def dataReceived(self, data: bytes) -> None:
        self.raw += data
        self._look()

    def connectionLost(self, reason: Failure | None = None) -> None:
        watched, self._watched = self._watched, []
        for words, _, seen in watched:
            seen.errback(AssertionError(f"the connection ended without {words!r}"))
        self.closed.callback(None)

    async def leave(self) -> None:
        """Close the connection."""
        transport: Any = self.transport
        transport.loseConnection()
        await self.closed

    def _look(self) -> None:
        text = self.text
        due = [entry for entry in self._watched if entry[0] in text[entry[1] :]]
        self._watched = [entry for entry in self._watched if entry not in due]
        for _, after, seen in due:
            seen.callback(text[after:])


async def connected(port: int) -> Telnet:
    """A connection, once the game takes one."""
    endpoint = TCP4ClientEndpoint(_reactor(), "127.0.0.1", port)
    deadline = _reactor().seconds() + PATIENCE
    while True:
        try:
            telnet: Telnet = await connectProtocol(endpoint, Telnet())
        except Refused:
            if _reactor().seconds() > deadline:
                raise
            await deferLater(_reactor(), 0.1)
        else:
            return telnet


def _reactor() -> Any:
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (a test's composition root)

    return reactor
