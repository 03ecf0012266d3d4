"""What somebody said later of the same thing, in words that the query does not hold.

Who asks where somebody sleeps finds "I sleep in the loft of the Black Ram", but not "The Black Ram has burned down".
The words that few lines hold lead from the one to the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mud_assistant.assistant.memory.recall.candidates import CandidateLists, Scope
from mud_assistant.assistant.memory.recall.rank import RankedLine
from mud_assistant.assistant.memory.recall.words import drop_stop_words, find_capitalised, split_words

#: What was said later is looked for from so many of the best lines.
FOLLOWED = 2
#: So many lines are taken for each of them.
_MOST = 1
#: A word in more lines than this leads nowhere.
_RARE = 4
_FEWEST_SHARED = 2
_MOST_WORDS = 24


def find_later(
    lists: CandidateLists, scope: Scope, best: Sequence[RankedLine], skip: Iterable[str]
) -> list[tuple[int, int]]:
    """Return pairs of rows: one of the `best`, and one of the same person that tells of the same thing later.

    `skip` are words that say nothing of a thing, such as the names of those who speak. Nothing is found in a language
    other than English, nor without full-text search.
    """
    if not lists.can_follow:
        return []
    ignored = set(skip)
    return [(line.row, row) for line in best[:FOLLOWED] if line.who for row in _follow(lists, scope, line, ignored)]


def _follow(lists: CandidateLists, scope: Scope, line: RankedLine, ignored: set[str]) -> list[int]:
    words = [word for word in drop_stop_words(split_words(line.text)) if word not in ignored][:_MOST_WORDS]
    rare = {word for word, count in lists.count_lines(words, _RARE + 1).items() if 1 < count <= _RARE}
    names = rare.intersection(find_capitalised(line.text))
    if not names and len(rare) < _FEWEST_SHARED:
        return []
    shared: dict[int, float] = {}
    for word in sorted(rare):
        for row in lists.said_later(scope, word, line):
            shared[row] = shared.get(row, 0) + (_FEWEST_SHARED if word in names else 1)
    fitting = [row for row, count in shared.items() if count >= _FEWEST_SHARED]
    return sorted(fitting, key=lambda row: (-shared[row], -row))[:_MOST]
