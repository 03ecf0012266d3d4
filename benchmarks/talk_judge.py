"""Judges played talks by rule, without a model: whether a line was answered, in whose words, and what was done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from benchmarks.talk_stage import Item

#: An answer repeats a line from this likeness on, or with so many of its words in a row; shorter lines may be returned.
LIKENESS, WORDS_IN_A_ROW, SHORT_WORDS = 0.75, 6, 5
#: The whole of a line counts from so many words.
WHOLE_WORDS = 3
#: So many words in a row of an example are the example.
EXAMPLE_WORDS = 5
#: Deeds that answer by themselves where a deed was asked for.
_DEEDS = ("room", "took", "gave", "tool")


@dataclass(slots=True)
class Score:
    """How a file of items came out. Each category has its items, how many are right, and what was wrong how often."""

    items: int = 0
    right: int = 0
    categories: dict[str, tuple[int, int, Counter[str]]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    prompt_tokens: list[float] = field(default_factory=list)
    output_tokens: list[float] = field(default_factory=list)


def score(items: Sequence[Item], records: Mapping[str, Mapping[str, Any]]) -> Score:
    """Judge the records of these items; what has no record counts as an error."""
    found = Score()
    for item in items:
        record = records.get(item.id, {"error": "not played"})
        wrong = judged(item, record)
        all_, right, labels = found.categories.get(item.category, (0, 0, Counter()))
        found.categories[item.category] = (all_ + 1, right + (not wrong), labels + Counter(wrong))
        found.items, found.right = found.items + 1, found.right + (not wrong)
        for turn in record.get("turns", ()):
            if turn["words"] or turn["acts"]:
                found.seconds.append(turn["seconds"])
                found.prompt_tokens += turn["prompt_tokens"]
                found.output_tokens.append(turn["output_tokens"])
    return found


def judged(item: Item, record: Mapping[str, Any]) -> set[str]:
    """Name what is wrong with a record: error, silent, spoke, parrot, example, said, missed, way, act; or nothing."""
    if "turns" not in record:
        return {"error"}
    return set().union(*judged_turns(item, record))


def judged_turns(item: Item, record: Mapping[str, Any]) -> list[set[str]]:
    """Name what is wrong in each turn of a record; no turns when it was not played."""
    wrong: list[set[str]] = []
    own = _grams(_told(item.written), EXAMPLE_WORDS)
    examples = {gram for text in record.get("examples", ()) for gram in _grams(text, EXAMPLE_WORDS)} - own
    heard: list[str] = []
    for turn, answer in zip(item.turns, record.get("turns") or (), strict="turns" in record):
        now = [line["text"] for line in turn["heard"]]
        heard += now
        talk = {gram for line in heard for gram in _grams(line, EXAMPLE_WORDS)}
        wrong.append(_judged_turn(turn["expect"], answer, now, examples - talk))
    return wrong


def _judged_turn(
    expect: Mapping[str, Any], answer: Mapping[str, Any], now: Sequence[str], examples: set[tuple[str, ...]]
) -> set[str]:
    spoken = [one for one in answer["words"] if one["how"] != "emote"]
    text = " ".join(one["text"] for one in spoken)
    done = {act["tool"] for act in answer["acts"] if act["ok"]}
    if expect.get("silent"):
        return {"spoke"} if answer["words"] else set()
    if not text and not (done and any(key in expect for key in _DEEDS)):
        return {"silent"} if expect else set()
    wrong = {"parrot"} if any(repeats(text, line) for line in now) else set()
    if _grams(text, EXAMPLE_WORDS) & examples:
        wrong.add("example")
    if any(_found(pattern, text) for key in ("none", "mirror") for pattern in expect.get(key, ())):
        wrong.add("said")
    wanted = expect.get("any")
    if (wanted and not any(_found(one, text) for one in wanted)) or not all(
        _found(one, text) for one in expect.get("all", ())
    ):
        wrong.add("missed")
    if "way" in expect and any(one["how"] != expect["way"] for one in spoken):
        wrong.add("way")
    return wrong if _is_done(expect, answer, done) else wrong | {"act"}


def _is_done(expect: Mapping[str, Any], answer: Mapping[str, Any], done: set[str]) -> bool:
    """Whether the world is afterwards as it was asked to be."""
    if "room" in expect and answer["room"] != expect["room"]:
        return False
    if "took" in expect and expect["took"] not in answer["carried"]:
        return False
    if "gave" in expect and expect["gave"][0] not in answer["held"].get(expect["gave"][1], ()):
        return False
    return "tool" not in expect or bool(done & set(expect["tool"]))


def repeats(said: str, line: str) -> bool:
    """Whether what was said is the line that was heard, nearly word for word or in a long piece."""
    mine, theirs = _words(said), _words(line)
    if len(theirs) >= WHOLE_WORDS and f" {' '.join(theirs)} " in f" {' '.join(mine)} ":
        return True
    if len(theirs) < SHORT_WORDS:
        return False
    alike = SequenceMatcher(None, mine, theirs, autojunk=False).ratio() > LIKENESS
    return alike or bool(_grams(said, WORDS_IN_A_ROW) & _grams(line, WORDS_IN_A_ROW))


def _told(place: Mapping[str, Any]) -> str:
    """All that the place says of itself."""
    parts = [str(place.get("name", "")), str(place.get("persona", ""))]
    for room in place["rooms"]:
        parts += [room["name"], room.get("description", ""), *room.get("things", {}).values()]
    return " ".join(parts)


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _grams(text: str, size: int) -> set[tuple[str, ...]]:
    found = _words(text)
    return {tuple(found[at : at + size]) for at in range(len(found) - size + 1)}
