"""The order of what was found: lists joined by rank, names, equal lines once. All of it is pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

#: How slowly a place further down a list counts less.
_SLOWNESS = 60
#: How much more a line counts that is by or about a person whom the query names, or of the time it asks for.
FAVOURED = 1.15
#: So many lines of one stranger stand among the first, where others fit as well.
_OF_ONE_STRANGER = 2
#: With fewer speakers than this among what was found it is a talk of a few, and nobody is a stranger.
FEWEST_SPEAKERS = 3


@dataclass(frozen=True, slots=True)
class RankedLine:
    """A line that fits. `text` is how it begins; `size` is how long it is, in characters.

    `fits` are the stems of the query that are in it, `stems` are those of the line itself.
    """

    row: int
    id: str
    at: float
    who: str
    text: str
    audience: int = 0
    about: frozenset[str] = frozenset()
    size: int = 0
    fits: frozenset[str] = frozenset()
    stems: frozenset[str] = field(default=frozenset(), repr=False)


def fuse_ranks(lists: Sequence[tuple[float, Sequence[int]]]) -> dict[int, float]:
    """Join lists of rows, each with its weight, by reciprocal rank. More is better."""
    scores: dict[int, float] = {}
    for weight, rows in lists:
        for place, row in enumerate(rows, 1):
            scores[row] = scores.get(row, 0.0) + weight / (_SLOWNESS + place)
    return scores


def order_lines(
    lines: Sequence[RankedLine], scores: Mapping[int, float], favours: Sequence[Callable[[RankedLine], bool]] = ()
) -> list[RankedLine]:
    """Return the lines best first, the newer of two equals first, each text of one person once.

    Each of `favours` that is true of a line makes it count more: it is by somebody named, or from the time asked for.
    """

    def score(line: RankedLine) -> float:
        return scores[line.row] * math.prod(FAVOURED for favour in favours if favour(line))

    once: dict[tuple[str, str, int], RankedLine] = {}
    best: dict[tuple[str, str, int], float] = {}
    for line in lines:
        key = (line.who, " ".join(line.text.casefold().split()), line.size)
        best[key] = max(best.get(key, 0.0), score(line))
        if key not in once or (line.at, line.row) > (once[key].at, once[key].row):
            once[key] = line
    return [once[key] for key in sorted(once, key=lambda key: (-best[key], -once[key].at, -once[key].row))]


def keep_first(lines: Sequence[RankedLine], kept: Sequence[RankedLine], places: int) -> list[RankedLine]:
    """Let the lines `kept` stand among the first `places`, where the last of the others make room for them."""
    first = list(lines[:places])
    for line in kept:
        if line not in first and (others := [other for other in first if other not in kept]):
            first.remove(others[-1])
            first.append(line)
    return first + [line for line in lines if line not in first]


def spread_speakers(lines: Sequence[RankedLine], limit: int, known: frozenset[str]) -> list[RankedLine]:
    """Let one stranger have two of the first lines at most, where a line of another fits as many words of the query.

    `known` are those who ask or hear, and those the query names: they are no strangers. Among two speakers nobody is
    held back.
    """
    if len({line.who for line in lines if line.who}) < FEWEST_SPEAKERS:
        return list(lines)
    first: list[RankedLine] = []
    rest = list(lines)
    count: Counter[str] = Counter()
    while rest and len(first) < limit:
        line = rest[0]
        if line.who and line.who not in known and count[line.who] >= _OF_ONE_STRANGER:
            line = next(
                (
                    other
                    for other in rest
                    if count[other.who] < _OF_ONE_STRANGER and len(other.fits) >= max(1, len(line.fits))
                ),
                line,
            )
        rest.remove(line)
        first.append(line)
        count[line.who] += 1
    return first + rest
