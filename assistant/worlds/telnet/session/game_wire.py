"""One connection to a game: bytes to a feed, its events to a session, and what is typed to bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.python.reflect import namedAny

from mud_assistant.assistant.worlds.telnet.profiles.session_tables import SessionProfile
from mud_assistant.assistant.worlds.telnet.session.game_session import GameSession
from mud_assistant.assistant.worlds.telnet.session.login import Credentials, LoginScript, Typed
from mud_assistant.assistant.worlds.telnet.session.session_state import Hooks, State
from mud_assistant.assistant.worlds.telnet.wire.feed import Feed
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause, HeardLine, Prompt, WireEvent

if TYPE_CHECKING:
    from mud_assistant.assistant.worlds.telnet.wire.irc_feed import IrcFeed

#: Seconds without a byte from us after which NOP is sent, which is no command of the game.
KEEP_ALIVE = 240.0
#: Events of one turn of the reactor, lines of one piece, and bytes that may be unread: by the game, and by us.
EVENTS_A_TURN, MOST_LINES, MOST_UNREAD = 200, 5000, 64 * 1024
NOP = b"\xff\xf1"
_IRC = "mud_assistant.assistant.worlds.telnet.wire.irc_feed.IrcFeed"
_HIDDEN = b"(a secret)\r\n"


class GamePlace(Struct, frozen=True):
    """Where the game is, and how it is played.

    `permission` says who allowed a character there; without it only this machine is connected to.
    """

    host: str
    profile: SessionProfile
    who: Credentials
    encoding: str = ""
    permission: str = ""
    may_play_immortal: bool = False
    #: Whether nothing is typed after the log-in.
    hears_only: bool = False
    #: The channel, where the game is one of IRC.
    channel: str = ""


class LinkListener(Struct, frozen=True):
    """Whom a link tells: see `Hooks`. `on_bytes` gets all that is sent (by the server or not), without secrets.

    `may_act` is asked before a connection is made, and before each line is typed.
    """

    on_event: Callable[[WireEvent], None]
    on_state: Callable[[State, str], None]
    on_dropped: Callable[[str], None] = lambda _: None
    on_bytes: Callable[[bool, bytes], None] = lambda _by_server, _data: None
    may_act: Callable[[], bool] = lambda: True


def _feed_of(place: GamePlace, *, compress: bool) -> Feed | IrcFeed:
    """Return what reads the game. Twisted's client of IRC takes the reactor when it is imported."""
    if not place.channel:
        return Feed(place.profile.split, encoding=place.encoding, compress=compress)
    made: Callable[[str], IrcFeed] = namedAny(_IRC)
    return made(place.channel)


class GameWire(Protocol):
    """One connection. `on_lost` is told once when it is gone, and why; `on_entered` each state of the session."""

    transport: Any

    def __init__(
        self,
        place: GamePlace,
        clock: IReactorTime,
        listener: LinkListener,
        on_lost: Callable[[GameWire, Cause, str], None],
        on_entered: Callable[[State], None],
        *,
        compress: bool,
    ) -> None:
        self._place, self._clock, self._listener, self._on_lost = place, clock, listener, on_lost
        self._on_entered = on_entered
        self._feed = _feed_of(place, compress=compress)
        hooks = Hooks(
            send=self._type,
            quiet=self._feed.quiet,
            close=self.close,
            on_event=listener.on_event,
            on_state=self._tell_state,
            on_dropped=listener.on_dropped,
        )
        login = LoginScript(place.profile, place.who)
        self.session = GameSession(
            place.profile,
            clock,
            hooks,
            login,
            may_play_immortal=place.may_play_immortal,
            hears_only=place.hears_only,
        )
        self._pending: Iterator[WireEvent] | None = None
        self._lines = 0
        self._turn: IDelayedCall | None = None
        self._alive: IDelayedCall | None = None
        self._unread: int | None = None
        self._more = b""
        self._cause: Cause | None = None
        self._why = ""
        #: Whether the connection is there.
        self.is_open = False

    def connectionMade(self) -> None:
        """Begin the session."""
        self.is_open = True
        self.transport.setTcpKeepAlive(True)
        self.transport.registerProducer(self, True)
        self._alive = self._clock.callLater(KEEP_ALIVE, self._keep_alive)
        self.session.connected()

    def dataReceived(self, data: bytes) -> None:
        """Read what came, some events a turn: the game is not heard again before all are taken."""
        if self._cause is not None:
            return
        self._listener.on_bytes(True, data)
        self.session.stirred()
        if self._pending is not None:
            # TLS may give what it had already read.
            self._more += data
            if len(self._more) > MOST_UNREAD:
                self.close(Cause.FLOOD)
            return
        self._lines = 0
        self._pending = self._feed.events(data)
        self._take()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell that the connection is gone."""
        self.is_open = False
        for timer in (self._turn, self._alive):
            if timer is not None and timer.active():
                timer.cancel()
        for event in self._feed.quiet():
            if isinstance(event, HeardLine | Prompt):
                self.session.left_with(event.text)
        self.session.lost()
        has_left = reason.check(ConnectionDone) is not None
        why = self._why if self._cause or has_left else reason.getErrorMessage()
        self._on_lost(self, self._cause or (Cause.LEFT if has_left else Cause.LOST), why)

    def close(self, cause: Cause, why: str = "") -> None:
        """Close the connection for this cause. Nothing more is read or typed."""
        if self._cause is None:
            self._cause, self._why = cause, why
            self.session.lost()
            if self.is_open:
                self.transport.abortConnection()

    def pauseProducing(self) -> None:
        """Count what is written from now on: the game does not read."""
        self._unread = 0

    def resumeProducing(self) -> None:
        """Stop counting: the game has read."""
        self._unread = None

    def stopProducing(self) -> None:
        """Do nothing: `connectionLost` follows."""

    def _tell_state(self, state: State, why: str) -> None:
        self._on_entered(state)
        self._listener.on_state(state, why)

    def _take(self) -> None:
        self._turn = None
        assert self._pending is not None
        for count, event in enumerate(self._pending, 1):
            self._lines += isinstance(event, HeardLine)
            if self._lines > MOST_LINES:
                self.close(Cause.FLOOD)
            if self._cause is not None:
                return
            self._answer()
            self.session.heard(event)
            if count == EVENTS_A_TURN:
                self._turn = self._clock.callLater(0, self._take)
                self.transport.pauseProducing()
                return
        self._pending = None
        self._answer()
        if self._cause is not None:
            return
        self.transport.resumeProducing()
        if self._more:
            more, self._more = self._more, b""
            self._pending = self._feed.events(more)
            self._turn = self._clock.callLater(0, self._take)

    def _answer(self) -> None:
        if answers := self._feed.to_send():
            self._write(answers, answers)

    def _type(self, typed: Typed) -> None:
        if self._cause is None and self._listener.may_act():
            data = self._feed.encode(typed.line, self._place.profile.tables.manners.longest)
            self._write(data, _HIDDEN if typed.is_secret else data)

    def _write(self, data: bytes, shown: bytes) -> None:
        """Send bytes; `shown` is what may be recorded of them."""
        if self._unread is not None:
            self._unread += len(data)
            if self._unread > MOST_UNREAD:
                self.close(Cause.UNREAD)
                return
        self._listener.on_bytes(False, shown)
        self.transport.write(data)
        if self._alive is not None and self._alive.active():
            self._alive.reset(KEEP_ALIVE)

    def _keep_alive(self) -> None:
        self._alive = self._clock.callLater(KEEP_ALIVE, self._keep_alive)
        self._write(NOP, NOP)
