"""Word search without FTS5: BM25 in Python, over a limited number of lines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from mud_assistant.assistant.memory.recall.words import split_words, stem_word

#: So many of the newest lines are searched.
MOST_LINES = 2000
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75


def rank_by_words(terms: Sequence[str], lines: Sequence[tuple[int, str]], limit: int) -> list[int]:
    """Return the rows of the lines (row, text) that hold a term, best first."""
    wanted = {stem_word(term) for term in terms}
    counts = {row: Counter(map(stem_word, split_words(text))) for row, text in lines}
    in_lines = Counter(stem for count in counts.values() for stem in wanted if stem in count)
    sizes = {row: count.total() for row, count in counts.items()}
    usual = max(1.0, sum(sizes.values()) / max(1, len(sizes)))
    weights = {stem: math.log(1 + (len(lines) - n + 0.5) / (n + 0.5)) for stem, n in in_lines.items()}

    def score(row: int) -> float:
        length = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * sizes[row] / usual)
        found = counts[row]
        return sum(w * found[stem] * (_SATURATION + 1) / (found[stem] + length) for stem, w in weights.items())

    scored = sorted(((score(row), row) for row in counts), reverse=True)
    return [row for worth, row in scored[:limit] if worth > 0]
