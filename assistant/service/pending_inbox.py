"""Keeps what is heard while there is no model yet. It is dealt with when there is one, so nothing is lost."""

from __future__ import annotations

from twisted.logger import Logger

from assistant.events.classify import Attention, Classification, Manners, classify
from assistant.events.events import Event
from assistant.journal import Fenced, InboxFullError, JournalUnwritable
from assistant.loop.speech.fallback_line import FallbackLine, Waking
from assistant.runtime.storage import Storage

_log = Logger()


class PendingInbox:
    """The inbox of an assistant that cannot think yet.

    Players who want an answer are told that it is waking up, or see the `fallback_line` once no model can be used.
    """

    def __init__(
        self, storage: Storage, manners: Manners, muted: frozenset[str], fallback_line: FallbackLine, waking: Waking
    ) -> None:
        self._journal = storage.journal
        self._manners = manners
        self._muted = muted
        self._excuse = fallback_line
        self._waking = waking
        self._is_excused = False
        self._somebody_waits = False

    async def cannot_think(self) -> None:
        """Mark the model as unavailable: show the excuse now if a player waits, and to each who asks from now on."""
        self._is_excused = True
        self._waking.forget()
        if self._somebody_waits:
            await self._excuse.make()

    async def hear(self, event: Event) -> Attention:
        """Write the event into the journal unless it is ignored, and return the attention it got.

        Raises InboxFullError or JournalUnwritable when a trigger cannot be written. Raises Fenced.
        """
        attention = classify(event, self._manners, is_rested=False)  # a mere pose gets no excuse
        if attention.verdict is Classification.IGNORE or event.who.id in self._muted:
            return Attention(Classification.IGNORE, attention.importance)
        try:
            await self._journal.accept(event, attention)
        except Fenced:
            raise
        except (InboxFullError, JournalUnwritable) as refused:
            _log.warn("{name} cannot take in more: {why}", name=self._manners.name, why=str(refused))
            if attention.verdict is not Classification.TRIGGER:
                return Attention(Classification.IGNORE, attention.importance)
            await self._excuse.make()
            raise
        if attention.verdict is Classification.TRIGGER:
            self._somebody_waits = True
            if self._is_excused:
                await self._excuse.make()
            else:
                self._waking.asked(event)
        return attention
