"""Makes a sheet of played talks for people to mark, who are not told which run an answer is from.

The answers of all runs stand on it in one shuffled row. Which number is whose stands in the key, a file of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.talk_stage import Item, Turn

# Any: JSON.
Record = Mapping[str, Any]

#: The marks of a scale: what a reader writes, its name, and what it means.
WORDS = (
    ("s", "sensible", "a player would take it. Silence too, where nobody spoke to the character"),
    ("d", "dull", "it says nothing: a stock phrase, an echo of the line, one word"),
    ("w", "wrong", "false, broken, to the wrong person, about something else, or a refusal without need"),
    ("n", "silent", "no answer, where one was due"),
)
NUMBERS = (
    ("0", "bad", "false, broken, about something else, or no answer where one was due"),
    ("1", "dull", "it says nothing: a stock phrase, an echo of the line, one word"),
    ("2", "sensible", "a player would take it"),
    ("3", "good", "a player would tell others of it"),
)
SCALES = {"words": WORDS, "3": NUMBERS}
#: How many turns before the line are shown.
TURNS_BEFORE = 8
#: Ways to speak to a character; a turn in which people only walk asks for no mark unless something is expected of it.
SPOKEN = frozenset({"say", "whisper", "page", "emote"})
#: Calls that nobody in the room sees, and those whose words stand among the words.
UNSEEN = SPOKEN | {"channel", "look", "inspect", "who", "remember", "recall", "noop"}
#: How a pose begins that only tells that a model is asked: no answer, and a matter of the machine.
NOTICES = ("thinks ...", "is waking up", "is still ")
_SAYS = {"say": "", "whisper": " whispers", "page": " pages", "channel": " says on a channel"}
_DOES = {"go": "goes", "goes to": "goes to", "comes": "comes in", "does": "types:"}
_HEAD = """# A talk to be read

Sheet: {id}

Write one of these behind each `Mark:`, and after it a remark if you like. Judge the answer, as the player whom it
was given to would, by what stands in its block and by the places below.

{meanings}
"""


class SheetError(Exception):
    """A sheet cannot be made or read; the message says what would be right."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to be read, with all that a reader is shown of it."""

    run: str
    item: str
    turn: int
    shown: str


def make_sheet(
    items: Sequence[Item], runs: Mapping[str, Mapping[str, Record]], file: Path, seed: int, scale: str
) -> Path:
    """Write the sheet, and return where its key is. `runs` has the records of each run by the ids of their items.

    Raises SheetError when an item has no answer in a run, or a sheet is there already: it may be filled in. Blocks.
    """
    key = file.with_name(f"{file.name}.key.json")
    for one in (file, key):
        if one.exists():
            raise SheetError(f"{one} is there already, perhaps with marks in it: name another file")
    answers = [answer for run, records in runs.items() for answer in _answers(items, run, records)]
    if not answers:
        raise SheetError("there is nothing to read: no line of these items is spoken to a character")
    Random(seed).shuffle(answers)  # noqa: S311  (an order, no secret)
    blocks = [f"## {number}\n\n{one.shown}\n\nMark:\n" for number, one in enumerate(answers, 1)]
    name = sha256("".join(blocks).encode()).hexdigest()[:8]
    meanings = "\n".join(f"- `{mark}`, {word}: {meaning}." for mark, word, meaning in SCALES[scale])
    head = _HEAD.format(id=name, meanings=meanings)
    file.write_text("\n".join([head, *_places(items), *blocks]), encoding="utf-8")
    owners = {str(number): [one.run, one.item, one.turn] for number, one in enumerate(answers, 1)}
    told = {"sheet": name, "seed": seed, "scale": scale, "answers": owners}
    key.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return key


