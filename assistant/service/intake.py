"""Takes in what one assistant perceives, in order and from the moment it is started.

What is heard while there is no model yet is kept, and dealt with when there is one, so nothing is lost.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Attention, Classification, Manners
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.watching import Watchers
from mud_assistant.assistant.journal import Fenced, InboxFullError, JournalUnwritable
from mud_assistant.assistant.loop.speech.fallback_line import FallbackLine, Waking
from mud_assistant.assistant.runtime import inbox
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Principal

#: The most events that wait for the storage to open.
MAX_UNHEARD = 500

_log = Logger()


class Intake:
    """The way of events to an assistant: they wait for its storage, then go to its pending inbox, then to itself.

    `unheard` are makers of events that an earlier runner of this assistant has not taken in, each with its time.
    """

    def __init__(
        self, me: Principal, clock: IReactorTime, unheard: list[tuple[MakeEvent, float]], watchers: Watchers
    ) -> None:
        self._me = me
        self._watchers = watchers
        self._clock = clock
        self._unheard = unheard
        self._life = 0
        self._heard = 0
        self._pending: PendingInbox | None = None
        self._assistant: Assistant | None = None
        self._on_the_way: set[Deferred[None]] = set()
        self._launcher = Launcher()

    def hear(self, make: MakeEvent) -> None:
        """Take in an event that was perceived now. It goes into the journal before anything else is done with it."""
        now = self._clock.seconds()
        if self._pending is not None:
            self._take(make, now)
        elif len(self._unheard) < MAX_UNHEARD:
            self._unheard.append((make, now))
        else:
            _log.warn("{name} cannot take in more before its journal is open", name=self._me.name)

    async def take(self, event: Event) -> bool:
        """Take in an event that has an id already. Return whether it is in the journal, or was to be ignored.

        False while the storage is not open, and when the journal does not take it.
        """
        return self._pending is not None and await self._accept(event)

    def open(self, inbox: PendingInbox, life: int) -> None:
        """Give `inbox` what waited for the storage, and then each event. `life` makes the ids of events unique."""
        self._pending, self._life = inbox, life
        for make, at in self.left_unheard():
            self._take(make, at)

    def wake(self, assistant: Assistant) -> None:
        """Give each event to the assistant itself from now on."""
        self._assistant = assistant

    def left_unheard(self) -> list[tuple[MakeEvent, float]]:
        """Hand over what was perceived and never taken in, for the next runner to take in."""
        unheard, self._unheard = self._unheard, []
        return unheard

    async def settled(self) -> None:
        """Wait until all events that are on their way are in the journal."""
        await DeferredList(list(self._on_the_way))

    async def stop(self) -> None:
        """Cancel what is still on its way."""
        await self._launcher.stop()

    def _take(self, make: MakeEvent, at: float) -> None:
        self._heard += 1
        event = make(f"{self._me.id}.{self._life}.{self._heard}", at)
        accepted = self._launcher.launch(self._hear(event), "hearing")
        if not accepted.called:
            self._on_the_way.add(accepted)
            accepted.addBoth(lambda _: self._on_the_way.discard(accepted))

    async def _hear(self, event: Event) -> None:
        await self._accept(event)

    async def _accept(self, event: Event) -> bool:
        hearer = self._assistant or self._pending
        assert hearer is not None
        try:
            attention = await hearer.hear(event)
        except (InboxFullError, JournalUnwritable, Fenced):
            return False  # logged already; the fallback line was shown, or another process runs this assistant
        if self._watchers.is_watched and attention.verdict is not Classification.IGNORE:
            self._watchers.heard(self._me.id, event, attention)
        if self._assistant is not None and hearer is self._pending:
            self._assistant.tick.wake()
        return True


class PendingInbox:
    """The inbox of an assistant that cannot think yet.

    Players who want an answer are told that it is waking up, or see the `fallback_line` once no model can be used.
    """

    def __init__(
        self, storage: Storage, manners: Manners, muted: frozenset[str], fallback_line: FallbackLine, waking: Waking
    ) -> None:
        self._journal = storage.journal
        self._muted = muted
        self._manners = manners
        self._fallback_line = fallback_line
        self._waking = waking
        self._is_unavailable = False
        self._somebody_waits = False

    async def cannot_think(self) -> None:
        """Mark the model as unavailable: show the fallback line now if a player waits, and to each new asker."""
        self._is_unavailable = True
        self._waking.forget()
        if self._somebody_waits:
            await self._fallback_line.make()

    async def hear(self, event: Event) -> Attention:
        """Write the event into the journal unless it is ignored, and return the attention it got.

        Raises InboxFullError or JournalUnwritable when a trigger cannot be written. Raises Fenced.
        """
        attention = inbox.judge(event, self._manners, self._muted)  # a mere pose wakes nobody yet
        attention = await inbox.take(event, attention, self._journal, self._manners.name, self._fallback_line.make)
        if attention.verdict is Classification.TRIGGER:
            self._somebody_waits = True
            if self._is_unavailable:
                await self._fallback_line.make()
            else:
                self._waking.asked(event)
        return attention
