"""Chooses the events that one run deals with: one asker before one audience, in the order in which they spoke. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from assistant.events.classify import Attention, Classification
from assistant.events.conversation import Conversations
from assistant.events.events import Noticed, hearers_of, spoken_text
from assistant.journal import Accepted
from tools import Pending


def of_one_run(heard: Sequence[Accepted], talk: Conversations | None = None) -> Sequence[Accepted]:
    """Return the events that one run deals with. An approved call has a run of its own, and so has each asker.

    A line to everybody waits until it is known which assistant answers it. A line that another assistant answers is
    only overheard. A call by rule has a run of its own too: it comes after the questions before it, and takes in what
    was overheard until then.
    """
    if talk is not None:
        heard = [
            _overheard(one) if talk.is_left(one.event.id) else one for one in heard if one.event.id not in talk.held
        ]
    approved = [one for one in heard if approved_call(one) is not None]
    if approved:
        return approved[:1]
    first = next((place for place, one in enumerate(heard) if one.attention.verdict is Classification.TRIGGER), None)
    if first is not None and heard[first].event.by_rule is not None:
        return heard[: first + 1]
    return _for_one_asker([one for one in heard if one.event.by_rule is None])


def _for_one_asker(events: Sequence[Accepted]) -> Sequence[Accepted]:
    """Return the events of one run, which answers one person before one audience. The others wait for their own runs.

    The first asker comes first, with all they said to that audience. What other askers want waits, together with what
    they said since. What the first asker said to another audience, in private or aloud, waits for a run of its own
    too, so that it is answered there.
    """
    triggers = triggers_in(events)
    if not triggers:
        return events
    asker, hearers = triggers[0].event.who.id, hearers_of(triggers[0].event)
    theirs = [heard for heard in triggers if heard.event.who.id == asker]
    ends = (place for place, heard in enumerate(theirs) if hearers_of(heard.event) != hearers)
    elsewhere = {heard.event.id for heard in theirs[next(ends, len(theirs)) :]}
    waiting: set[str] = set()
    kept = []
    for heard in events:
        who, is_trigger = heard.event.who, heard.attention.verdict is Classification.TRIGGER
        if is_trigger and who.id != asker:
            waiting.add(who.id)
        elif heard.event.id not in elsewhere and (who.id not in waiting or not spoken_text(heard.event)):
            kept.append(heard)
    return kept


def _overheard(heard: Accepted) -> Accepted:
    return replace(heard, attention=Attention(Classification.CONTEXT, heard.attention.importance))


def approved_call(heard: Accepted) -> Pending | None:
    """Return the call that this event approves, None for any other event."""
    return heard.event.granted if isinstance(heard.event, Noticed) else None


def triggers_in(events: Sequence[Accepted]) -> list[Accepted]:
    """Return the events that ask for an answer."""
    return [heard for heard in events if heard.attention.verdict is Classification.TRIGGER]
