"""Six hundred ways of asking for something later, and as many lines that ask for nothing: `ways_of_asking.py`.

They were written in different manners (terse, chatty, old, learners') before the grammar was tried on them, in five
lots, and the grammar was mended after each; at first sight it knew 76, 65, 71, 92 and 88 of a hundred.
"""

from collections import defaultdict

import pytest

from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.language.later.beyond import asks_too_much
from mud_assistant.assistant.language.later.listed_goals import listed
from mud_assistant.assistant.language.several import requests_in
from mud_assistant.assistant.loop.promise_goals import NAMES_TIME
from tests.assistant.language.ways_of_asking import LINES

#: What each may be taken for: "tell me when Ann comes" is a reminder as well.
KINDS = {
    "remind": {GoalKind.REMIND, GoalKind.TELL},
    "tell": {GoalKind.REMIND, GoalKind.TELL},
    "mind": {GoalKind.CHORE},
    "come": {GoalKind.COME},
    "wait": {GoalKind.WAIT},
}
#: Of a hundred lines of a kind so many are known.
LEAST = 95


def lines() -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    kind = ""
    for line in LINES.splitlines():
        if line.startswith("# "):
            kind = line[2:]
        else:
            found[kind].append(line)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_nearly_every_way_of_asking_is_known(kind: str) -> None:
    asked = lines()[kind]
    missed = [line for line in asked if not KINDS[kind] & {one.kind for one in requests_in(line)}]
    assert len(missed) <= len(asked) * (100 - LEAST) / 100, missed
    # The cheap look at a line that comes first lets all of them through.
    assert [line for line in asked if line not in missed and not NAMES_TIME.search(line)] == []


def test_harmless_lines_ask_for_nothing() -> None:
    harmless = lines()["none"]
    assert [(line, listed(one)) for line in harmless for one in requests_in(line)] == []
    assert [line for line in harmless if asks_too_much(line)] == []


@pytest.mark.parametrize(
    "line",
    [
        "Sage, remind me when the bell rings", "wake me when the ship comes", "wait here until the rain stops",
        "if the bell rings, wake me", "come back when the moon is full", "bring me an ale at noon",
        "lock the gate every night", "Sage, can you cook supper at six?", "tell me as soon as the bread is done",
    ],
)  # fmt: skip
def test_what_nobody_can_watch_or_do_later_is_known_as_such(line: str) -> None:
    assert requests_in(line) == ()
    assert asks_too_much(line)
