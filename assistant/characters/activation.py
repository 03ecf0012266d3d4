"""Finds the lore that what is perceived brings up. Deterministic, and pure.

A key matches whole words without regard to case, a key of several words as a phrase. Keys of scripts that are written
without spaces match anywhere. All keys are looked for in one pass, so that a line costs its own length, and neither the
entries of the book nor what their keys have in common.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from assistant.characters.character import Lorebook, LoreEntry, estimate_tokens
from tools.text.key_search import KeySearch

#: How many tokens of lore are shown when the book does not say: a share of the window, at most so many.
WINDOW_SHARE, MAX_TOKENS = 8, 600
#: The share of the window that no book may exceed.
_LARGEST_SHARE = 4
#: How often the texts of entries are searched for the keys of others.
MAX_ROUNDS = 2
#: Letters with the marks that belong to them.
_WORD = re.compile(r"[\w\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0d7f\u1ab0-\u1aff]+")
#: Scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
)


class _Key(NamedTuple):
    """A key as it is looked for. `words` are folded unless `exact`; with `anywhere` it is one text, found anywhere."""

    words: tuple[str, ...]
    exact: bool
    anywhere: bool


class Activated(Struct, frozen=True):
    """The entries to show, in order. `why` has the key that matched by the entry's id; `left_out` did not fit."""

    entries: tuple[LoreEntry, ...] = ()
    why: dict[str, str] = field(default_factory=dict)
    left_out: tuple[LoreEntry, ...] = ()
    tokens: int = 0


class LoreIndex:
    """The keys of a lorebook, made ready for searching. Not for the reactor thread: a large book takes a second."""

    def __init__(self, lorebook: Lorebook) -> None:
        self.lorebook = lorebook
        #: By key: the numbers of the entries it brings up, each with the key as the entry has it.
        self.brings: dict[_Key, list[tuple[int, str]]] = {}
        #: By the number of the entry: its further keys.
        self.further: dict[int, tuple[_Key, ...]] = {}
        for number, entry in enumerate(lorebook.entries):
            for text in entry.keys:
                if (key := _key(text, entry)) is not None:
                    self.brings.setdefault(key, []).append((number, text))
            if further := tuple(filter(None, (_key(text, entry) for text in entry.secondary))):
                self.further[number] = further
        every = dict.fromkeys([*self.brings, *(key for keys in self.further.values() for key in keys)])
        self._anywhere = KeySearch((key.words[0], key) for key in every if key.anywhere)
        self._exact = KeySearch((key.words, key) for key in every if key.exact)
        self._folded = KeySearch((key.words, key) for key in every if not (key.exact or key.anywhere))
        entries = lorebook.entries if lorebook.recursive else ()
        #: By the number of the entry: the keys that stand in its own text, where texts may find others.
        self.within = [tuple(self.keys_in(entry.text)) if entry.reaches else () for entry in entries]

    def keys_in(self, text: str) -> Iterator[_Key]:
        """Yield the keys that stand in a text."""
        text = unicodedata.normalize("NFC", text)
        words = _WORD.findall(text)
        yield from self._exact.find(words)
        yield from self._folded.find(word.casefold() for word in words)
        yield from self._anywhere.find(text.casefold())


