"""The inbox of one assistant: all it perceives comes in here, in order, from the moment it is started.

closed   its storage is not open yet: what it hears is kept in memory
open     it has no model yet: what it hears is written into the journal, and who asks is told why no answer comes
awake    what it hears is written into the journal and wakes it
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Attention, Classification, Manners, classify
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.watching import Watchers
from mud_assistant.assistant.journal import Fenced, InboxFullError, Journal, JournalUnwritable
from mud_assistant.assistant.loop.speech.fallback_line import FallbackLine, Waking
from mud_assistant.assistant.runtime.attending import Attending
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.resilience import Launcher

if TYPE_CHECKING:
    from mud_assistant.assistant.runtime.listener import MakeEvent

#: The most events that are kept while the storage is closed.
MAX_UNHEARD = 500
_NOBODY: frozenset[str] = frozenset()

_log = Logger()


class Inbox:
    """The inbox of one assistant. `previous` is its inbox until now, whose unwritten events this one takes over.

    Players who want an answer while there is no model are told that it is waking up, or see the `fallback_line` once
    no model can be used.
    """

    __slots__ = (
        *("_attending", "_clock", "_fallback_line", "_heard", "_is_unavailable", "_journal", "_launcher", "_life"),
        *("_manners", "_muted", "_somebody_waits", "_undecided", "_unheard", "_waiting", "_waking", "_watchers"),
        "_writing",
    )

    def __init__(
        self,
        manners: Manners,
        clock: IReactorTime,
        watchers: Watchers,
        waking: Waking,
        fallback_line: FallbackLine,
        *,
        previous: Inbox | None = None,
    ) -> None:
        self._manners = manners
        self._clock = clock
        self._watchers = watchers
        self._waking = waking
        self._fallback_line = fallback_line
        #: What waits for the storage: makers of events, each with the time when it was perceived, in clock seconds.
        self._unheard = previous.clear_unheard() if previous is not None else ()
        #: None until the storage is open.
        self._journal: Journal | None = None
        self._muted: Container[str] = _NOBODY
        self._life = self._heard = 0
        self._is_unavailable = self._somebody_waits = False
        #: None until there is a model.
        self._attending: Attending | None = None
        #: How many events are being written, and how many lines to everybody may still wake it.
        self._writing = self._undecided = 0
        #: Those who wait until these are fewer.
        self._waiting: tuple[Deferred[None], ...] = ()
        self._launcher = Launcher()

    @property
    def unheard(self) -> int:
        """How many events wait for the storage."""
        return len(self._unheard)

    def open(self, storage: Storage, muted: Container[str] = _NOBODY) -> None:
        """Write what waited into this storage, and each event from now on. The ids in `muted` are not heard."""
        self._journal, self._life, self._muted = storage.journal, storage.life, muted
        for make, at in self.clear_unheard():
            self._begin(make, at)

    def wake(self, attending: Attending) -> None:
        """Let each event be judged and wake the assistant from now on."""
        self._attending = attending

    async def cannot_think(self) -> None:
        """Note that no model can be used: show the fallback line now if a player waits, and to each new asker."""
        if self._journal is not None:
            self._is_unavailable = True
            self._waking.forget()
            if self._somebody_waits:
                await self._fallback_line.make()

    def hear(self, make: MakeEvent) -> None:
        """Take in an event that was perceived now. It goes into the journal before anything else is done with it."""
        if self._journal is not None:
            self._begin(make, self._clock.seconds())
        elif len(self._unheard) < MAX_UNHEARD:
            self._unheard += ((make, self._clock.seconds()),)
        else:
            _log.warn("{name} cannot take in more before its journal is open", name=self._manners.name)

    async def accepts(self, event: Event) -> bool:
        """Take in an event that has an id already. Return whether it is in the journal, or was to be ignored.

        False while the storage is closed, and when the journal does not take it.
        """
        if self._journal is None:
            return False
        try:
            await self.take(event)
        except (InboxFullError, JournalUnwritable, Fenced):
            return False  # logged already; the fallback line was shown, or another process runs this assistant
        return True

    async def take(self, event: Event) -> Attention:
        """Take in an event that has an id already, and return the attention it got. The storage must be open.

        When this returns, an event that was not ignored is in the journal. Raises InboxFullError when the inbox takes
        no more triggers, and JournalUnwritable when the disk does not; overheard events are then ignored instead.
        Raises Fenced when another process lives as this character by now.
        """
        is_held, attending = False, self._attending
        if attending is not None:
            event, attention = attending.judge(event)
            is_held = attending.company.holds(event, attention)
        else:
            attention = classify(event, self._manners, is_rested=False)  # a mere pose wakes nobody yet
            if event.who.id in self._muted:
                attention = Attention(Classification.IGNORE, attention.importance)
        if attention.verdict is Classification.IGNORE:
            return attention
        assert self._journal is not None
        self._writing += 1
        try:
            try:
                await self._journal.accept(event, attention)
            except (Fenced, InboxFullError, JournalUnwritable) as error:
                attention = await self._refused(event, attention, error)
            if self._watchers.is_watched and attention.verdict is not Classification.IGNORE:
                self._watchers.heard(self._manners.id, event, attention)
            if attention.verdict is Classification.TRIGGER:
                if self._attending is None:
                    await self._tell_asker(event)
                elif is_held:
                    self._undecided += 1
                    attending = self._attending
                    attending.launcher.launch(self._decide(event, attending), "seeing who answers a line to everybody")
                else:
                    self._attending.wake(event)
        finally:
            self._writing -= 1
            if self._waiting:
                self._tell_waiting()
        return attention

    async def add(self, event: Event, attention: Attention) -> None:
        """Write an event whose attention is known, and wake the assistant for it. Raises as the journal's `accept`."""
        assert self._journal is not None
        self._writing += 1
        try:
            await self._journal.accept(event, attention)
            if self._attending is not None:
                self._attending.tick.wake()
        finally:
            self._writing -= 1
            self._tell_waiting()

    async def written(self) -> None:
        """Wait until all events that are on their way are in the journal, or were refused."""
        while self._writing:
            await self._change()

    async def settled(self) -> None:
        """Wait until all events are in the journal and it is decided which of them wake the assistant."""
        while self._writing or self._undecided:
            await self._change()

    async def stop(self) -> None:
        """Cancel what is still on its way."""
        if self._writing:  # else one may be at its end, and what follows from that has brought us here
            await self._launcher.stop()

    def release(self) -> None:
        """Hold nothing of the assistant any more, once all has stopped for good."""
        self._attending = None

    def lose(self, why: str) -> None:
        """Report in the log, with their number, the events that can be written nowhere."""
        if lost := len(self.clear_unheard()):
            text = "{name} was stopped before its journal was open, and {lost} events it heard are lost: {why}"
            _log.warn(text, name=self._manners.name, lost=lost, why=why)

    def clear_unheard(self) -> tuple[tuple[MakeEvent, float], ...]:
        """Hand over what waits for the storage: makers of events, each with its time in clock seconds."""
        unheard, self._unheard = self._unheard, ()
        return unheard

    def _begin(self, make: MakeEvent, at: float) -> None:
        """Begin to take in an event, with an id that no other event has."""
        self._heard += 1
        event = make(f"{self._manners.id}.{self._life}.{self._heard}", at)
        self._launcher.launch(self.accepts(event), "hearing")

    async def _refused(
        self, event: Event, attention: Attention, error: Fenced | InboxFullError | JournalUnwritable
    ) -> Attention:
        """Return the attention of an event that the journal did not take: none. Raises the `error` of a trigger."""
        attending = self._attending
        if isinstance(error, Fenced):
            if attending is not None:
                attending.tick.halt()
            raise error
        _log.warn("{name} cannot take in more: {why}", name=self._manners.name, why=str(error))
        if attention.verdict is not Classification.TRIGGER or event.by_rule is not None:
            return Attention(Classification.IGNORE, attention.importance)
        if attending is not None:
            attending.begin_fallback_line()
        else:
            await self._fallback_line.make()
        raise error

    async def _tell_asker(self, event: Event) -> None:
        """Tell the player that no answer comes yet, and why."""
        self._somebody_waits = True
        if self._is_unavailable:
            await self._fallback_line.make()
        else:
            self._waking.asked(event)

    async def _decide(self, event: Event, attending: Attending) -> None:
        """Wake for a line to everybody, a little later and only when no other assistant answers it."""
        try:
            if await attending.company.answers(event):
                attending.wake(event)
        finally:
            self._undecided -= 1
            self._tell_waiting()

    async def _change(self) -> None:
        """Wait until an event is written, or it is decided who answers one."""
        change: Deferred[None] = Deferred()
        self._waiting += (change,)
        await change

    def _tell_waiting(self) -> None:
        waiting, self._waiting = self._waiting, ()
        for change in waiting:
            change.callback(None)
