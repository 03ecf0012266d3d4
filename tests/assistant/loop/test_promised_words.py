"""What a character says when it keeps a promise, read aloud."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.events.goal import Goal, GoalKind
from mud_assistant.assistant.loop.goal_offers import KEPT
from mud_assistant.assistant.loop.keeping import NOT_BACK, words_of_goal
from mud_assistant.tools import Principal

ANN, BEA = Principal("player:1", "Ann"), Principal("player:2", "Bea")
REMIND, TELL = GoalKind.REMIND, GoalKind.TELL


def goal(kind: GoalKind, what: str, **more: Any) -> Goal:
    """Return what Ann asked for."""
    return Goal("g", kind, "", ANN, 0.0, what=what, **more)


@pytest.mark.parametrize(
    ("kept", "who", "words"),
    [
        (goal(REMIND, "the bread"), ANN, "Ann, you asked me to remind you: the bread."),
        (goal(REMIND, ""), ANN, "Ann, you asked me to remind you: it is time."),
        (goal(REMIND, "wake up"), ANN, "Ann, you asked me to wake you: it is time."),
        (goal(REMIND, "", whom_name="Bea"), ANN, "Ann, Bea is here."),
        (
            goal(REMIND, "you owe her money", whom_name="Bea"),
            ANN,
            "Ann, Bea is here. You asked me to remind you: you owe her money.",
        ),
        (
            goal(TELL, "dinner is ready", whom_name="Bea"),
            BEA,
            'Bea, Ann asked me to tell you: "dinner is ready"',
        ),
        (
            goal(TELL, "whether she has my book", whom_name="Bea"),
            BEA,
            'Bea, Ann wants to know: "whether she has my book"',
        ),
    ],
)
def test_what_is_said_is_english(kept: Goal, who: Principal, words: str) -> None:
    assert words_of_goal(kept, who) == words


def test_what_was_promised_is_quoted_as_it_was_said() -> None:
    told = KEPT.format(name="Ann", goal="remind you at dawn: the bread")
    assert told == 'You keep a promise. You said to Ann: "I will remind you at dawn: the bread."'
    assert f"I cannot: {NOT_BACK}." == "I cannot: a day is as long as I can wait."
