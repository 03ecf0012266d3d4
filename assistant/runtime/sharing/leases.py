"""Keeps the leases of this process, and looks what others have left for it, by the reactor's clock.

Imported only where the journal is in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger

from mud_assistant.assistant.journal.errors import JournalError
from mud_assistant.assistant.journal.postgres.sharing.leases import RENEW_SECONDS
from mud_assistant.assistant.journal.postgres.sharing.messages import LeftMessage
from mud_assistant.assistant.journal.postgres.sharing.placement import write_wanted
from mud_assistant.assistant.journal.postgres.sharing.watch import LookFor, Seen, free_gone, look
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.resilience import Launcher

#: How often a process that waits for assistants looks whether one is free, and how long a holder without a session has
#: to come back, in seconds.
LOOK_SECONDS, GRACE_SECONDS = 1.25, 0.3
#: How long after the end of a lease it is looked at: by then it has ended by the clock of the database, in seconds.
EXPIRED_SECONDS = 0.02
#: A process that waits for none looks for messages in each of so many turns: every 5 seconds.
TURNS = 4

#: Stands for all assistants in a hint.
EVERYBODY = "*"

_log = Logger()


class LeaseKeeper:
    """Renews the leases of an open store, and tells who waits for one when it is free.

    `on_lost` is called with each assistant that another process has taken over.
    """

    # Any: the reactor as clock.
    def __init__(self, store: PostgresStore, clock: Any, on_lost: Callable[[str], None]) -> None:
        self._store = store
        self._clock = clock
        self._on_lost = on_lost
        #: Is called with the messages that wait for assistants of this process; None leaves them to others.
        self.on_messages: Callable[[Sequence[LeftMessage]], None] | None = None
        #: How many assistants of this process others have taken over.
        self.lost = 0
        self._waiting: dict[str, list[Deferred[None]]] = {}
        #: What others were told that this process waits for.
        self._told: frozenset[str] = frozenset()
        self._turn = 0
        self._later: IDelayedCall | None = None
        self._is_looking = self._must_look_again = False
        self._launcher = Launcher()
        self._renewing = self._loop(self._renew)
        self._looking = self._loop(self._look_in_turn)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The assistants whose leases somebody here waits for."""
        return tuple(self._waiting)

    def start(self) -> None:
        """Begin to renew, and to look."""
        self._renewing.start(RENEW_SECONDS, now=False)
        self._looking.start(LOOK_SECONDS, now=False)

    def until_free(self, assistant: str) -> Deferred[None]:
        """Wait until the lease of an assistant is free, or seems so."""
        waiter: Deferred[None] = Deferred(lambda gone: self._leave(assistant, gone))
        self._waiting.setdefault(assistant, []).append(waiter)
        return waiter

    def hint(self, assistant: str) -> None:
        """Look at once if it matters here: a notice said that this assistant may be free."""
        if assistant in self._waiting or (assistant == EVERYBODY and self._waiting):
            self.look_now()

    def look_now(self) -> None:
        """Look at once, and once more when a look is under way: it may have begun too early."""
        self._launcher.launch(self._look(), "looking for free assistants and messages")

    def renew(self) -> None:
        """Renew at once: others may have taken any lease."""
        self._launcher.launch(self._renew(), "keeping the leases of the journal")

    async def stop(self) -> None:
        """Renew no more. Those who wait are cancelled by their own stop."""
        for loop in (self._renewing, self._looking):
            if loop.running:
                loop.stop()
        if self._later is not None and self._later.active():
            self._later.cancel()
        await self._launcher.stop()

    def _loop(self, work: Callable[[], Any]) -> LoopingCall:
        """Return a loop that goes on after an error, and begins no second turn before the first is over."""

        def turn() -> Deferred[None]:
            return self._launcher.launch(work(), "keeping the leases of the journal")

        loop = LoopingCall(turn)
        loop.clock = self._clock
        return loop

    async def _renew(self) -> None:
        try:
            lost = await self._store.write(self._store.leases.renew)
        except JournalError as error:
            _log.warn("the leases cannot be renewed: {why}", why=str(error))
            return
        self.lost += len(lost)
        for assistant in lost:
            _log.warn("{assistant} is run by another process now", assistant=assistant)
            self._on_lost(assistant)

    async def _look_in_turn(self) -> None:
        self._turn = (self._turn + 1) % TURNS
        if self._waiting or self._told or not self._turn:
            await self._look()

    async def _look(self) -> None:
        """Look, again if that was asked for meanwhile. What cannot be read is told by those who write."""
        self._must_look_again = True
        if self._is_looking:
            return
        self._is_looking = True
        try:
            while self._must_look_again:
                self._must_look_again = False
                await self._look_once()
        except JournalError:
            return
        finally:
            self._is_looking = False

    async def _look_once(self) -> None:
        """Tell those whose assistants are free, and of messages; let leases of a process that is gone expire first."""
        await self._tell_wanted()
        if not self._waiting and self.on_messages is None:
            return
        wish = LookFor(self._store.process, self.wanted, with_messages=self.on_messages is not None)
        seen = await self._store.read(partial(look, wish=wish))
        if seen.messages and self.on_messages is not None:
            self.on_messages(seen.messages)
        self._tell_free(seen.free)
        if seen.expires_in is not None and seen.expires_in < LOOK_SECONDS:
            self._look_after(seen.expires_in)
        await self._free(seen)

    def _look_after(self, seconds: float) -> None:
        """Look once more when a lease has expired: its holder hangs, or is cut off."""
        if self._later is None or not self._later.active():
            self._later = self._clock.callLater(seconds + EXPIRED_SECONDS, self.look_now)

    async def _free(self, seen: Seen) -> None:
        if seen.suspects:
            await deferLater(self._clock, GRACE_SECONDS)
            self._tell_free(await self._store.write(partial(free_gone, suspects=seen.suspects)))

    async def _tell_wanted(self) -> None:
        """Write down what this process waits for, when that has changed: others may give it something."""
        wanted = frozenset(self._waiting)
        if wanted != self._told:
            process = self._store.process.id
            await self._store.write(partial(write_wanted, process_id=process, wanted=wanted))
            self._told = wanted

    def _tell_free(self, assistants: Sequence[str]) -> None:
        for assistant in assistants:
            for waiter in self._waiting.pop(assistant, ()):
                waiter.callback(None)

    def _leave(self, assistant: str, gone: Deferred[None]) -> None:
        if gone in (waiting := self._waiting.get(assistant, [])):
            waiting.remove(gone)
            if not waiting:
                del self._waiting[assistant]
