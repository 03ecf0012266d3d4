"""Games that follow a script: what they send, and the line that they wait for. Time is a `Clock`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from random import Random
from typing import Any

from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from mud_assistant.assistant.toml_text import parse_toml
from mud_assistant.assistant.worlds.telnet.profiles.session_tables import SessionProfile, read_session
from mud_assistant.assistant.worlds.telnet.session.game_wire import GamePlace, GameWire, LinkListener
from mud_assistant.assistant.worlds.telnet.session.login import Credentials
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause, HeardLine, WireEvent
from tests.assistant.worlds.telnet.recorded import Recording

#: What a script does next: it sends bytes, or waits for a line.
Step = bytes | str
PASSWORD = "hunter22secret"
NEGOTIATION = re.compile(rb"\xff\xfa.*?\xff\xf0|\xff[\xfb-\xfe].|\xff\xf1", re.DOTALL)


def shipped(name: str, character: str) -> SessionProfile:
    """Return the session of a profile of the package."""
    text = (files("mud_assistant.assistant.worlds.telnet") / "profiles" / f"{name}.toml").read_text()
    return read_session(parse_toml(text), character)


def script_of(recording: Recording) -> list[Step]:
    """Return what a recording's server sent and the lines that it got."""
    steps: list[Step] = []
    for sent in recording.sent:
        if sent.by_server:
            steps.append(sent.data)
        elif not sent.data.startswith(b"\xff"):
            steps.append(sent.data.decode().removesuffix("\r\n"))
    return steps


class Transport(StringTransport):
    """A transport in memory that tells when it is closed by us."""

    def __init__(self, on_abort: Callable[[], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted's
        self._on_abort = on_abort

    def setTcpKeepAlive(self, enabled: bool) -> None:  # noqa: N802  (Twisted's name)
        """Do nothing: there is no TCP."""

    def abortConnection(self) -> None:  # noqa: N802  (the same)
        """Close at once."""
        self._on_abort()


class Stage:
    """One connection to a scripted game."""

    def __init__(self, profile: SessionProfile, who: Credentials, **place: Any) -> None:
        self.clock = Clock()
        self.states: list[tuple[State, str]] = []
        self.events: list[WireEvent] = []
        self.dropped: list[str] = []
        self.recorded: list[tuple[bool, bytes]] = []
        self.causes: list[Cause] = []
        self._unread = b""
        listener = LinkListener(
            on_event=self.events.append,
            on_state=lambda state, why: self.states.append((state, why)),
            on_dropped=self.dropped.append,
            on_bytes=lambda by_server, data: self.recorded.append((by_server, data)),
        )
        settings = GamePlace("127.0.0.1", profile, who, **place)
        self.wire = GameWire(settings, self.clock, listener, self._lost, lambda _: None, compress=True)
        # Any: Twisted's transport of tests has no types.
        self.transport: Any = Transport(lambda: self.end(ConnectionLost()))
        self.wire.makeConnection(self.transport)  # type: ignore[no-untyped-call]  # Twisted's

    @property
    def is_open(self) -> bool:
        """Whether the connection is there, as it is now."""
        return self.wire.is_open

    @property
    def state(self) -> State:
        """What state the session is in."""
        return self.wire.session.state

    @property
    def texts(self) -> list[str]:
        """The lines that were told."""
        return [event.text for event in self.events if isinstance(event, HeardLine)]

    def send(self, *cuts: bytes) -> None:
        """Send bytes as the game does."""
        for cut in cuts:
            if self.wire.is_open:
                self.wire.dataReceived(cut)
                while self.is_open and self.transport.producerState == "paused":
                    self.clock.advance(0)

    def typed(self) -> list[str]:
        """Return the lines that were typed since this was asked last."""
        self._unread += NEGOTIATION.sub(b"", self.transport.value())
        self.transport.clear()
        *lines, self._unread = self._unread.split(b"\r\n")
        return [line.decode() for line in lines]

    def wait(self, seconds: float = 1.0) -> None:
        """Let time pass."""
        self.clock.pump([0.1] * round(seconds * 10))

    def end(self, error: Exception | None = None) -> None:
        """Close the connection."""
        if self.wire.is_open:
            self.wire.connectionLost(Failure(error or ConnectionDone()))

    def follow(self, script: Iterable[Step], dice: Random | None = None) -> list[str]:
        """Follow a script, with delays and cuts by the dice; return the lines that were typed.

        A line of the script is one that the game waits for: up to 30 seconds, and whatever it is.
        """
        typed: list[str] = []
        for step in script:
            if isinstance(step, bytes):
                for cut in _cut(step, dice):
                    self.send(cut)
                    self.wait(dice.choice([0.0, 0.0, 0.1, 0.7]) if dice else 0.0)
            else:
                for _ in range(300):
                    if lines := self.typed():
                        typed += lines
                        break
                    if not self.wire.is_open:
                        return typed
                    self.wait(0.1)
        return typed

    def _lost(self, _wire: GameWire, cause: Cause, _why: str) -> None:
        self.causes.append(cause)


def _cut(data: bytes, dice: Random | None) -> Iterator[bytes]:
    if dice is None:
        yield data
        return
    places: Sequence[int] = sorted(dice.sample(range(len(data) + 1), min(3, len(data))))
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        if end > start:
            yield data[start:end]
