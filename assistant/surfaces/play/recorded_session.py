"""Lets the person at the terminal play by typing, and keeps both directions as a recording, without passwords.

A recording is JSON lines: first what it is of, then each piece with its time, its sender and its bytes, a character for
each byte (`assistant/worlds/telnet/reading/replaying.py` reads it).
"""

from __future__ import annotations

import json
import re
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectError
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from mud_assistant.assistant.config.world_config import parse_address
from mud_assistant.assistant.errors import AssistantError, complaint
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.play.asked_first import RecordingWanted
from mud_assistant.assistant.surfaces.standalone import CANNOT_START
from mud_assistant.assistant.surfaces.start_progress import Progress
from mud_assistant.assistant.surfaces.trial.piped import PipeLines, PlainScreen, Screen
from mud_assistant.assistant.worlds.telnet.session.game_session import SILENCE
from mud_assistant.assistant.worlds.telnet.wire.feed import Feed
from mud_assistant.assistant.worlds.telnet.wire.secured import game_endpoint
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Closed, HeardLine, Prompt, Secret, WireEvent
from mud_assistant.tools.text.clean import clean_heard

_HIDDEN = b"(a secret)"
#: Lines that tell a password where everybody sees it, as MOOs and Evennia want it: all behind the name is hidden.
_OPEN = re.compile(r"(?:co|con|conn|connect|cr|cre|create)\s+(?:\"[^\"]*\"|\S+)\s+(?P<secret>\S.*)", re.IGNORECASE)


# Any: no single interface of the reactor covers time, network and descriptors.
async def run_recording(reactor: Any, wanted: RecordingWanted, secrets: Secrets) -> int:
    """Let a person play until they or the game end it, and return the exit status."""
    screen = PlainScreen(quiet=False)
    try:
        await _record(reactor, wanted, screen)
    except AssistantError as error:
        Progress(scrub=secrets.scrub).note(complaint(error))
        return CANNOT_START
    screen.show(f"({wanted.file} holds the recording.)")
    return 0


# Any: as above.
async def _record(reactor: Any, wanted: RecordingWanted, screen: PlainScreen) -> None:
    """Play and record. Raises AssistantError."""
    host, port, is_tls, _ = parse_address(wanted.world.telnet)
    endpoint = game_endpoint(reactor, host, port, tls=is_tls, fingerprint=wanted.world.fingerprint)
    try:
        out = wanted.file.open("x", encoding="utf-8")
    except FileExistsError:
        raise AssistantError(f"{wanted.file} is there already: name another file for the recording") from None
    except OSError as error:
        raise AssistantError(f"{wanted.file} cannot be written: {error.strerror}") from error
    played = RecordedSession(reactor, out, screen)
    lines = PipeLines(sys.stdin.fileno(), reactor)
    with out, _echo_restored():
        _write(out, {"meta": {"game": f"{host}:{port}", "source": "mud-assistant play", "negotiation": "full"}})
        try:
            await endpoint.connect(Factory.forProtocol(lambda: played))
        except ConnectError as error:
            raise AssistantError(f"the game at {host}:{port} cannot be reached: {error}") from error
        try:
            while not played.over.called and (line := await _next(lines, played)) is not None:
                played.type_line(line)
        finally:
            lines.close()
            played.leave()
            _write(out, {"end": True})


class RecordedSession(Protocol):
    """One connection, shown on the screen and kept. `over` fires when it ends."""

    transport: Any

    # Any: the reactor as clock.
    def __init__(self, clock: Any, out: IO[str], screen: Screen) -> None:
        self._clock, self._out, self._screen = clock, out, screen
        self._began = clock.seconds()
        self._feed = Feed(compress=False)
        self._is_secret = False
        self._secrets: set[bytes] = set()
        self._silence: Any = None
        self.over: Deferred[None] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        """Keep and show what came, and answer the options in it."""
        self._keep("server", data)
        self._show_all(self._feed.feed(data))
        if answers := self._feed.to_send():
            self._keep("client", answers)
            self.transport.write(answers)
        self._stop_silence()
        self._silence = self._clock.callLater(SILENCE, lambda: self._show_all(self._feed.quiet()))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End."""
        self._stop_silence()
        if not self.over.called:
            self.over.callback(None)

    def type_line(self, line: str) -> None:
        """Type a line. A secret is not kept."""
        data = self._feed.encode(line)
        shown = data
        if self._is_secret and line:
            self._secrets.add(data.rstrip())
            shown = _HIDDEN + b"\r\n"
        elif found := _OPEN.fullmatch(line.strip()):
            self._secrets.add(found["secret"].encode())
        self._keep("client", shown)
        self.transport.write(data)

    def leave(self) -> None:
        """Close the connection."""
        if not self.over.called:
            self.transport.abortConnection()

    def _keep(self, sender: str, data: bytes) -> None:
        for secret in sorted(self._secrets, key=len, reverse=True):
            data = data.replace(secret, _HIDDEN)
        row = {"t": round(self._clock.seconds() - self._began, 3), "from": sender, "bytes": data.decode("latin-1")}
        _write(self._out, row)

    def _show_all(self, events: list[WireEvent]) -> None:
        for event in events:
            match event:
                case HeardLine() | Prompt():
                    self._screen.show(clean_heard(event.text))
                case Secret():
                    self._is_secret = event.on
                    _show_typing(is_secret=event.on)
                case Closed():
                    self._screen.remark(f"({event.cause}.)")
                    self.transport.abortConnection()
                case _:
                    pass

    def _stop_silence(self) -> None:
        if self._silence is not None and self._silence.active():
            self._silence.cancel()


async def _next(lines: PipeLines, played: RecordedSession) -> str | None:
    """Return the next line, None when there are no more or the connection has ended."""
    line = lines.next()
    ended: Deferred[str | None] = Deferred(lambda _: line.cancel())
    line.addBoth(lambda said: None if ended.called else ended.callback(said if isinstance(said, str) else None))
    played.over.addCallback(lambda _: None if ended.called else line.cancel())
    return await ended


def _write(out: IO[str], row: Mapping[str, object]) -> None:
    out.write(json.dumps(row) + "\n")
    out.flush()


def _show_typing(*, is_secret: bool = False) -> None:
    """Show what is typed at a terminal, unless it is a secret."""
    if not sys.stdin.isatty():
        return
    flags = termios.tcgetattr(sys.stdin)
    flags[3] = flags[3] & ~termios.ECHO if is_secret else flags[3] | termios.ECHO
    with suppress(termios.error):
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, flags)


@contextmanager
def _echo_restored() -> Iterator[None]:
    """Show again what is typed, however this ends."""
    try:
        yield
    finally:
        _show_typing()
