"""Newer before older: which of the lines found tell of the same thing, and in which order they stand. It is pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from assistant.memory.recall.rank import RankedLine
from assistant.memory.recall.words import speaks_of_change

#: So many of the best lines are compared with one another.
COMPARED = 20
#: Among so many of the best ones less is enough to change places, for none of them is lost by it.
_CLOSEST = 5
#: Lines of one person that tell of the same thing: the share of the rarer words that both have.
_SAME_THING = 0.5
_FEWEST_SHARED = 2
#: A word in so many of them, or in half of them, is still a rare one.
_RARE = 3
#: Tells of two lines whether they mean nearly the same.
Alike = Callable[[RankedLine, RankedLine], bool]
Test = Callable[[RankedLine, RankedLine], bool]


def put_newer_first(
    lines: Sequence[RankedLine], asked: frozenset[str], alike: Alike
) -> tuple[list[RankedLine], list[tuple[str, str]]]:
    """Move a newer line before an older one about the same thing. Return the lines, and the ids (newer, older).

    `asked` are the stems of the query. Lines that hold all of them answer it alike, so the newer one counts.
    """
    head = list(lines[:COMPARED])
    rare = _find_rare(head)

    def is_same_thing(newer: RankedLine, older: RankedLine) -> bool:
        if not _share_subject(newer, older):
            return False
        if asked and asked <= newer.fits and asked <= older.fits:
            return True
        shared = len(newer.stems & older.stems & rare)
        least = _SAME_THING * min(len(newer.stems & rare), len(older.stems & rare))
        return (shared >= _FEWEST_SHARED and shared >= least) or (shared > 0 and alike(newer, older))

    head, pairs = _reorder(head, is_same_thing)
    return head + list(lines[COMPARED:]), pairs


def put_changes_first(
    lines: Sequence[RankedLine], asked: frozenset[str], later: Collection[tuple[int, int]]
) -> tuple[list[RankedLine], list[tuple[str, str]]]:
    """Move a newer line before an older one among the very best, where both may tell of the same thing.

    Return the lines, and the ids (newer, older) of those of which the newer speaks of a change. What somebody else
    said later may stand first, but corrects nobody. `asked` is as in `put_newer_first`; `later` are pairs of rows
    (older, newer) that are known to tell of the same thing.
    """
    head, rare = list(lines[:_CLOSEST]), _find_rare(lines[:COMPARED])

    def may_tell_more(newer: RankedLine, older: RankedLine) -> bool:
        matter = newer.fits & older.fits & asked
        if (older.row, newer.row) in later:
            return True
        if matter and _share_subject(newer, older):
            return True
        related = matter or (_share_subject(newer, older) and newer.stems & older.stems & rare)
        return bool(related) and speaks_of_change(newer.text)

    head, pairs = _reorder(head, may_tell_more)
    by_id = {line.id: line for line in head}
    changes = [
        (newer, older)
        for newer, older in pairs
        if _share_subject(by_id[newer], by_id[older]) and speaks_of_change(by_id[newer].text)
    ]
    return head + list(lines[_CLOSEST:]), changes


def _reorder(lines: Sequence[RankedLine], test: Test) -> tuple[list[RankedLine], list[tuple[str, str]]]:
    """Move each newer line before the older ones that the test pairs it with. Return the lines, and those pairs."""
    ordered, pairs = list(lines), []
    for older in lines:
        for newer in lines:
            if newer.at <= older.at or not test(newer, older):
                continue
            pairs.append((newer.id, older.id))
            place = ordered.index(older)
            if ordered.index(newer) > place:
                ordered.remove(newer)
                ordered.insert(place, newer)
    return ordered, pairs


def _find_rare(lines: Sequence[RankedLine]) -> frozenset[str]:
    seen = Counter(stem for line in lines for stem in line.stems)
    return frozenset(stem for stem, count in seen.items() if count <= max(_RARE, len(lines) // 2))


def _share_subject(first: RankedLine, second: RankedLine) -> bool:
    return not ({first.who, *first.about} - {""}).isdisjoint({second.who, *second.about})
