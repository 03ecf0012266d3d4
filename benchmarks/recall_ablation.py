"""What each list and each order of a search is good for: what is found when one of them is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from benchmarks.recall_scoring import Embed, Score, Watch, ask, fill_index, make_queries, mean, open_index
from benchmarks.recall_sets import cut_messages, make_talk, make_village
from benchmarks.recall_worlds import Row, read_rows, read_worlds
from mud_assistant.assistant.memory.recall import Vector, make_vector
from mud_assistant.assistant.memory.recall.search import LISTS, ORDERS
from mud_assistant.assistant.memory.recall.words import collect_stems

#: What is left out, one after the other: nothing at first.
PARTS = ("", *LISTS, *ORDERS)
#: The sets that are made anew each time.
GENERATED: Mapping[str, Callable[[], list[Row]]] = {"talk": make_talk, "village": make_village}
#: From this length on the messages of a file are no turns of a talk, in characters.
_LONG = 1_000
#: The numbers of a stand-in's vector.
_NUMBERS = 192


class Outcome(NamedTuple):
    """The recall@5 of a set when a part of the search was left out, with and without vectors. None: not measured."""

    part: str
    words: Score
    vectors: Score | None


def sets_of(names: Sequence[str]) -> dict[str, list[Row]]:
    """Return the sets by name. A name is that of a generated set or a file's; without any it is the generated ones.

    A file of long messages is two sets: as it is, and cut into the turns of a talk.
    """
    sets: dict[str, list[Row]] = {}
    for name in names or GENERATED:
        if name in GENERATED:
            sets[name] = GENERATED[name]()
            continue
        file = Path(name)
        sets[file.stem] = rows = read_rows(file)
        if any(len(str(row.get("text", ""))) > _LONG for row in rows):
            sets[f"{file.stem}, in turns"] = cut_messages(rows)
    return sets


def ablate(names: Sequence[str], path: Path, embed: Embed | None, url: str = "") -> tuple[dict[str, object], bool]:
    """Print what each part is good for on each set. Return it, and whether vectors find less than words on one."""
    outcomes = {name: leave_out(rows, path, embed, url=url) for name, rows in sets_of(names).items()}
    print(table(outcomes))
    result: dict[str, object] = {}
    worse = False
    for name, parts in outcomes.items():
        found = {part or "all": [recall_of(score) for score in scores if score] for part, *scores in parts}
        worse |= found["all"][0] > found["all"][-1]
        result[name] = found
    return result, worse


def leave_out(
    rows: Iterable[Row], path: Path, embed: Embed | None, parts: Sequence[str] = PARTS, url: str = ""
) -> list[Outcome]:
    """Ask a set with each of the parts left out; an empty part is the whole search."""
    scores: Mapping[str, tuple[Score, Score]] = {part: (Score(), Score()) for part in parts}
    for world in read_worlds(rows):
        index = open_index(path, "english", url)
        index.clear(world.name)
        fill_index(index, world, embed, Watch())
        for question, query in zip(world.questions, make_queries(world, embed), strict=True):
            for part, (words, vectors) in scores.items():
                less = replace(query, without=frozenset({part} - {""}))
                ask(index, world, question, replace(less, vector=None), words)
                if embed is not None:
                    ask(index, world, question, less, vectors)
        index.clear(world.name)
        index.close()
    return [Outcome(part, words, vectors if embed else None) for part, (words, vectors) in scores.items()]


def table(sets: Mapping[str, Sequence[Outcome]]) -> str:
    """Return the recall@5 of each set in per cent, with words and with vectors, and what changes without each part.

    In brackets is how often the newer of two facts stands first, where that was asked.
    """
    lines = [f"{'left out':10}" + "".join(f"{name[:24]:>26}" for name in sets)]
    whole = {name: outcomes[0] for name, outcomes in sets.items()}
    for place, part in enumerate([outcome.part for outcome in next(iter(sets.values()))]):
        cells = []
        for name, outcomes in sets.items():
            pairs = zip((whole[name].words, whole[name].vectors), outcomes[place][1:], strict=True)
            cells.append(" / ".join(_cell(all_of_it, less, part) for all_of_it, less in pairs if less and all_of_it))
        lines.append(f"{part or 'nothing':10}" + "".join(f"{cell:>26}" for cell in cells))
    return "\n".join(lines)


def _cell(whole: Score, less: Score, part: str) -> str:
    found = f"{100 * (recall_of(less) - recall_of(whole)):+.1f}" if part else f"{100 * recall_of(whole):.1f}"
    newer = mean(less.newer_first)
    return found if newer is None else f"{found} ({100 * newer:.0f})"


def recall_of(score: Score) -> float:
    """Return the recall@5 of a score."""
    return float(score.as_json()["recall@5"] or 0.0)


def stand_in(texts: Sequence[str]) -> list[Vector | None]:
    """Return vectors of the words of texts: lines that share most of their words mean nearly the same.

    They find nothing that words do not find, and do the harm that a model's vectors can do.
    """
    return [
        make_vector("words", [sum(column) for column in zip(*map(_numbers, collect_stems(text[:_LONG])), strict=True)])
        for text in texts
    ]


@lru_cache(maxsize=50_000)
def _numbers(stem: str) -> tuple[float, ...]:
    chance = Random(stem)  # noqa: S311 - not a secret
    weight = len(stem)  # longer words are rarer, and say more
    return tuple(weight * chance.gauss(0, 1) for _ in range(_NUMBERS))
