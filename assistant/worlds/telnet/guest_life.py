"""The life of one guest in a service: READ FIRST for when a character is in its game, and when it is not.

It logs in once its lease is taken, and is out before anybody else may have that lease: when it is stopped, when another
process has taken it over, and when the journal cannot be asked for so long that one may have. So two processes never
play one character. While it is away, `sentence` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import Struct
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.error import TimeoutError as WaitedLongEnough
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger

from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.config.world_config import parse_address
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.journal import HeldElsewhere, JournalError
from mud_assistant.assistant.keys.reference import resolve_key
from mud_assistant.assistant.life.life_state import StoredLife
from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.service.troubles import Trouble, TroubleKind
from mud_assistant.assistant.worlds.telnet.game_access import GameAccess
from mud_assistant.assistant.worlds.telnet.guest import TelnetGuest
from mud_assistant.assistant.worlds.telnet.guest_rights import GuestRights
from mud_assistant.assistant.worlds.telnet.kept_persons import KeptPersons
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.reading.told_phrases import Hashes
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause
from mud_assistant.resilience import Launcher
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.tools.trust import Principal
from mud_assistant.tools.verbs import ACCOUNT_TOOLS

#: How often it is looked whether the lease is still ours, and how long whoever took one waits until it connects: by
#: then a process that lost it has left the game. In seconds.
LOOK_SECONDS, SETTLE_SECONDS = 0.1, 1.5
#: How long the character may be away, or wait for something unknown, until its owner is told; how long what it heard
#: before waits for the log-in; and how long hashing may take. In seconds.
TOLD_AFTER, GATHER_SECONDS, HASH_SECONDS = 60.0, 60.0, 30.0
#: How long until the journal is asked again, in seconds.
_AGAIN = 5.0
_AWAY = frozenset({State.CONNECTING, State.CLOSED, State.LOGIN})
_log = Logger()


class Watching(Struct, frozen=True):
    """Who looks on: `note` takes sentences for the operator, `on_bytes` all bytes without secrets, `heard` all events.

    With `would_type` no line is typed after the log-in: it gets what would be.
    """

    note: Callable[[str], None] = lambda _: None
    on_bytes: Callable[[bool, bytes], None] = lambda _by_server, _data: None
    heard: Callable[[Event], None] = lambda _: None
    would_type: Callable[[str], None] | None = None


NOBODY = Watching()


class GuestLife:
    """One character in a game, for a service."""

    # Any: the reactor as clock, for connections and for threads.
    def __init__(
        self,
        me: Principal,
        access: GameAccess,
        service: AssistantService,
        reactor: Any,
        watching: Watching = NOBODY,
    ) -> None:
        self.me, self.access = me, access
        self._service, self._reactor = service, reactor
        self._note, self._heard = watching.note, watching.heard
        self._persons = Persons(access.address, service.config.wall, access.world.people)
        self._kept = KeptPersons(self._persons, reactor)
        self._launcher = Launcher()
        self.guest = TelnetGuest(
            me,
            access.profile,
            self._persons,
            access.place(hears_only=watching.would_type is not None),
            endpoint=access.endpoint(reactor),
            clock=reactor,
            dice=service.pipeline.random,
            hear=self._hear,
            asked_for=self._asked_for,
            on_state=self._entered,
            on_bytes=watching.on_bytes,
            introduction=access.world.introduction,
            may_act=self._may_act,
            elsewhere=self._off_reactor,
            would_type=watching.would_type,
        )
        self._rights = GuestRights(self.guest.body, me.name)
        self._state, self._why = State.CLOSED, "it was not started"
        #: The name of the process that runs the character, where it is not this one.
        self._elsewhere = ""
        self._trouble: IDelayedCall | None = None
        self._looking = LoopingCall(self._look)
        self._looking.clock = reactor
        #: Those who wait until it plays, and what fires when it has left.
        self._waiting: list[Deferred[None]] = []
        self._leaving: Deferred[None] | None = None

    @property
    def sentence(self) -> str:
        """Where the character is: in the game and in which room, in another process, or why it is away."""
        if self._elsewhere:
            return f"in another process, {self._elsewhere}"
        if self._state is State.PLAYING:
            room = f", in {name}" if (name := self.guest.room.name) else ""
            return f"in the game at {self.access.address}{room}"
        if self._state in _AWAY:
            return f"away from the game at {self.access.address}: {self._why}"
        return f"in the game at {self.access.address}, which waits for something else ({self._state}: {self._why})"

    def finding(self) -> Finding:
        """Return whether it is in the game, for the doctor of the page."""
        is_well = bool(self._elsewhere) or self._state is State.PLAYING
        state = FindingState.OK if is_well else FindingState.WRONG
        return Finding("world", state, f"{self.me.name} is {self.sentence}")

    def embodiment(self) -> Embodiment:
        """Return what the service needs to let it live."""
        return Embodiment(
            self.me,
            self.guest.body,
            ACCOUNT_TOOLS,
            gathered=self._gathered,
            notify=self._notify,
            where=lambda: self.guest.room.key,
            silence=self.guest.silence,
            enter=self._enter,
            leave=self._leave,
            withdraw=self._withdraw,
        )

    def _leave(self, held: HeldElsewhere) -> None:
        before, self._elsewhere = self._elsewhere, held.holder
        if before != held.holder:
            self._note(f"{self.me.name} is {self.sentence}; this one waits, and takes over when that one ends.")

    def _enter(self, storage: Storage) -> None:
        self._elsewhere = ""
        if not self._looking.running:
            self._looking.start(LOOK_SECONDS, now=False)
            self._launcher.launch(self._log_in(storage.lasting), f"the log-in of {self.me.name}")

    async def _log_in(self, stored: StoredLife) -> None:
        """Log in, once the last connection is gone and it is known who is who."""
        await self._left()
        if self._service.parts.journal.notices is not None:
            await deferLater(self._reactor, SETTLE_SECONDS)
        while True:
            try:
                await self._kept.load(stored)
                break
            except JournalError as error:
                self._entered(State.CONNECTING, str(error))
                await deferLater(self._reactor, _AGAIN)
        try:
            password = await resolve_key(self.access.password, self._service.parts.keys)
        except KeyReferenceError as error:
            self._entered(State.CLOSED, f"its password cannot be read: {error}")
            self._tell()
            return
        self.guest.link.become(self.access.credentials(password))
        self.guest.start()

    def _withdraw(self) -> Deferred[None]:
        """Close the connection before anything else; then write down who is who."""
        if not self._looking.running:
            return self._left()
        self._looking.stop()
        gone = self.guest.stop()
        self._launcher.stop()
        over = DeferredList([gone, self._kept.close()]).addCallback(lambda _: None)
        self._leaving = over
        self._stop_trouble()
        self._service.troubles.end(TroubleKind.WORLD, self.me.id)
        return self._left()

    def _left(self) -> Deferred[None]:
        left: Deferred[None] = Deferred()
        if self._leaving is None:
            left.callback(None)
        else:
            self._leaving.addCallback(lambda _: left.callback(None))
        return left

    def _look(self) -> None:
        """Leave the game when the lease may be over: another process may be in it soon."""
        has_left = self.guest.link.ended is Cause.STOPPED
        if self._may_act():
            if has_left:
                self.guest.start()
        elif not has_left:
            _log.warn("{name} leaves its game: another process may play it by now", name=self.me.name)
            self.guest.stop()

    def _may_act(self) -> bool:
        return self._service.parts.journal.may_act(self.me.id)

    def _hear(self, make: MakeEvent) -> None:
        self._heard(make("", self._reactor.seconds()))
        if (runner := self._service.runners.get(self.me.id)) is not None:
            runner.hear(make)

    def _asked_for(self, who: Principal, right: str) -> None:
        runner = self._service.runners.get(self.me.id)
        if runner is not None and runner.assistant is not None:
            self._launcher.launch(self._rights.give(runner.assistant, who, right), f"what {who.name} asked for")

    def _notify(self, who: Principal, sentence: str) -> None:
        self._launcher.launch(self._rights.tell(who, sentence), f"telling {who.name}")

    def _off_reactor(self, work: Callable[[], Hashes], then: Callable[[Hashes], None]) -> None:
        async def hash_and_tell() -> None:
            then(await in_daemon_thread(self._reactor, HASH_SECONDS, work))

        self._launcher.launch(hash_and_tell(), "hashing a pass-phrase")

    async def _gathered(self) -> None:
        """Wait until the character plays, or that has been waited for long enough."""
        if self._state is State.PLAYING:
            return
        playing: Deferred[None] = Deferred()
        self._waiting.append(playing)
        with suppress(WaitedLongEnough):
            await playing.addTimeout(GATHER_SECONDS, self._reactor)

    def _entered(self, state: State, why: str) -> None:
        was, self._state = self._state, state
        if state is State.CONNECTING and why == parse_address(self.access.world.telnet).host:
            return  # the cause of the last loss says more
        self._why = "logging in" if state is State.LOGIN else why
        if state is State.PLAYING:
            self._plays()
        elif state is State.CLOSED and self.guest.link.ended not in {None, Cause.STOPPED}:
            self._tell()
            return
        elif self._trouble is None and self._looking.running:
            self._trouble = self._reactor.callLater(TOLD_AFTER, self._tell)
        if (state in _AWAY) is not (was in _AWAY):
            self._note(f"{self.me.name} is {self.sentence}.")

    def _plays(self) -> None:
        self._stop_trouble()
        self._service.troubles.end(TroubleKind.WORLD, self.me.id)
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.called:
                one.callback(None)

    def _tell(self) -> None:
        """Tell the owner why the character does not play."""
        self._stop_trouble()
        sentence = f"{self.me.name} is {self.sentence}"
        self._service.troubles.begin(Trouble(TroubleKind.WORLD, self.me.id, self.me.name, sentence))
        self._note(f"{sentence}.")

    def _stop_trouble(self) -> None:
        if self._trouble is not None and self._trouble.active():
            self._trouble.cancel()
        self._trouble = None
