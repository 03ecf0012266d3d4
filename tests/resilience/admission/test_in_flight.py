from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.resilience.admission.capacity import InFlight, InFlightConfig


def full(cap: InFlight) -> list[int]:
    """The numbers of as many requests as the cap lets out now."""
    numbers = []
    while not cap.is_full:
        numbers.append(cap.enter())
    return numbers


def answered(cap: InFlight, count: int) -> None:
    for _ in range(count):
        cap.succeeded()
        cap.leave()


def test_it_begins_at_the_first_and_no_higher_than_the_most() -> None:
    assert InFlight().limit == 8
    assert InFlight(InFlightConfig(most=3)).limit == 3
    assert len(full(InFlight())) == 8


def test_every_success_makes_room_for_one_more_until_the_most() -> None:
    cap = InFlight(InFlightConfig(most=10, first=8))
    full(cap)
    answered(cap, 1)
    assert cap.limit == 9
    full(cap)
    answered(cap, 3)
    assert cap.limit == 10


def test_a_cap_that_is_not_used_does_not_grow() -> None:
    cap = InFlight()
    for _ in range(50):
        cap.enter()
        answered(cap, 1)
    assert cap.limit == 8


def test_throttling_halves_it_once_for_all_that_were_on_their_way() -> None:
    cap = InFlight()
    numbers = full(cap)
    for number in numbers:
        cap.throttled(number)
        cap.leave()
    assert cap.limit == 4
    late = cap.enter()
    cap.throttled(late)
    assert cap.limit == 2


def test_it_never_falls_below_the_least() -> None:
    cap = InFlight(InFlightConfig(least=2))
    for _ in range(10):
        cap.throttled(cap.enter())
        cap.leave()
    assert cap.limit == 2
    assert not cap.is_full


def test_after_throttling_a_whole_round_makes_room_for_one_more() -> None:
    cap = InFlight()
    cap.throttled(cap.enter())
    cap.leave()
    assert cap.limit == 4
    rounds = 0
    while cap.limit < 5:
        answered(cap, len(full(cap)))
        rounds += 1
    assert (rounds, cap.limit) == (2, 5)


def test_what_nothing_is_learned_from_changes_nothing() -> None:
    cap = InFlight()
    full(cap)
    cap.leave()
    assert cap.limit == 8
    assert cap.used == 7
    assert not cap.is_full


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 5), st.lists(st.sampled_from("+-t"), max_size=200))
def test_it_stays_within_its_bounds_whatever_comes(most: int, first: int, least: int, steps: list[str]) -> None:
    least = min(least, most)
    cap = InFlight(InFlightConfig(most, max(first, least), least))
    for step in steps:
        number = cap.enter()
        if step == "+":
            cap.succeeded()
        elif step == "t":
            cap.throttled(number)
        cap.leave()
        assert least <= cap.limit <= most
    assert cap.used == 0
