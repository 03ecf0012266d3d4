"""The connection to a game, which comes back by itself: one at a time, slower each time, and not for ever.

It is closed with a cause. Causes that pass lead to a new connection after 5 s, then twice as long each time up to ten
minutes, the whole of it by chance (full jitter). All others leave the character away until its owner says otherwise.
"""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.logger import Logger
from twisted.python.failure import Failure

from mud_assistant.assistant.http_server.addresses import is_loopback_address
from mud_assistant.assistant.worlds.telnet.session.game_wire import GamePlace, GameWire, LinkListener
from mud_assistant.assistant.worlds.telnet.session.login import Credentials
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause

#: Seconds before the first new connection, and the most; seconds of play after which the first counts again.
FIRST_WAIT, MOST_WAIT, SETTLED_AFTER = 5.0, 600.0, 60.0
#: Seconds after which the owner is asked whether a character that somebody else played may come back.
ASK_AFTER = 600.0
MAY_IT = "somebody else played the character, ten minutes ago: may it come back? It does when it is started again"
_log = Logger()


class GameLink:
    """Keeps one character connected to one game."""

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        dice: Random,
        place: GamePlace,
        listener: LinkListener,
    ) -> None:
        self._endpoint, self._clock, self._dice = endpoint, clock, dice
        self._place, self._listener = place, listener
        self._compress = True
        self._failures = 0
        self._played_since: float | None = None
        self._connecting: Deferred[Any] | None = None
        self._waiting: IDelayedCall | None = None
        self._wire: GameWire | None = None
        #: Those who wait until the connection is gone.
        self._when_gone: list[Deferred[None]] = []
        #: Why the character is away, None while it plays or comes back.
        self.ended: Cause | None = None

    @property
    def state(self) -> State:
        """What the game does now."""
        return self._wire.session.state if self._wire is not None else State.CLOSED

    @property
    def prompt(self) -> str:
        """What the game waits behind, empty for nothing."""
        return self._wire.session.prompt if self._wire is not None else ""

    @property
    def may_speak(self) -> bool:
        """Whether a line may be typed."""
        return self._wire is not None and self._wire.session.may_speak

    def start(self) -> None:
        """Connect, and stay connected until `stop`. After an end, the owner said that it may begin anew."""
        if self._wire is not None or self._connecting is not None:
            return
        if self._waiting is not None and self.ended is None:
            return
        self._stop_waiting()
        self.ended, self._failures = None, 0
        if not (self._place.permission.strip() or _is_here(self._place.host)):
            self._end(Cause.PERMISSION)
            return
        self._connect()

    def become(self, who: Credentials) -> None:
        """Log in as this one from the next connection on."""
        self._place = replace(self._place, who=who)

    def stop(self) -> Deferred[None]:
        """Close the connection now, and do not come back. What is returned fires when it is gone."""
        self._stop_waiting()
        if self.ended is None:
            self._end(Cause.STOPPED)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._wire is None:
            return succeed(None)
        gone: Deferred[None] = Deferred()
        self._when_gone.append(gone)
        self._wire.close(Cause.STOPPED)
        return gone

    def type_line(self, line: str) -> None:
        """Type a line of the character; `on_dropped` gets it when it cannot be typed."""
        if self._wire is None:
            self._listener.on_dropped(line)
        else:
            self._wire.session.type_line(line)

    def _connect(self) -> None:
        self._waiting = None
        if not self._listener.may_act():
            self._end(Cause.STOPPED)
            return
        self._listener.on_state(State.CONNECTING, self._place.host)
        self._connecting = self._endpoint.connect(Factory.forProtocol(self._make))
        self._connecting.addCallbacks(self._connected, self._failed)

    def _make(self) -> GameWire:
        return GameWire(self._place, self._clock, self._listener, self._lost, self._entered, compress=self._compress)

    def _connected(self, wire: GameWire) -> None:
        self._connecting = None
        if self.ended is not None:
            wire.close(self.ended)
        elif wire.is_open:
            self._wire = wire

    def _failed(self, failure: Failure) -> None:
        self._connecting = None
        if self.ended is None and not failure.check(CancelledError):
            self._lost(None, Cause.UNREACHABLE, failure.getErrorMessage())

    def _entered(self, state: State) -> None:
        if state is State.PLAYING and self._played_since is None:
            self._played_since = self._clock.seconds()

    def _lost(self, wire: GameWire | None, cause: Cause, why: str) -> None:
        """Come back later, or stay away."""
        if wire is not self._wire and self._wire is not None:
            return
        self._wire = None
        while self._when_gone:
            self._when_gone.pop().callback(None)
        if self._played_since is not None and self._clock.seconds() - self._played_since >= SETTLED_AFTER:
            self._failures = 0
        self._played_since = None
        self._compress = self._compress and cause is not Cause.COMPRESSION
        if self.ended is not None:
            return
        if cause.ends:
            self._end(cause, why)
            return
        wait = self._dice.uniform(0.0, min(MOST_WAIT, FIRST_WAIT * 2 ** min(self._failures, 10)))
        self._failures += 1
        told = f"{cause}{f' ({why})' if why else ''}; again in {wait:.0f} s"
        _log.info("{host}: {told}", host=self._place.host, told=told)
        self._listener.on_state(State.CONNECTING, told)
        self._waiting = self._clock.callLater(wait, self._connect)

    def _end(self, cause: Cause, why: str = "") -> None:
        self.ended = cause
        _log.info("{host}: {cause}", host=self._place.host, cause=cause.value)
        self._listener.on_state(State.CLOSED, f"{cause}: {why}" if why else cause)
        if cause is Cause.USURPED:
            # Whoever plays it is not fought. They may be gone by now.
            self._waiting = self._clock.callLater(ASK_AFTER, self._listener.on_state, State.CLOSED, MAY_IT)

    def _stop_waiting(self) -> None:
        if self._waiting is not None and self._waiting.active():
            self._waiting.cancel()
        self._waiting = None


def _is_here(host: str) -> bool:
    """Tell whether a host is this machine."""
    return host == "localhost" or is_loopback_address(host)
