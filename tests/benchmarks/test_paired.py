"""Turns: whose it is, what a round's ratio is, and when there are twice as many rounds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import pytest

from benchmarks.paired import Rounds, Turn, compare, metered, over


class Scripted:
    """A subject whose turns take what is written, over and over; `log` gets its name at every turn."""

    def __init__(self, name: str, milliseconds: Sequence[float], log: list[str]) -> None:
        self._name = name
        self._costs = cycle(milliseconds)
        self._log = log
        self.closed = 0

    async def turn(self, seconds: float) -> Turn:
        self._log.append(self._name)
        return Turn(next(self._costs) / 1000, 1)

    async def close(self) -> None:
        self.closed += 1


async def turns(mine: Sequence[float], rounds: int, *, judged: bool) -> tuple[Rounds, list[str]]:
    """What came of a comparison with somebody who always takes a millisecond; the first of `mine` is the warm-up's."""
    log: list[str] = []
    subjects = {"mine": Scripted("mine", mine, log), "theirs": Scripted("theirs", [1.0], log)}
    measured = await compare(subjects, rounds, judged=[over("mine", "theirs")] if judged else [])
    assert [subject.closed for subject in subjects.values()] == [1, 1]
    return measured, log


async def test_the_order_turns_round_with_every_round_and_the_first_does_not_count() -> None:
    measured, log = await turns([9.0, 1.0, 1.0, 1.0], 3, judged=True)
    assert log == ["mine", "theirs", "theirs", "mine", "mine", "theirs", "theirs", "mine"]
    assert measured.each["mine"] == [1.0, 1.0, 1.0]


async def test_a_ratio_is_formed_within_its_round() -> None:
    measured, _ = await turns([1.0, 2.0, 3.0, 4.0], 3, judged=False)
    assert measured.ratios("mine", "theirs") == pytest.approx([2.0, 3.0, 4.0])
    assert measured.middle("mine") == pytest.approx(3.0)
    assert measured.told() == "mine 3 ms, theirs 1 ms"


@pytest.mark.parametrize(
    ("mine", "judged", "rounds"),
    [
        ([1.0], True, 4),
        ([0.5, 1.0, 1.5, 2.0, 2.5], True, 8),  # still noisy afterwards: that is all
        ([0.5, 1.0, 1.5, 2.0, 2.5], False, 4),
    ],
    ids=["calm", "noisy", "not judged"],
)
async def test_noise_takes_as_many_rounds_again_once(mine: list[float], judged: bool, rounds: int) -> None:
    measured, _ = await turns(mine, 4, judged=judged)
    assert len(measured.each["mine"]) == len(measured.each["theirs"]) == rounds


class Idle:
    """Volleys that use no CPU to speak of, and then a lot."""

    def __init__(self) -> None:
        self.resets = self.volleys = 0

    async def volley(self) -> int:
        self.volleys += 1
        sum(range(20_000))
        return 3

    async def reset(self) -> None:
        self.resets += 1


async def test_a_turn_is_whole_volleys_with_a_reset_before_each() -> None:
    subject = Idle()
    turn = await metered(subject, 0.002)
    assert subject.resets == subject.volleys
    assert turn.done == 3 * subject.volleys
    assert turn.seconds >= 0.002
    assert turn.each == pytest.approx(1000 * turn.seconds / turn.done)
