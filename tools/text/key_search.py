"""Finds many keys in a text in one pass: an automaton of Aho and Corasick. Pure.

"Efficient string matching: an aid to bibliographic search", Communications of the ACM 18 (1975), 333-340. What a text
costs grows with its length alone, however many keys there are and however alike they begin.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
#: A pair of a node and a symbol is kept as one number.
_SYMBOL_BITS = 32


class KeySearch(Generic[Key]):
    """Keys by the symbols they are made of: the words of a phrase, or the characters of a text."""

    def __init__(self, keys: Iterable[tuple[Iterable[str], Key]]) -> None:
        self._symbols: dict[str, int] = {}
        self._next: dict[int, int] = {}
        #: By node: the keys that end there.
        self._ends: dict[int, list[Key]] = {}
        #: By node: where to go on when no edge fits, and the nearest node on that way at which keys end; 0 for none.
        self._fail = [0]
        self._nearest_end = [0]
        for symbols, key in keys:
            self._add(symbols, key)
        self._link()

    def find(self, symbols: Iterable[str]) -> Iterator[Key]:
        """Yield each key that stands in the symbols once, in the order of the ends of the first of each."""
        ids, edges, fail, told = self._symbols, self._next, self._fail, set[int]()
        node = 0
        for symbol in symbols:
            number = ids.get(symbol)
            if number is None:
                node = 0
                continue
            while (after := edges.get(node << _SYMBOL_BITS | number)) is None and node:
                node = fail[node]
            node = after or 0
            end = node if node in self._ends else self._nearest_end[node]
            while end and end not in told:
                told.add(end)
                yield from self._ends[end]
                end = self._nearest_end[end]

    def _add(self, symbols: Iterable[str], key: Key) -> None:
        node = 0
        for symbol in symbols:
            edge = node << _SYMBOL_BITS | self._symbols.setdefault(symbol, len(self._symbols))
            after = self._next.get(edge)
            if after is None:
                after = self._next[edge] = len(self._fail)
                self._fail.append(0)
                self._nearest_end.append(0)
            node = after
        if node:
            self._ends.setdefault(node, []).append(key)

    def _link(self) -> None:
        """Set `_fail` and `_nearest_end`, the nodes that are nearer to the start first."""
        below: dict[int, list[tuple[int, int]]] = {}
        for edge, after in self._next.items():
            below.setdefault(edge >> _SYMBOL_BITS, []).append((edge & (1 << _SYMBOL_BITS) - 1, after))
        waiting = deque([0])
        while waiting:
            node = waiting.popleft()
            for number, after in below.get(node, ()):
                waiting.append(after)
                if not node:
                    continue
                at = self._fail[node]
                while (found := self._next.get(at << _SYMBOL_BITS | number)) is None and at:
                    at = self._fail[at]
                fail = self._fail[after] = found or 0
                self._nearest_end[after] = fail if fail in self._ends else self._nearest_end[fail]
