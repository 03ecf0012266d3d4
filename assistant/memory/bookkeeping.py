"""Tracks the entries of the stream: those the journal lacks, the events in them, and their lowest level of trust."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from assistant.journal import NO_CHANGE, StreamChange
from assistant.memory.entries import to_store
from assistant.memory.packed_entries import PackedEntries
from tools.trust import TOP

#: Ids of events remembered after their entry left the stream: they may still be pending.
KEPT_IDS = 1000


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
