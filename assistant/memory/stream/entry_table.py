"""The table of the stream's entries: in order, the open ones as objects, the others packed, with accounts of all.

A waiting assistant needs none of its entries as objects, and a call needs only their bytes. The accounts tell which
entries the journal lacks, which events are in the stream, and the lowest level of trust.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from struct import Struct

from mud_assistant.assistant.journal import NO_CHANGE, StreamChange
from mud_assistant.assistant.journal.records import MESSAGE
from mud_assistant.assistant.memory.stream.entries import Entry, to_store
from mud_assistant.llm.packing.pack import pack, regroup
from mud_assistant.llm.packing.packed import Part
from mud_assistant.tools.trust import TOP, Audience, may_hear

#: A packed entry: key, tokens, number in the journal; importance, authority, foreign authority; the counts of its
#: messages and events, and the index of its sources.
_ROW = Struct("<IIqBBBHII")
_EVERYBODYS: tuple[Audience, str] = (None, "")
#: Ids of events remembered after their entry left the stream: they may still be pending.
KEPT_IDS = 1000


class PackedEntries:
    """Entries by their keys, which only grow. All packed entries come before all open ones."""

    def __init__(self) -> None:
        self._open: dict[int, Entry] = {}
        self._last_away = 0
        self._stretches: list[_Stretch] = []
        #: The audience of each packed private entry, and what others see of it, by its key.
        self._private: dict[int, tuple[Audience, str]] = {}
        self._rows = b""
        self._event_ids: tuple[str, ...] = ()
        #: Each set of sources once, with its index: many entries have the same few people as sources.
        self._sources: dict[tuple[str, ...], int] = {}

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._rows) // _ROW.size + len(self._open)

    def parts(self, hearers: Audience = None) -> list[Part]:
        """Return the messages of all entries. Entries that these hearers may not be told of are replaced by masks."""
        away = chain.from_iterable(stretch.seen_by(hearers) for stretch in self._stretches)
        unpack = (
            message
            for entry in self._open.values()
            for message in (entry.messages if may_hear(entry.audience, hearers) else entry.mask)
        )
        return [*away, *unpack]

    def entries(self) -> Iterator[Entry]:
        """Yield all entries, with their messages."""
        return (replace(entry, messages=tuple(entry.messages)) for _, entry in self.items())

    def naming(self, principal_id: str) -> int:
        """Return how many entries have this principal among their sources."""
        places = {place for sources, place in self._sources.items() if principal_id in sources}
        away = sum(row[-1] in places for row in _ROW.iter_unpack(self._rows)) if places else 0
        return away + sum(principal_id in entry.sources for entry in self._open.values())

    def add(self, key: int, entry: Entry) -> None:
        """Add a last entry. Its key must be greater than all others."""
        self._open[key] = entry

    def unpack(self, since: int = 0) -> dict[int, Entry]:
        """Return open entries by key, to be changed. All from key `since` on are among them, unpacked if necessary."""
        if since <= self._last_away:
            entries = dict(self.items())
            self.clear()
            self._open = entries
        return self._open

    def clear(self) -> None:
        """Remove all entries."""
        self._open, self._last_away, self._stretches, self._private = {}, 0, [], {}
        self._rows, self._event_ids, self._sources = b"", (), {}

    def pack_open(self) -> None:
        """Pack the open entries."""
        if not self._open:
            return
        entries = self._open.values()
        for audience, group in groupby(entries, lambda entry: entry.audience):
            self._pack(audience, list(group))
        for key, entry in self._open.items():
            if entry.audience is not None:
                self._private[key] = entry.audience, entry.others_see
        self._rows += b"".join(self._row(key, entry) for key, entry in self._open.items())
        self._event_ids += tuple(event_id for entry in entries for event_id in entry.event_ids)
        self._last_away = next(reversed(self._open))
        self._open = {}

    def _pack(self, audience: Audience, entries: list[Entry]) -> None:
        """Pack entries for one audience, together with the entries before them if those have the same audience."""
        if not self._stretches or self._stretches[-1].audience != audience:
            self._stretches.append(_Stretch(audience))
        last = self._stretches[-1]
        pack([entry.messages for entry in entries], last.parts, MESSAGE)
        if audience is not None:
            last.masks += (message for entry in entries for message in entry.mask)

    def _row(self, key: int, entry: Entry) -> bytes:
        place = self._sources.setdefault(entry.sources, len(self._sources))
        levels = entry.importance, entry.authority, entry.others_level
        return _ROW.pack(key, entry.tokens, entry.seq, *levels, len(entry.messages), len(entry.event_ids), place)

    def items(self, since: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield entries with their keys. All entries from key `since` on are among them.

        The messages of packed entries are unpacked when they are used.
        """
        if since <= self._last_away:
            yield from self._away()
        yield from self._open.items()

    def _away(self) -> Iterator[tuple[int, Entry]]:
        event_ids, sources = iter(self._event_ids), list(self._sources)
        lengths = (row[-3] for row in _ROW.iter_unpack(self._rows))
        parts = chain.from_iterable(stretch.parts for stretch in self._stretches)
        for row, messages in zip(_ROW.iter_unpack(self._rows), regroup(parts, lengths), strict=True):
            key, tokens, seq, importance, authority, others_level, _, events, place = row
            ids = tuple(islice(event_ids, events))
            private = self._private.get(key, _EVERYBODYS)
            yield key, Entry(messages, tokens, importance, ids, authority, sources[place], seq, others_level, *private)


