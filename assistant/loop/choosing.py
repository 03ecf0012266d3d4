"""Chooses the events that one run deals with: one line of one asker before one audience. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mud_assistant.assistant.events.classify import Attention, Classification, is_unspoken
from mud_assistant.assistant.events.conversation import Conversations
from mud_assistant.assistant.events.events import Noticed, hearers_of, spoken_text
from mud_assistant.assistant.journal import Accepted
from mud_assistant.tools import Pending


def of_one_run(heard: Sequence[Accepted], talk: Conversations | None = None) -> Sequence[Accepted]:
    """Return the events that one run deals with. An approved call has a run of its own, and so has each asker.

    A line to everybody waits until it is known which assistant answers it. A line that another assistant answers is
    only overheard. A call by rule has a run of its own too: it comes after the questions before it, and takes in what
    was overheard until then. What was promised comes before them: the model may be out of reach.
    """
    if talk is not None:
        heard = [
            _overheard(one) if talk.is_left(one.event.id) else one for one in heard if one.event.id not in talk.held
        ]
    approved = [one for one in heard if approved_call(one) is not None or _is_promised(one)]
    if approved:
        return approved[:1]
    first = next((place for place, one in enumerate(heard) if one.attention.verdict is Classification.TRIGGER), None)
    if first is not None and heard[first].event.by_rule is not None:
        return heard[: first + 1]
    after = "" if talk is None else talk.answered_last
    return _for_one_asker([one for one in heard if one.event.by_rule is None], after)


def _for_one_asker(events: Sequence[Accepted], after: str) -> Sequence[Accepted]:
    """Return the events of one run, which answers one line of one person before one audience. The others wait.

    The first line comes first, unless somebody other than `after`, who was answered last, waits as well. An act without
    speech, and speech that was not meant for it, goes with the line beside it. What other askers want waits, together
    with what they said since. So does what comes after the next line of the same asker: each of their lines is answered
    by itself, and where it was said.
    """
    triggers = triggers_in(events)
    if not triggers:
        return events
    first = next((heard for heard in triggers if heard.event.who.id != after), triggers[0])
    asker = first.event.who.id
    events = events[: _end_of_line([heard for heard in triggers if heard.event.who.id == asker], events)]
    waiting: set[str] = set()
    kept = []
    for heard in events:
        who, is_trigger = heard.event.who, heard.attention.verdict is Classification.TRIGGER
        if is_trigger and who.id != asker:
            waiting.add(who.id)
        elif who.id not in waiting or not spoken_text(heard.event):
            kept.append(heard)
    return kept


def _end_of_line(theirs: Sequence[Accepted], events: Sequence[Accepted]) -> int:
    """Return where, in `events`, the second of the lines of one asker begins, or what they did before others to see."""
    hearers, has_line = hearers_of(theirs[0].event), False
    for heard in theirs:
        is_line = heard.attention.addressed and not is_unspoken(heard.event)
        if (is_line and has_line) or hearers_of(heard.event) != hearers:
            return events.index(heard)
        has_line = has_line or is_line
    return len(events)


def _overheard(heard: Accepted) -> Accepted:
    return replace(heard, attention=Attention(Classification.CONTEXT, heard.attention.importance))


def approved_call(heard: Accepted) -> Pending | None:
    """Return the call that this event approves, None for any other event."""
    return heard.event.granted if isinstance(heard.event, Noticed) else None


def _is_promised(heard: Accepted) -> bool:
    by_rule = heard.event.by_rule
    return by_rule is not None and bool(by_rule.goal)


def triggers_in(events: Sequence[Accepted]) -> list[Accepted]:
    """Return the events that ask for an answer."""
    return [heard for heard in events if heard.attention.verdict is Classification.TRIGGER]


def is_impulse(events: Sequence[Accepted]) -> bool:
    """Tell whether what asks for an answer is an impulse of the character, and nothing else."""
    asked = [heard.event for heard in triggers_in(events)]
    return bool(asked) and all(isinstance(event, Noticed) and event.of_itself for event in asked)
