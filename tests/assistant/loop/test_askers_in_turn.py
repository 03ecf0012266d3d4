"""Which of the events that wait one run deals with: one line of one asker before one audience, in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.conversation import Conversations
from mud_assistant.assistant.events.events import (
    ByRule,
    Event,
    Gave,
    Noticed,
    Said,
    Whispered,
    hearers_of,
    spoken_text,
)
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.loop.choosing import approved_call, of_one_run, triggers_in
from mud_assistant.tools import Pending, Principal
from tests.effort import times

PEOPLE = tuple(Principal(f"player:{name}", name) for name in ("Ann", "Bea", "Carl"))
GRANTED = Pending(1, "take", {}, "take", PEOPLE[0], 3, 300.0)


@st.composite
def waiting(draw: st.DrawFn) -> list[Accepted]:
    """What waits in an inbox, in order."""
    heard: list[Accepted] = []
    for number in range(draw(st.integers(0, 9))):
        who = draw(st.sampled_from(PEOPLE))
        is_trigger, is_meant = draw(st.booleans()), draw(st.booleans())
        kind = draw(st.sampled_from((Said, Said, Said, Whispered, Gave, Noticed, ByRule)))
        fields: dict[str, Any] = {"id": f"event.{number}", "at": 0.0, "who": who}
        event: Event
        if kind is Gave:
            event = Gave(thing="map", **fields)
        elif kind is Noticed:
            event = Noticed(text="It is allowed.", granted=GRANTED, **fields)
        elif kind is ByRule:
            event = Said(text="north", by_rule=ByRule("move", {}), **fields)
        else:
            event = kind(text="What is that?", **fields)
        is_trigger = is_trigger or kind in {Noticed, ByRule}
        verdict = Classification.TRIGGER if is_trigger else Classification.CONTEXT
        heard.append(Accepted(event, Attention(verdict, 5, addressed=is_trigger and is_meant)))
    return heard


def ids(heard: Sequence[Accepted]) -> list[str]:
    return [one.event.id for one in heard]


@settings(max_examples=times(60), deadline=None)
@given(waiting(), st.sampled_from(["", *(who.id for who in PEOPLE)]), st.sets(st.integers(0, 8)))
def test_one_run_is_for_one_line_of_one_asker(heard: list[Accepted], after: str, others: set[int]) -> None:
    talk = Conversations(lambda: 0.0, 60.0)
    talk.answered_last = after
    spoken = [one.event for one in heard if isinstance(one.event, Said) and one.event.by_rule is None]
    is_held = {event.id: int(event.id[-1]) % 2 == 0 for event in spoken if int(event.id[-1]) in others}
    for id_, held in is_held.items():
        if held:
            talk.held[id_] = None
        else:
            talk.leave(id_)
    chosen = of_one_run(heard, talk)
    here = [one for one in heard if not is_held.get(one.event.id)]
    assert ids(chosen) == [id_ for id_ in ids(here) if id_ in ids(chosen)], "the order stays, and who is held waits"
    assert not {one.event.id for one in triggers_in(chosen)} & {*is_held}, "another answers what is left to it"
    asking = [one for one in triggers_in(here) if one.event.id not in is_held]
    assert bool(chosen) == bool(here)
    assert bool(triggers_in(chosen)) == bool(asking), "somebody waits, and nobody is answered"
    if any(map(approved_call, here)):
        assert len(chosen) == 1
        return
    if asking and asking[0].event.by_rule is not None:
        assert ids(chosen) == ids(here[: ids(here).index(asking[0].event.id) + 1])
        return
    lines = [one for one in asking if one.event.by_rule is None]
    askers = {one.event.who.id for one in lines}
    asked = triggers_in(chosen)
    if not asked:
        return
    asker = asked[0].event.who.id
    assert {one.event.who.id for one in asked} == {asker}
    assert asker != after or askers == {after}, "who was answered last comes after those who wait"
    first = next(one for one in lines if one.event.who.id == asker)
    assert asked[0] is first, "their first line comes first"
    assert {hearers_of(one.event) for one in asked} == {hearers_of(first.event)}
    assert sum(one.attention.addressed and bool(spoken_text(one.event)) for one in asked) <= 1
    before = next((one for one in lines if one.event.who.id != after), lines[0])
    assert asked[0] is before
