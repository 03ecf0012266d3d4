"""The one way in for what a character hears: judge it, leave out who is muted, write it down, or say why not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container

from twisted.logger import Logger

from assistant.events.classify import Attention, Classification, Manners, classify
from assistant.events.events import Event
from assistant.journal import Fenced, InboxFullError, JournalUnwritable

_log = Logger()


class Inbox:
    """The durable queue of one assistant, in every world, with a model or before there is one.

    `accept` writes an event into the journal. `muted` returns the ids of those who are not heard. `refuse` shows a
    player that no answer comes, when what they said could not be written down.
    """

    def __init__(
        self,
        accept: Callable[[Event, Attention], Awaitable[None]],
        manners: Manners,
        muted: Callable[[], Container[str]],
        refuse: Callable[[], Awaitable[object]],
    ) -> None:
        self._accept = accept
        self._manners = manners
        self._muted = muted
        self._refuse = refuse

    def judge(
        self, event: Event, bot_exchanges: int = 0, *, goes_on: bool = False, is_rested: bool = False
    ) -> Attention:
        """Return the attention an event gets: IGNORE also for what a muted person said. See `classify`."""
        attention = classify(event, self._manners, bot_exchanges, goes_on=goes_on, is_rested=is_rested)
        if event.who.id in self._muted():
            return Attention(Classification.IGNORE, attention.importance)
        return attention

    async def take(self, event: Event, attention: Attention) -> Attention:
        """Write the event down and return the attention it got in the end. An ignored event is not written.

        When this returns, an event that was not ignored is in the journal. When the inbox is full, or the disk takes no
        more, a trigger raises InboxFullError or JournalUnwritable after the player was shown so, and an overheard event
        is ignored instead. Raises Fenced when another process lives as this character by now.
        """
        if attention.verdict is Classification.IGNORE:
            return Attention(Classification.IGNORE, attention.importance)
        try:
            await self._accept(event, attention)
        except Fenced:
            raise
        except (InboxFullError, JournalUnwritable) as refused:
            _log.warn("{name} cannot take in more: {why}", name=self._manners.name, why=str(refused))
            if attention.verdict is not Classification.TRIGGER or event.by_rule is not None:
                return Attention(Classification.IGNORE, attention.importance)
            await self._refuse()
            raise
        return attention
