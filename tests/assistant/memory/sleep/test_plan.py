"""When a night is due, and what it consists of."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from twisted.internet.defer import Deferred

from mud_assistant.assistant.memory.remembering import profile_id
from mud_assistant.assistant.memory.sleep.asking import build_prompt
from mud_assistant.assistant.memory.sleep.gathering import TaskSource
from mud_assistant.assistant.memory.sleep.plan import (
    MAX_SHOWN,
    HeardSince,
    QuietSigns,
    SleepPlan,
    TaskKind,
    choose_lines,
    find_pairs,
    is_due,
    list_parts_left,
    list_wishes,
    usable_lines,
)
from mud_assistant.assistant.memory.sleep.state import SleepRecord
from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.trust import Audience
from tests.assistant.memory.sleep.sleeping import DAY, EVERYBODY, NOON, SAGE, FakeStore, MemorySleepState, line
from tests.effort import times

T = TypeVar("T")
ANNS: Audience = frozenset({"ann"})
BOBS: Audience = frozenset({"bob"})
QUIET = QuietSigns(NOON, NOON - 600)
MUCH = HeardSince(151, NOON - 7200)


@pytest.mark.parametrize(
    ("signs", "heard", "last_night", "expected"),
    [
        (QUIET, MUCH, None, True),
        (QUIET, HeardSince(150, NOON - 7200), None, False),
        (QuietSigns(NOON, NOON - 599), MUCH, None, False),
        (QuietSigns(NOON, None), MUCH, None, False),
        (replace(QUIET, waiting=True), MUCH, None, False),
        (QUIET, MUCH, NOON - 3600, False),
        (QUIET, MUCH, NOON - DAY, True),
        (QUIET, HeardSince(lost=True), None, True),
        (QUIET, HeardSince(lost=True), NOON - 60, False),
    ],
)
def test_a_night_is_due_when_it_is_quiet_after_much_was_heard(
    signs: QuietSigns, heard: HeardSince, last_night: float | None, expected: bool
) -> None:
    assert is_due(SleepPlan(), signs, heard, last_night) is expected
    assert is_due(SleepPlan(sleep=False), signs, heard, last_night) is False
    assert is_due(SleepPlan(sleep_calls=0), signs, heard, last_night) is False


@pytest.mark.parametrize(
    ("hour", "now", "oldest", "last_night", "expected"),
    [
        (4.0, 4.0, 3.9, None, True),
        (4.0, 3.9, 3.0, None, False),
        (4.0, 9.0, 5.0, None, False),  # all that was heard is from after the hour
        (4.0, 28.0, 5.0, 4.0, True),
        (4.0, 27.9, 5.0, 4.0, False),
        (4.0, 30.0, 3.0, None, True),  # the hour went by while the program was not running
        (0.0, 24.0, 23.0, 1.0, True),
    ],
)
def test_a_night_is_due_at_the_owners_hour_whoever_is_there(
    hour: float, now: float, oldest: float, last_night: float | None, expected: bool
) -> None:
    midnight, offset = NOON - 12 * 3600, 2 * 3600.0
    at = {name: midnight + value * 3600 - offset for name, value in (("now", now), ("oldest", oldest))}
    last = None if last_night is None else midnight + last_night * 3600 - offset
    plan, signs = SleepPlan(sleep_hour=hour), QuietSigns(at["now"], None, utc_offset=offset)
    assert is_due(plan, signs, HeardSince(1, at["oldest"]), last) is expected
    assert not is_due(plan, replace(signs, waiting=True), HeardSince(1, at["oldest"]), last)


@given(st.lists(st.integers(0, 10 * 24 * 4), min_size=1, max_size=200), st.sampled_from([None, 0.0, 4.0, 23.5]))
def test_there_is_at_most_one_night_a_day(quarters: list[int], hour: float | None) -> None:
    plan, nights, last = SleepPlan(sleep_hour=hour), list[float](), None
    for quarter in sorted(quarters):
        now = NOON + quarter * 900
        if is_due(plan, QuietSigns(now, now - 900), HeardSince(1000, NOON - 30 * DAY), last):
            nights.append(now)
            last = now
    days = [int((now - (hour or 0.0) * 3600) // DAY) for now in nights]
    assert len(days) == len(set(days))


def test_a_night_is_one_profile_then_insights_contradictions_and_a_second_profile() -> None:
    lines = [line(n, who, f"word {n} {who}") for n, who in enumerate(["ann", "ann", "ann", "bob", "bob", "cid"])]
    lines += [line(10, "ann", "psst", ANNS), line(11, "assistant:1", "Hello.")]
    wishes = [(wish.kind, wish.who, wish.audience) for wish in list_wishes(lines, [], SAGE.id)]
    assert wishes == [
        (TaskKind.PROFILE, "ann", EVERYBODY),
        (TaskKind.INSIGHTS, "", EVERYBODY),
        (TaskKind.CONTRADICTIONS, "", EVERYBODY),
        (TaskKind.PROFILE, "bob", EVERYBODY),
        (TaskKind.CONTRADICTIONS, "", ANNS),
        (TaskKind.PROFILE, "ann", ANNS),
        (TaskKind.PROFILE, "cid", EVERYBODY),
    ]
    assert list_wishes([], lines[:2], SAGE.id)[0].kind is TaskKind.ANEW


def test_only_what_was_heard_or_seen_and_still_holds_is_used_and_equal_words_once() -> None:
    lines = [
        line(1, "ann", "Rain again."),
        line(2, "ann", "RAIN again."),
        line(3, "bob", "Rain again."),
        line(4, "ann", "Rain again.", ANNS),
        line(5, "ann", "I live here.", superseded_by="m6"),
        line(6, "ann", "A thought.", kind=MemoryKind.REFLECTION),
        line(7, "ann", "Nobody may know.", frozenset()),
    ]
    assert [one.id for one in usable_lines(reversed(lines))] == ["m2", "m3", "m4"]


def test_the_prompt_takes_the_most_important_lines_that_it_has_room_for() -> None:
    lines = [line(n, "ann", f"{n} " + "word " * 60, importance=3 + n % 2) for n in range(100)]
    chosen = choose_lines(lines, 4000)
    assert [one.at for one in chosen] == sorted(one.at for one in chosen)
    assert 20 < len(chosen) < 40
    assert all(one.importance == 4 for one in chosen)
    assert len(choose_lines([line(n, "ann", "short") for n in range(100)], 4000)) == MAX_SHOWN
    assert choose_lines(lines, 100) == ()


def test_pairs_are_lines_that_share_half_of_their_rarer_words() -> None:
    old = line(1, "ann", "The Heron sails for Veyra on the fourth day.")
    new = line(9, "ann", "The Heron will not sail for Veyra, she is sunk.")
    other = line(5, "ann", "My daughter turned seven.")
    assert find_pairs([new, other, old], since=new.at - 1) == [(old, new)]
    assert find_pairs([new, other, old], since=new.at) == []
    assert (
        find_pairs([line(1, "ann", "It is the one that you had."), line(2, "ann", "Is it the one you had?")], 0) == []
    )


def test_what_is_left_of_lost_memories_is_listed_when_it_is_enough() -> None:
    gone = [
        replace(line(n, "ann", "x"), made_of=made_of) for n, made_of in enumerate([("a", "b", "c"), ("a", "b"), ()])
    ]
    assert list_parts_left(gone, ["b"]) == [("a", "c")]


def test_the_id_of_a_profile_is_the_same_for_the_same_person_and_audience() -> None:
    assert profile_id("player:1", None) == "profile:player:1:everybody"
    assert profile_id("ann", frozenset({"b", "a"})) == "profile:ann:a,b"
    crowds = [frozenset(f"player:{n}" for n in range(count)) for count in (50, 51)]
    assert len({profile_id("ann", crowd) for crowd in crowds}) == 2
    assert all(len(profile_id("ann", crowd)) < 40 for crowd in crowds)


AUDIENCES: list[Audience] = [EVERYBODY, ANNS, BOBS, frozenset({"ann", "bob"}), frozenset({"channel:inn"}), frozenset()]
SPOKEN = st.tuples(st.sampled_from(["ann", "bob", "cid", SAGE.id]), st.integers(0, 9), st.sampled_from(AUDIENCES))


@settings(max_examples=times(80))
@given(st.lists(SPOKEN, max_size=40), st.lists(st.integers(0, 39), max_size=10))
def test_no_prompt_ever_holds_lines_of_two_audiences(spoken: list[tuple[str, int, Audience]], lost: list[int]) -> None:
    lines = [
        line(n, who, f"secret{n}x topic{topic} thing{topic} told", told) for n, (who, topic, told) in enumerate(spoken)
    ]
    store, state = FakeStore({one.id: one for one in lines}), MemorySleepState()
    old = [
        profile for who in ("ann", "bob") for told in AUDIENCES if (profile := _profile(lines, who, told)) is not None
    ]
    store.memories.update({one.id: one for one in old})
    _result(state.enqueue([tuple(f"m{n}" for n in lost)]))
    done: set[str] = set()
    while task := _result(TaskSource(store, state, SleepPlan(), SAGE.id).next_task(SleepRecord(until=NOON), done)):
        done.add(task.wish.key)
        words = "\n".join(message.text for message in build_prompt(task, "Sage").messages)
        told = {one.audience for n, one in enumerate(lines) if f"secret{n}x" in words}
        told |= {one.audience for one in old if one.text in words}
        assert told == {task.wish.audience}
        assert frozenset() not in told


def _profile(lines: list[Memory], who: str, told: Audience) -> Memory | None:
    own = [one for one in lines if one.who == who and one.audience == told]
    if not own:
        return None
    made = line(0, who, f"Profile of {who} for {told}", told, kind=MemoryKind.REFLECTION)
    return replace(made, id=profile_id(who, told), made_of=(own[0].id,), at=own[0].at)


def _result(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that waits for nothing."""
    results: list[T] = []
    Deferred.fromCoroutine(work).addCallback(results.append)
    return results[0]
