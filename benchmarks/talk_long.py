"""A long talk with a small model: whether it answers at the end of 150 lines as well as at their beginning.

    python -m benchmarks.talk_long -- --provider embedded --model small

The same thirty lines stand at both ends; what lies between is small talk that nobody judges. It is one conversation, in
one perception stream. What stands behind `--` are the options of `mud-assistant trial`.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from benchmarks.figures import Figure, percentile
from benchmarks.talk import CANNOT_START, play
from benchmarks.talk_judge import judged_turns
from benchmarks.talk_stage import Item, Turn
from mud_assistant.assistant.worlds.embedded.place_file import place_of

LINES = Path(__file__).parent / "talk_long.jsonl"
#: Lines of the whole talk, and by how much the end may be worse than the beginning, in points of a hundred.
ALL_LINES, MOST_LOST = 150, 10.0
WHO = "Anna"
SMALL = ("--provider", "embedded", "--model", "small")
_OPENINGS = ("I think", "You know,", "Well,", "Today I heard that", "My mother says", "It seems", "Believe me,")
_MATTERS = (
    "the wind will turn before night.", "bread is dear this year.", "nobody walks the old path any more.",
    "the rye stood high last summer.", "the boys of the village are idle.", "it was a cold spring.",
    "the bridge needs new planks.", "a good rest does wonders.", "the market was full of strangers.",
    "geese are cleverer than people.", "the roof leaks again.", "honey is better than sugar.",
    "there was frost on the grass.",
)  # fmt: skip


def long_talk() -> Item:
    """Return the talk: the judged lines, small talk, and the judged lines again."""
    written, *judged = (json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines())
    chance = random.Random(22)  # noqa: S311  (the same small talk each time)
    pairs = [(opening, matter) for opening in _OPENINGS for matter in _MATTERS]
    between = [{"text": " ".join(pair), "expect": {}} for pair in chance.sample(pairs, ALL_LINES - 2 * len(judged))]
    turns = tuple(_turn(line) for line in (*judged, *between, *judged))
    return Item("long", "long", place_of(written, str(LINES)), (WHO,), turns, written)


def _turn(line: dict[str, Any]) -> Turn:
    return {"heard": [{"who": WHO, "how": "say", "text": line["text"]}], "expect": line["expect"]}


def shares(item: Item, record: dict[str, Any]) -> tuple[float, float, list[str]]:
    """Return how many of a hundred judged lines are right at the beginning and at the end, and what was wrong."""
    size = sum(bool(turn["expect"]) for turn in item.turns) // 2
    wrong = judged_turns(item, record)
    if not wrong:
        return 0.0, 0.0, [str(record.get("error", "not played"))]
    lines = [turn["heard"][0]["text"] for turn in item.turns]
    faults = [
        f"{number + 1}. {lines[number]}: {', '.join(sorted(found))}: {_words(record['turns'][number])}"
        for number, found in enumerate(wrong)
        if found
    ]
    first, last = (100 * sum(not found for found in part) / size for part in (wrong[:size], wrong[-size:]))
    return first, last, faults


def _words(turn: dict[str, Any]) -> str:
    return " / ".join(one["text"] for one in turn["words"]) or "(nothing)"


async def figures(reactor: Any, *, full: bool, model: Sequence[str] = SMALL) -> list[Figure]:
    """Play the talk; only in the full set."""
    if not full:
        return []
    item = long_talk()
    with tempfile.TemporaryDirectory() as folder:
        records = await play(reactor, [item], Path(folder) / "answers.jsonl", model)
    first, last, faults = shares(item, records["long"])
    print("\n".join(faults), file=sys.stderr)
    seconds = [turn["seconds"] for turn in records["long"].get("turns", ())]
    return [
        Figure("", "long talk: right of the first 30 lines", first, "%"),
        Figure("", "long talk: right of the last 30 of 150 lines", last, "%", first - MOST_LOST, at_least=True),
        Figure("", "long talk: a turn, median, wall time", percentile(seconds, 0.5), "s"),
    ]


async def _main(reactor: Any, model: Sequence[str]) -> None:
    try:
        for figure in await figures(reactor, full=True, model=model):
            print(f"{figure.name}: {figure.value} {figure.unit}")
    except CANNOT_START as error:
        print(f"benchmarks.talk_long: {error}", file=sys.stderr)
        raise SystemExit(2) from error


if __name__ == "__main__":
    options = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else SMALL
    react(lambda reactor: Deferred.fromCoroutine(_main(reactor, options)), ())