def _answers(items: Sequence[Item], run: str, records: Mapping[str, Record]) -> Iterator[Answer]:
    """Every answer of a run. Raises SheetError."""
    if missing := [one.id for one in items if "turns" not in records.get(one.id, {})]:
        raise SheetError(
            f"{run} has no answer to {len(missing)} of {len(items)} items, {missing[0]} the first: "
            "play them, or read fewer with --sample"
        )
    for item in items:
        played = records[item.id]["turns"]
        if len(played) != len(item.turns):
            raise SheetError(f"{run}: {item.id} has {len(played)} turns there and {len(item.turns)} in the items")
        for at, turn in enumerate(item.turns):
            if turn.get("expect") or any(line["how"] in SPOKEN for line in turn["heard"]):
                yield Answer(run, item.id, at, "\n".join(_shown(item, played, at)))


def _shown(item: Item, played: Sequence[Record], at: int) -> Iterator[str]:
    """The block of one answer; what people said is quoted, so that no line of it is taken for a mark."""
    rooms = {room["key"]: room["name"] for room in item.written["rooms"]}
    first = item.written["rooms"][0]["key"]
    where = played[at].get("at") or (played[at - 1]["room"] if at else first)
    yield f"Place: {item.written['place']}, {rooms.get(where, where)}"
    before = range(max(0, at - TURNS_BEFORE), at)
    for number in before:
        yield from ("", "Before:") if number == before[0] else ()
        yield from _quoted([*_heard(item.turns[number]), *_answered(item, played[number])])
    yield from ("", "Heard:")
    yield from _quoted(_heard(item.turns[at]))
    yield from ("", "Answer:")
    yield from _quoted(_answered(item, played[at]) or ["(nothing)"])


def _heard(turn: Turn) -> list[str]:
    """What people said and did in a turn."""
    told = []
    for line in turn["heard"]:
        who, how, text = line["who"], line["how"], line["text"]
        if how in _DOES:
            told.append(f"({who} {_DOES[how]} {text}".rstrip() + ")")
        else:
            told.append(_spoken(who, how, text, line.get("to", "")))
    return told


def _answered(item: Item, played: Record) -> list[str]:
    """What the character said, and what the people there saw it do."""
    name = item.written.get("name", "the character")
    words = [
        _spoken(one.get("who", name), one["how"], one["text"])
        for one in played["words"]
        if one["how"] != "emote" or not one["text"].startswith(NOTICES)
    ]
    acts = [act for act in played["acts"] if act["ok"] and act["tool"] not in UNSEEN]
    return words + [f"({name} does: {' '.join([act['tool'], *map(str, act['args'].values())])})" for act in acts]


def _spoken(who: str, how: str, text: str, to: str = "") -> str:
    return f"{who} {text}" if how == "emote" else f"{who}{_SAYS[how]}{to and f' to {to}'}: {text}"


def _quoted(lines: Sequence[str]) -> Iterator[str]:
    """Each line as a quotation; an empty one between two keeps them apart where Markdown is shown."""
    for at, line in enumerate(lines):
        yield from (">",) if at else ()
        yield from (f"> {part}" for part in line.splitlines() or [""])


def _places(items: Sequence[Item]) -> Iterator[str]:
    """What is true in each place, and all that is heard of a talk that is too long to be shown in each block."""
    for place, written in {item.written["place"]: item.written for item in items}.items():
        rooms = {room["key"]: room["name"] for room in written["rooms"]}
        yield f"# Place: {place}\n"
        if written.get("persona"):
            yield f"The character is {written['name']}. {written['persona']}\n"
        for room in written["rooms"]:
            ways = [f"{way} to {rooms.get(to, to)}" for way, to in room.get("exits", {}).items()]
            things = [f"{thing} ({text})" for thing, text in room.get("things", {}).items()]
            told = [room.get("description", ""), _listed("Ways", ways), _listed("Things", things)]
            yield f"- **{room['name']}**: {' '.join(part for part in told if part)}"
        for person in written.get("residents", ()):
            yield f"- {person['name']}, in {rooms[person['room']]}: {person['description']}"
        yield ""
    for item in items:
        if len(item.turns) > TURNS_BEFORE:
            yield f"# All that is heard in {item.id}, in its order\n"
            yield from (f"- {line}" for turn in item.turns for line in _heard(turn))
            yield ""


def _listed(what: str, parts: Sequence[str]) -> str:
    return f"{what}: {'; '.join(parts)}." if parts else ""
