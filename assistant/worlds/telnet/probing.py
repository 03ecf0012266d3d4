"""Looks at a game without logging in: is it there, what does it show first, and which profile may fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile, shipped_profile, shipped_profiles
from mud_assistant.assistant.worlds.telnet.session.login import Credentials, LoginScript
from mud_assistant.assistant.worlds.telnet.wire.feed import Feed
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Closed, HeardLine, Mssp, Prompt, WireEvent

#: Seconds of silence after which a game has shown what it shows first, and seconds that are waited at most.
SILENCE, PATIENCE = 1.5, 8.0
#: The most lines that are kept.
_MOST_LINES = 400
#: Words in what a game tells of its codebase (MSSP), and the profile they speak for.
_FAMILIES: Mapping[str, str] = {
    "evennia": "evennia", "ranvier": "ranvier", "mudpy": "mudpy", "moo": "moo", "toaststunt": "moo", "diku": "diku",
    "circle": "diku", "tba": "diku", "merc": "diku", "rom": "diku", "smaug": "diku", "fluffos": "lp", "ldmud": "lp",
    "mudos": "lp", "lpmud": "lp", "pennmush": "pennmush",
}  # fmt: skip


class Unreachable(Exception):
    """The game cannot be reached; the message says why."""


@dataclass
class FirstShown:
    """What a game shows before anybody logs in. `told` is what it says of itself (MSSP)."""

    lines: list[HeardLine] = field(default_factory=list)
    prompt: str = ""
    told: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def codebase(self) -> str:
        """What the game says that it runs, empty for nothing."""
        return ", ".join(value for name in ("CODEBASE", "FAMILY") for value in self.told.get(name, ()))

    @property
    def last(self) -> str:
        """What stands there last, a prompt or a line."""
        lines = (line.text for line in reversed(self.lines) if line.text.strip())
        return self.prompt or next(lines, "nothing")

    def fits(self, profile: Profile) -> bool:
        """Tell whether a profile has an answer to it."""
        script = LoginScript(profile.session, Credentials("Nobody", "-" * 8))
        for line in self.lines:
            script.heard(line)
        if self.prompt:
            script.asked(self.prompt)
        return script.answer(is_secret=False) is not None or script.waits_for_secret

    def guess(self) -> str:
        """Return the profile that ships and fits best, empty where none or several do."""
        words = self.codebase.casefold()
        if by_name := next((profile for word, profile in _FAMILIES.items() if word in words), ""):
            return by_name
        fitting = [name for name in shipped_profiles() if self.fits(shipped_profile(name))]
        return fitting[0] if len(fitting) == 1 else ""


# Any: the reactor as clock.
async def look_at(reactor: Any, endpoint: IStreamClientEndpoint) -> FirstShown:
    """Connect, return what the game shows first, and leave. Raises Unreachable. Cancelling leaves at once."""
    looking = _Looking(reactor)
    await endpoint.connect(Factory.forProtocol(lambda: looking)).addErrback(_unreachable)
    try:
        return await looking.over.addTimeout(PATIENCE, reactor, onTimeoutCancel=lambda _result, _seconds: looking.shown)
    finally:
        looking.leave()


def _unreachable(failure: Failure) -> Failure:
    """Say in one error why there is no connection, whichever it was: TLS, DNS, a socket."""
    if failure.check(CancelledError):
        return failure
    raise Unreachable(failure.getErrorMessage() or repr(failure.value))


class _Looking(Protocol):
    transport: Any

    def __init__(self, clock: Any) -> None:
        self._clock, self._feed = clock, Feed(compress=False)
        self._silence: Any = None
        self.shown = FirstShown()
        self.over: Deferred[FirstShown] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        self._take(self._feed.feed(data))
        if answers := self._feed.to_send():
            self.transport.write(answers)
        self._stop()
        self._silence = self._clock.callLater(SILENCE, self._end)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        has_shown = bool(self.shown.lines or self.shown.prompt)
        if reason.check(ConnectionDone) or has_shown or self.over.called:
            self._end()
        else:
            self.over.errback(Unreachable(reason.getErrorMessage()))

    def leave(self) -> None:
        self._stop()
        self.transport.abortConnection()

    def _end(self) -> None:
        self._stop()
        self._take(self._feed.quiet())
        if not self.over.called:
            self.over.callback(self.shown)

    def _stop(self) -> None:
        if self._silence is not None and self._silence.active():
            self._silence.cancel()

    def _take(self, events: list[WireEvent]) -> None:
        for event in events:
            match event:
                case HeardLine() if len(self.shown.lines) < _MOST_LINES:
                    self.shown.lines.append(event)
                case Prompt():
                    self.shown.prompt = event.text
                case Mssp():
                    self.shown.told |= event.values
                case Closed():
                    self._end()
                case _:
                    pass