@dataclass(slots=True)
class _Stretch:
    """The messages of consecutive entries for the same audience, and what others are shown in their place."""

    audience: Audience
    parts: list[Part] = field(default_factory=list)
    masks: list[Part] = field(default_factory=list)

    def seen_by(self, hearers: Audience) -> list[Part]:
        return self.parts if may_hear(self.audience, hearers) else self.masks


class Unsaved:
    """The keys of entries not yet written to the journal, and the journal numbers of entries to delete from it."""

    __slots__ = ("_gone", "_new", "_saving")

    def __init__(self) -> None:
        self._new: dict[int, None] = {}
        self._gone: dict[int, None] = {}
        self._saving: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())

    def added(self, key: int, seq: int) -> None:
        """Note an entry of the stream. `seq` is its number in the journal, 0 when it has none yet."""
        if not seq:
            self._new[key] = None

    def removed(self, key: int, seq: int) -> None:
        """Note that an entry left the stream."""
        self._new.pop(key, None)
        if seq:
            self._gone[seq] = None

    def anew(self) -> None:
        """Forget the unsaved keys: every entry gets a new key, and the unsaved ones are added again."""
        self._new = {}

    def change(self, packed_entries: PackedEntries, last_key: int) -> StreamChange:
        """Return what is to be written. Until `saved` is called, the next change holds all of it again."""
        self._saving = (tuple(self._new), tuple(self._gone))
        first = min(self._new, default=last_key + 1)
        new = tuple(to_store(entry) for key, entry in packed_entries.items(first) if key in self._new)
        return StreamChange(new, self._saving[1]) if new or self._gone else NO_CHANGE

    def saved(self, seqs: Sequence[int], packed_entries: PackedEntries, last_key: int) -> None:
        """Give the entries of the last change their numbers.

        Mark those that have left the stream since for deletion.
        """
        (keys, forgotten), self._saving = self._saving, ((), ())
        entries = packed_entries.unpack(min(keys, default=last_key + 1))
        for key, seq in zip(keys, seqs, strict=True):
            if key in entries:
                entries[key].seq = seq
                del self._new[key]
            else:
                self._gone[seq] = None
        for seq in forgotten:
            self._gone.pop(seq, None)


class KnownEvents:
    """The ids of the events in the stream, and of events that left it lately."""

    __slots__ = ("_old", "_present")

    def __init__(self) -> None:
        self._present: set[str] = set()
        self._old: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, event_id: str) -> bool:
        """Tell whether the event is in the stream or left it lately."""
        return event_id in self._present or event_id in self._old

    def add(self, event_ids: Iterable[str]) -> None:
        """Note that these events are in the stream."""
        self._present.update(event_ids)

    def remove(self, event_ids: Iterable[str]) -> None:
        """Note that these events left the stream."""
        event_ids = tuple(event_ids)
        self._present.difference_update(event_ids)
        self._old.update(dict.fromkeys(event_ids))
        while len(self._old) > KEPT_IDS:
            self._old.popitem(last=False)

    def unlearn(self, event_ids: Iterable[str]) -> None:
        """Forget that these events were in the stream until lately."""
        for event_id in event_ids:
            self._old.pop(event_id, None)


class Levels:
    """Counts how many entries there are of each level of trust."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts = [0] * (TOP + 1)

    def add(self, level: int, entries: int = 1) -> None:
        """Add `entries` to the count of this level; a negative number takes some away."""
        self._counts[level] += entries

    @property
    def min_level(self) -> int:
        """The lowest level with at least one entry, `TOP` when there is none."""
        return next((level for level, entries in enumerate(self._counts) if entries), TOP)


class LabelCounts:
    """Counts the labels of the entries: their levels, and for each audience whose words they hold."""

    __slots__ = ("_sources", "authority", "others")

    def __init__(self) -> None:
        self.authority = Levels()
        self.others = Levels()
        self._sources: dict[Audience, dict[str, int]] = {}

    def add(self, entry: Entry, entries: int = 1) -> None:
        """Add the labels of an entry; with -1 for `entries` take them away."""
        self.authority.add(entry.authority, entries)
        self.others.add(entry.others_level, entries)
        counts = self._sources.setdefault(entry.audience, {})
        for who in entry.sources:
            left = counts.get(who, 0) + entries
            if left:
                counts[who] = left
            else:
                del counts[who]
        if not counts:
            del self._sources[entry.audience]

    def sources(self, hearers: Audience) -> frozenset[str]:
        """Return the ids of those whose words are in the entries that these may be told of."""
        found: set[str] = set()
        for audience, who in self._sources.items():
            if audience is None or may_hear(audience, hearers):
                found.update(who)
        return frozenset(found)
