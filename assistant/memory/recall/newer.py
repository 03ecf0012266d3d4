"""Newer before older: which of the lines found tell of the same thing, and in which order they stand. It is pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from mud_assistant.assistant.memory.recall.rank import RankedLine
from mud_assistant.assistant.memory.recall.words import speaks_of_change

#: So many of the best lines may change places: none of them is lost by it. Among more of them, lines that only resemble
#: one another pushed out what was asked for, in talks where people do the same kinds of thing again and again.
CLOSEST = 5
#: So many of the best lines tell which words are rare among them.
COMPARED = 20
#: Lines of one person that tell of the same thing: the share of the rarer words that both have.
_SAME_THING = 0.5
_FEWEST_SHARED = 2
#: A word in so many of them, or in half of them, is still a rare one.
_RARE = 3
Test = Callable[[RankedLine, RankedLine], bool]


def put_newer_first(
    lines: Sequence[RankedLine], asked: frozenset[str], later: Collection[tuple[int, int]]
) -> tuple[list[RankedLine], list[tuple[str, str]]]:
    """Move a newer line before an older one among the very best, where both may tell of the same thing.

    Return the lines, and the ids (newer, older) of those of which the newer corrects the other. What somebody else said
    later may stand first, but corrects nobody. `asked` are the stems of the query. `later` are pairs of rows (older,
    newer) that are known to tell of the same thing.
    """
    head, rare = list(lines[:CLOSEST]), _find_rare(lines[:COMPARED])

    def corrects(newer: RankedLine, older: RankedLine) -> bool:
        """Tell whether both answer the whole query, share most of their rarer words, or the newer tells of a change."""
        if not _share_subject(newer, older):
            return False
        if asked and asked <= newer.fits & older.fits:
            return True
        shared = len(newer.stems & older.stems & rare)
        least = _SAME_THING * min(len(newer.stems & rare), len(older.stems & rare))
        is_known = (older.row, newer.row) in later or newer.fits & older.fits & asked
        return shared >= max(_FEWEST_SHARED, least) or bool(is_known and speaks_of_change(newer.text))

    def may_tell_more(newer: RankedLine, older: RankedLine) -> bool:
        matter = newer.fits & older.fits & asked
        if (older.row, newer.row) in later or (matter and speaks_of_change(newer.text)):
            return True
        return bool(matter and _share_subject(newer, older)) or corrects(newer, older)

    head, pairs = _reorder(head, may_tell_more)
    by_id = {line.id: line for line in head}
    return head + list(lines[CLOSEST:]), [pair for pair in pairs if corrects(*(by_id[each] for each in pair))]


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
