from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.resilience.admission.capacity import FairQueue


@dataclass(frozen=True, eq=False)
class One:
    """One who waits."""

    name: str
    is_urgent: bool = False

    @property
    def group(self) -> str:
        return self.name[0]


def queue_of(*names: str) -> FairQueue[One]:
    """A queue of these; the first letter is the group, an upper-case one is urgent."""
    queue: FairQueue[One] = FairQueue()
    for name in names:
        queue.add(One(name, name[0].isupper()))
    return queue


def served(queue: FairQueue[One], waits: str = "") -> str:
    """The names in the order in which they are taken, while those of the groups in `waits` are not ready."""
    names = []
    while (one := queue.take(lambda one: one.group not in waits)) is not None:
        names.append(one.name)
    return " ".join(names)


def test_groups_take_turns_and_within_a_group_the_first_is_first() -> None:
    assert served(queue_of("a1", "a2", "a3", "b1", "c1", "b2")) == "a1 b1 c1 a2 b2 a3"


def test_the_urgent_go_first_and_take_turns_too() -> None:
    assert served(queue_of("a1", "A1", "A2", "B1", "b1")) == "A1 B1 A2 a1 b1"


def test_one_who_is_not_ready_keeps_its_place_and_holds_nobody_up() -> None:
    queue = queue_of("A1", "a1", "b1", "b2")
    assert served(queue, waits="Aa") == "b1 b2"
    assert len(queue) == 2
    assert served(queue) == "A1 a1"
    assert queue.take(lambda _: True) is None


def test_one_can_be_taken_out_of_the_middle() -> None:
    queue = queue_of("a1", "b1")
    middle, last = One("a2"), One("a3")
    queue.add(middle)
    queue.add(last)
    queue.remove(middle)
    assert [one.name for one in queue] == ["a1", "a3", "b1"]
    with pytest.raises(ValueError, match="not in deque"):
        queue.remove(middle)
    with pytest.raises(ValueError, match="not in deque"):
        queue.remove(One("z1"))
    assert len(queue) == 3


def test_the_last_of_a_group_takes_the_group_with_it() -> None:
    queue = queue_of("a1")
    [one] = queue
    queue.remove(one)
    assert len(queue) == 0
    assert served(queue) == ""
    queue.add(one)
    assert served(queue) == "a1"


def test_it_may_be_changed_while_it_is_walked() -> None:
    queue = queue_of("A1", "a1", "a2", "b1")
    for one in queue:
        queue.remove(one)
    assert len(queue) == 0


def test_the_last_of_the_longest_group_can_wait_and_nobody_who_is_urgent() -> None:
    last = queue_of("a1", "b1", "b2", "A1", "A2", "A3").last_that_can_wait()
    assert last is not None
    assert last.name == "b2"
    assert queue_of("A1", "B1").last_that_can_wait() is None
    assert queue_of().last_that_can_wait() is None


@dataclass
class Turns:
    """Watches that nobody is passed over: for each group that could be served, who was served since it could."""

    passed: dict[tuple[bool, str], set[str]]

    def check(self, queue: FairQueue[One], waits: set[str], taken: One) -> None:
        could = {(one.is_urgent, one.group) for one in queue if one.group not in waits}
        self.passed = {key: groups for key, groups in self.passed.items() if key in could}
        assert taken.is_urgent or not any(is_urgent for is_urgent, _ in could)
        for key in could - {(taken.is_urgent, taken.group)}:
            groups = self.passed.setdefault(key, set())
            if key[0] == taken.is_urgent:
                assert taken.group not in groups, f"{taken.group} was served twice while {key[1]} waited"
                groups.add(taken.group)
        self.passed.pop((taken.is_urgent, taken.group), None)


_STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from("abcd"), st.booleans()),
    st.tuples(st.just("take"), st.just(""), st.just(False)),
    st.tuples(st.just("ready"), st.sampled_from("abcd"), st.booleans()),
)


@given(st.lists(_STEPS, max_size=150))
def test_nobody_is_served_twice_while_another_is_not_served(steps: list[tuple[str, str, bool]]) -> None:
    queue: FairQueue[One] = FairQueue()
    turns, waits = Turns({}), set[str]()
    for number, (what, group, flag) in enumerate(steps):
        if what == "add":
            queue.add(One(f"{group}{number}", flag))
        elif what == "ready":
            (waits.discard if flag else waits.add)(group)
            turns.passed = {key: groups for key, groups in turns.passed.items() if key[1] not in waits}
        else:
            expected = any(one.group not in waits for one in queue)
            taken = queue.take(lambda one: one.group not in waits)
            assert (taken is not None) == expected
            if taken is not None:
                turns.check(queue, waits, taken)
    waits.clear()
    count = len(queue)
    assert len(served(queue).split()) == count
