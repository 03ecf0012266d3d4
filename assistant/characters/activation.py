"""Finds the lore that what is perceived brings up. Deterministic, and pure.

A key matches whole words without regard to case, a key of several words as a phrase. Keys of scripts that are written
without spaces match anywhere. All keys are looked for in one pass, so that a line costs its own length, and neither the
entries of the book nor what their keys have in common.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from msgspec import Struct, field

from mud_assistant.assistant.characters.character import MAX_AFTER, Lorebook, LoreEntry, estimate_tokens
from mud_assistant.tools.text.key_search import KeySearch

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


#: Per cent.
_ALWAYS = 100


class _Key(NamedTuple):
    """A key as it is looked for. `words` are folded unless `exact`; with `anywhere` it is one text, found anywhere."""

    words: tuple[str, ...]
    exact: bool
    anywhere: bool


class _Scan:
    """What one scan knows: the keys that were found, by which key each entry is up, and what chance left out."""

    def __init__(self, matched: dict[_Key, None], spoken: int) -> None:
        self.matched = matched
        self.spoken = spoken
        self.why: dict[str, str] = {}
        self.not_drawn: set[int] = set()


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
        #: By the number of the entry: its secondary, additional and excluded keys.
        self.further: dict[int, tuple[tuple[_Key, ...], ...]] = {}
        for number, entry in enumerate(lorebook.entries):
            for text in entry.keys:
                if (key := _key(text, entry)) is not None:
                    self.brings.setdefault(key, []).append((number, text))
            lists = (entry.secondary, entry.additional, entry.excluded)
            if any(lists):
                read = (filter(None, (_key(text, entry) for text in texts)) for texts in lists)
                self.further[number] = tuple(map(tuple, read))
        further = (key for lists in self.further.values() for keys in lists for key in keys)
        every = dict.fromkeys([*self.brings, *further])
        self._anywhere = KeySearch((key.words[0], key) for key in every if key.anywhere and not key.exact)
        self._anywhere_exact = KeySearch((key.words[0], key) for key in every if key.anywhere and key.exact)
        self._exact = KeySearch((key.words, key) for key in every if key.exact and not key.anywhere)
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
        yield from self._anywhere_exact.find(text)


class LoreScanner:
    """Chooses the lore to show. `window` is that of the model, in tokens; `estimate` counts a text's.

    `random` draws for entries that are brought up only sometimes; without it they always are.
    """

    def __init__(
        self,
        index: LoreIndex,
        *,
        estimate: Callable[[str], int] = estimate_tokens,
        window: int = 8192,
        random: Random | None = None,
    ) -> None:
        self._random = random
        self._index = index
        lorebook = self.lorebook = index.lorebook
        self._entries = lorebook.entries
        wanted = lorebook.token_budget or min(window // WINDOW_SHARE, MAX_TOKENS)
        #: The most tokens of lore shown at once.
        self.budget = min(wanted, window // _LARGEST_SHARE)
        self._tokens = [estimate(entry.text) for entry in self._entries]
        self._ids = [entry.id for entry in self._entries]
        self._constant = [number for number, entry in enumerate(self._entries) if entry.constant]
        #: Whether any entry waits until the character has said so many lines.
        self.waits_for_lines = any(entry.after for entry in self._entries)

    def activate(
        self, lines: Sequence[str], already: Collection[str] = (), *, scene: str = "", spoken: int = MAX_AFTER
    ) -> Activated:
        """Return what the last lines bring up, without the entries whose ids are in `already`.

        `lines` are in the order in which they were perceived; as many as the book says are searched, and the `scene`.
        `spoken` is how many lines the character has said.
        """
        if not self.lorebook.entries:
            return Activated()
        heard = [*lines[max(0, len(lines) - self.lorebook.scan_depth) :], scene]
        scan = _Scan(dict.fromkeys(key for text in heard for key in self._index.keys_in(text)), spoken)
        why = scan.why
        constant = [number for number in self._constant if self._is_allowed(number, scan)]
        why.update((self._ids[number], "always") for number in constant)
        direct = self._brought(scan)
        reached = self._reached([*constant, *direct], scan) if self.lorebook.recursive else []
        found = [
            [number for number in group if self._ids[number] not in already] for group in (constant, direct, reached)
        ]
        entries, left_out, tokens = self._fitting(*found)
        shown = {self._ids[number] for group in found for number in group}
        return Activated(entries, {one: key for one, key in why.items() if one in shown}, left_out, tokens)

    def _brought(self, scan: _Scan) -> list[int]:
        """Return the numbers of the entries that the keys bring up and that were not up before."""
        found = []
        for key in scan.matched:
            for number, text in self._index.brings.get(key, ()):
                is_new = self._ids[number] not in scan.why and not self._entries[number].constant
                if is_new and self._is_allowed(number, scan):
                    scan.why[self._ids[number]] = text
                    found.append(number)
        return found

    def _is_allowed(self, number: int, scan: _Scan) -> bool:
        """Tell whether an entry may be brought up: by its further keys, by what was said, and by chance."""
        entry = self._entries[number]
        if scan.spoken < entry.after or number in scan.not_drawn:
            return False
        further = self._index.further.get(number)
        if further is not None:
            heard, additional, excluded = ([key in scan.matched for key in keys] for keys in further)
            if any(excluded) or (additional and not any(additional)) or not _is_logical(entry.logic, heard):
                return False
        if entry.probability == _ALWAYS or self._random is None:
            return True
        if self._random.random() * _ALWAYS < entry.probability:
            return True
        scan.not_drawn.add(number)
        return False

    def _reached(self, shown: Sequence[int], scan: _Scan) -> list[int]:
        """Return the numbers of the entries that the texts of others bring up."""
        found: list[int] = []
        latest = shown
        for _ in range(MAX_ROUNDS):
            scan.matched.update(dict.fromkeys(key for number in latest for key in self._index.within[number]))
            brought = self._brought(scan)
            for number in brought:
                if not self._entries[number].reached:
                    del scan.why[self._ids[number]]
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


def _is_logical(logic: str, heard: Sequence[bool]) -> bool:
    """Tell whether the secondary keys that were heard are as the entry wants them. It may have none."""
    if not heard:
        return True
    match logic:
        case "all":
            return all(heard)
        case "not_any":
            return not any(heard)
        case "not_all":
            return not all(heard)
    return any(heard)


def _key(text: str, entry: LoreEntry) -> _Key | None:
    """Return a key of an entry as it is looked for, None for a blank one."""
    written = unicodedata.normalize("NFC", text).strip()
    words = _WORD.findall(written)
    if not written:
        return None
    exact = entry.case_sensitive
    if not entry.whole_words:
        return _Key((written if exact else written.casefold(),), exact=exact, anywhere=True)
    if _UNSPACED.search(written) or not words:
        return _Key((written.casefold(),), exact=False, anywhere=True)
    return _Key(tuple(word if exact else word.casefold() for word in words), exact=exact, anywhere=False)