class LoreScanner:
    """Chooses the lore to show. `window` is that of the model, in tokens; `estimate` counts a text's."""

    def __init__(
        self, index: LoreIndex, *, estimate: Callable[[str], int] = estimate_tokens, window: int = 8192
    ) -> None:
        self._index = index
        lorebook = self.lorebook = index.lorebook
        self._entries = lorebook.entries
        wanted = lorebook.token_budget or min(window // WINDOW_SHARE, MAX_TOKENS)
        #: The most tokens of lore shown at once.
        self.budget = min(wanted, window // _LARGEST_SHARE)
        self._tokens = [estimate(entry.text) for entry in self._entries]
        self._ids = [entry.id for entry in self._entries]
        self._constant = [number for number, entry in enumerate(self._entries) if entry.constant]

    @property
    def constants(self) -> tuple[LoreEntry, ...]:
        """Return the entries that are always shown, in order; at most what the budget holds. They never change."""
        return self._fitting(self._constant, (), ())[0]

    def activate(self, lines: Sequence[str], already: Collection[str] = (), *, scene: str = "") -> Activated:
        """Return what the last lines bring up, without the entries whose ids are in `already`.

        `lines` are in the order in which they were perceived; as many as the book says are searched, and the `scene`.
        """
        if not self.lorebook.entries:
            return Activated()
        heard = [*lines[max(0, len(lines) - self.lorebook.scan_depth) :], scene]
        matched = dict.fromkeys(key for text in heard for key in self._index.keys_in(text))
        why = {self._ids[number]: "always" for number in self._constant}
        direct = self._brought(matched, matched, why)
        reached = self._reached(direct, matched, why) if self.lorebook.recursive else []
        found = [
            [number for number in group if self._ids[number] not in already]
            for group in (self._constant, direct, reached)
        ]
        entries, left_out, tokens = self._fitting(*found)
        shown = {self._ids[number] for group in found for number in group}
        return Activated(entries, {one: key for one, key in why.items() if one in shown}, left_out, tokens)

    def _brought(self, new: Iterable[_Key], matched: Collection[_Key], why: dict[str, str]) -> list[int]:
        """Return the numbers of the entries that the `new` keys bring up and that were not up before."""
        found = []
        for key in new:
            for number, text in self._index.brings.get(key, ()):
                if self._ids[number] not in why and self._is_allowed(number, matched):
                    why[self._ids[number]] = text
                    found.append(number)
        return found

    def _is_allowed(self, number: int, matched: Collection[_Key]) -> bool:
        further = self._index.further.get(number)
        if not further:
            return True
        heard = [key in matched for key in further]
        match self._entries[number].logic:
            case "all":
                return all(heard)
            case "not_any":
                return not any(heard)
            case "not_all":
                return not all(heard)
        return any(heard)

    def _reached(self, direct: Sequence[int], matched: dict[_Key, None], why: dict[str, str]) -> list[int]:
        """Return the numbers of the entries that the texts of others bring up."""
        found: list[int] = []
        latest: Sequence[int] = [*self._constant, *direct]
        for _ in range(MAX_ROUNDS):
            matched.update(dict.fromkeys(key for number in latest for key in self._index.within[number]))
            brought = self._brought(matched, matched, why)
            for number in brought:
                if not self._entries[number].reached:
                    del why[self._ids[number]]
            latest = [number for number in brought if self._entries[number].reached]
            found += latest
            if not latest:
                break
        return found

    def _fitting(
        self, constant: Iterable[int], direct: Iterable[int], reached: Iterable[int]
    ) -> tuple[tuple[LoreEntry, ...], tuple[LoreEntry, ...], int]:
        """Return the entries that fit the budget, those that do not, and the tokens of the first."""
        ranked = [number for group in (constant, direct, reached) for number in sorted(group, key=self._rank)]
        kept, left_out, tokens = [], [], 0
        for number in ranked:
            if tokens + self._tokens[number] <= self.budget:
                tokens += self._tokens[number]
                kept.append(number)
            else:
                left_out.append(number)
        kept.sort(key=lambda number: (self._entries[number].order, number))
        return tuple(self._entries[one] for one in kept), tuple(self._entries[one] for one in left_out), tokens

    def _rank(self, number: int) -> tuple[int, int]:
        entry = self._entries[number]
        return -(entry.order if entry.priority is None else entry.priority), number


def _key(text: str, entry: LoreEntry) -> _Key | None:
    """Return a key of an entry as it is looked for, None for a blank one."""
    written = unicodedata.normalize("NFC", text).strip()
    words = _WORD.findall(written)
    if not written:
        return None
    if _UNSPACED.search(written) or not words:
        return _Key((written.casefold(),), exact=False, anywhere=True)
    exact = entry.case_sensitive
    return _Key(tuple(word if exact else word.casefold() for word in words), exact=exact, anywhere=False)
