"""The one way in for what a character hears: judge it, leave out who is muted, write it down, or show why not.

Every world and every state of an assistant goes this way: with a model, and before there is one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container

from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Attention, Classification, Manners, classify
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.journal import Fenced, InboxFullError, Journal, JournalUnwritable

_log = Logger()


def judge(
    event: Event,
    manners: Manners,
    muted: Container[str],
    bot_exchanges: int = 0,
    *,
    goes_on: bool = False,
    is_rested: bool = False,
) -> Attention:
    """Return the attention an event gets, as `classify` does: IGNORE when its cause is among the ids of the `muted`."""
    attention = classify(event, manners, bot_exchanges, goes_on=goes_on, is_rested=is_rested)
    if attention.verdict is Classification.IGNORE or event.who.id in muted:
        return Attention(Classification.IGNORE, attention.importance)
    return attention


async def take(
    event: Event, attention: Attention, journal: Journal, name: str, refuse: Callable[[], Awaitable[object]]
) -> Attention:
    """Write the event into the journal of the assistant `name`; return the attention it got in the end.

    When this returns, an event that was not ignored is in the journal. When the inbox is full, or the disk takes no
    more, an overheard event is ignored instead. A trigger then calls `refuse`, which shows the player that no answer
    comes, and raises InboxFullError or JournalUnwritable. Raises Fenced when another process lives as this character by
    now.
    """
    if attention.verdict is Classification.IGNORE:
        return attention
    try:
        await journal.accept(event, attention)
    except Fenced:
        raise
    except (InboxFullError, JournalUnwritable) as refused:
        _log.warn("{name} cannot take in more: {why}", name=name, why=str(refused))
        if attention.verdict is not Classification.TRIGGER or event.by_rule is not None:
            return Attention(Classification.IGNORE, attention.importance)
        await refuse()
        raise
    return attention
