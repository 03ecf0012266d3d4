"""Keeps what is heard while there is no model yet. It is dealt with when there is one, so nothing is lost."""

from __future__ import annotations

from assistant.events.classify import Attention, Classification, Manners
from assistant.events.events import Event
from assistant.loop.speech.fallback_line import FallbackLine, Waking
from assistant.runtime import inbox
from assistant.runtime.storage import Storage


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
