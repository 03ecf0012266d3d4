"""The long talk: what is played, and how its two ends are compared."""

from __future__ import annotations

from typing import Any

from benchmarks.talk_long import ALL_LINES, long_talk, shares

GOOD = {
    "Who are you?": "I am Greta, the miller.",
    "What is in the sack?": "Rye from Oldham.",
}


def answered(texts: list[str]) -> dict[str, Any]:
    """A record in which each line has one spoken answer."""
    turns = [
        {
            "words": [{"how": "say", "text": text}],
            "acts": [],
            "room": "floor",
            "held": {},
            "carried": [],
            "seconds": 1.0,
        }
        for text in texts
    ]
    return {"id": "long", "turns": turns}


def test_the_same_lines_stand_at_both_ends_of_the_talk() -> None:
    turns = long_talk().turns
    assert len(turns) == ALL_LINES
    judged = [turn for turn in turns if turn["expect"]]
    assert judged == [*turns[:30], *turns[-30:]]
    assert turns[:30] == turns[-30:]


def test_the_ends_are_compared_line_by_line() -> None:
    item = long_talk()
    lines = [turn["heard"][0]["text"] for turn in item.turns]
    first, last, faults = shares(item, answered([GOOD.get(line, "Hm, well now.") for line in lines]))
    assert first == last > 0
    worse = [GOOD.get(line, "Hm, well now.") for line in lines]
    worse[-29] = "Hm."
    assert shares(item, answered(worse))[1] < last
    assert any(fault.startswith("122. Who are you?: missed") for fault in shares(item, answered(worse))[2])
    assert len(faults) < 60


def test_what_was_not_played_is_nothing_right() -> None:
    assert shares(long_talk(), {"id": "long", "error": "no model"})[:2] == (0.0, 0.0)
