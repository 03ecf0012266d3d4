"""The perception stream: events, the assistant's acts and their results as one chronological list, under a budget.

An entry is never split, so a call and its result are never parted. Trimming cuts down to a low-water mark, not just to
the budget: the front of the prompt then stays byte-identical for many calls, and the provider's prompt cache stays
warm. Each entry carries the lowest authority of what is in it, and who caused it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice

from mud_assistant.assistant.journal import StreamChange, StreamEntry
from mud_assistant.assistant.memory.stream import entries as rows
from mud_assistant.assistant.memory.stream.entry_table import KnownEvents, LabelCounts, PackedEntries, Unsaved
from mud_assistant.assistant.memory.stream.trimming import squeeze, trim
from mud_assistant.llm.messages import Message, user
from mud_assistant.llm.packing.packed import Joined, Part
from mud_assistant.tools.trust import Audience, Label, common

#: Entries at the end that neither trimming nor a summary touches.
KEPT_ENTRIES = 10
#: Share of the budget that trimming leaves in use.
LOW_WATER = 0.7


class History:
    """The stream of one assistant, kept within `budget` tokens by `trim`.

    `count` estimates the tokens of messages. Each message is counted once, and again only when it was masked.
    """

    def __init__(self, count: Callable[[Sequence[Message]], int], budget: int = 1_000_000) -> None:
        self.count = count
        self.budget = budget
        self.tokens = 0
        #: In chronological order. A key is never used twice: an entry that must be written anew gets a new one.
        self._packed = PackedEntries()
        self._last_key = 0
        self._labels = LabelCounts()
        self._known = KnownEvents()
        self._scene: tuple[str, int] | None = None
        self._unsaved = Unsaved()
        self._out: rows.OldPart | None = None
        #: The keys of what the current run has added.
        self._of_run: dict[int, None] = {}

    def __len__(self) -> int:
        """Return how many entries are kept."""
        return len(self._packed)

    def knows(self, event_id: str) -> bool:
        """Tell whether the event is part of the stream, as after a failed run, or left it lately."""
        return event_id in self._known

    def find_lost(self, lines: Mapping[str, str], hearers: Audience = frozenset(), least: int = 0) -> set[str]:
        """Return those of the given events whose line, or its beginning, no entry of this level shows to these."""
        return rows.lost_of(self._packed.items(), lines, hearers, least) if lines else set()

    def naming(self, principal_id: str) -> int:
        """Return how many entries have this principal among their sources."""
        return self._packed.naming(principal_id)

    def begin(self) -> None:
        """Begin a run: what is appended from now on is its own."""
        self._of_run = {}

    def rewind(self) -> None:
        """Take back what the run added when its end could not be written. The run resumes from what it wrote."""
        entries = self._packed.unpack(min(self._of_run, default=self._last_key + 1))
        for key in [key for key in self._of_run if key in entries]:
            event_ids = entries[key].event_ids
            self.remove(key)
            self._known.unlearn(event_ids)
        self._packed.pack_open()
        self._of_run = {}

    def shows(self, scene: str) -> bool:
        """Tell whether this scene is the last one the stream shows, and still in it."""
        return self._scene is not None and self._scene[0] == scene

    def min_level(self) -> int:
        """Return the lowest authority in the stream, `TOP` when it is empty. Looks at no entry."""
        return self._labels.authority.min_level

    def sources(self, hearers: Audience) -> frozenset[str]:
        """Return the ids of all whose words a prompt holds that these hear the answer to. Looks at no entry."""
        return self._labels.sources(hearers)

    def parts(self, hearers: Audience = None, least: int = 0, scene: str = "") -> list[Part]:
        """Return the stream for a prompt whose answer `hearers` hear, oldest first. Packed parts stay packed.

        What has a level below `least` is left out; `scene` then stands before what the run added.
        """
        if not least or least <= self.min_level():
            return self._packed.parts(hearers)
        return rows.trusted_part(self._packed.items(), hearers, least, scene, min(self._of_run, default=0))

    def messages(self) -> list[Message]:
        """Return the stream as messages, oldest first."""
        return list(Joined(self.parts()))

    def entries(self) -> tuple[rows.Entry, ...]:
        """Return the entries, oldest first."""
        return tuple(self._packed.entries())

    def perceive(
        self,
        lines: Sequence[str],
        event_ids: Sequence[str],
        importance: int,
        scene: str = "",
        *,
        labels: Sequence[Label],
        others_see: str = "",
    ) -> None:
        """Append what was perceived, as one message; a new `scene` stands before it. `labels` are those of all of it.

        Text without any label has no authority. `others_see` replaces the entry for those who may not be told of it.
        """
        message = user("\n".join([scene, *lines] if scene else lines))
        authority = min((label.authority for label in labels), default=0)
        sources = tuple(dict.fromkeys(label.who for label in labels if label.who))
        audience = reduce(common, (label.audience for label in labels), None)
        ids = tuple(event_ids)
        key = self._append(StreamEntry((message,), importance, ids, authority, sources, 0, audience, others_see))
        self._of_run[key] = None
        if scene:
            self._scene = (scene, key)

    def acted(
        self,
        messages: Sequence[Message],
        importance: int = 7,
        *,
        authority: int,
        sources: Collection[str],
        audience: Audience = None,
        others_see: str = "",
        shown_from: int = 0,
    ) -> None:
        """Append one step: what the assistant did and what came of it, with the sources it was derived from.

        `authority` is the lowest of the results. The whole step also gets no more than the lowest authority of what
        others wrote in the stream from `shown_from` on: a model that repeats words must not lend them its own name.
        """
        whole = min(authority, max(self._labels.others.min_level, shown_from))
        step = StreamEntry(
            tuple(messages), importance, (), whole, tuple(sources), audience=audience, others_see=others_see
        )
        self._of_run[self._append(step, others_level=authority)] = None

    def load(self, entries: Iterable[StreamEntry]) -> None:
        """Take in what was kept, oldest first, before anything else. Entries without a number count as not saved."""
        for entry in entries:
            self._append(entry)
        self._packed.pack_open()

    def changes(self) -> StreamChange:
        """Return the entries the journal lacks, and the journal numbers of entries that left the stream.

        Costs as much as the change, not the stream. Call `saved` once it is written; otherwise, as after a failed
        write, the next change holds all of it again. Masking is not written: after a restart trimming masks anew.
        """
        return self._unsaved.change(self._packed, self._last_key)

    def saved(self, seqs: Sequence[int]) -> None:
        """Note that the last change is written; `seqs` are the numbers of its new entries, in order.

        Entries that left the stream meanwhile are deleted with the next change.
        """
        self._unsaved.saved(seqs, self._packed, self._last_key)
        self._packed.pack_open()

    def forget(self, principal_id: str) -> int:
        """Remove every entry that has this principal among its sources, whole, and return how many there were.

        Answers that repeat them go too. A summary being made of it is void. Their events stay known, so they do not
        come again.
        """
        if self._out is not None and principal_id in self._out.sources:
            self._out = None
        is_there = self.naming(principal_id) > 0
        return self._remove_with_repeats(lambda entry: principal_id in entry.sources) if is_there else 0

    def forget_events(self, event_ids: frozenset[str]) -> None:
        """Remove the entries that hold one of these events, and answers that repeat them; a summary of them is void."""
        if self._out is not None and not event_ids.isdisjoint(self._out.event_ids):
            self._out = None
        self._remove_with_repeats(lambda entry: not event_ids.isdisjoint(entry.event_ids))

    def clear(self) -> int:
        """Remove every entry, and return how many there were; a summary being made is void. Their events stay known."""
        self._out = None
        return self._remove_with_repeats(lambda _: True)

    def _remove_with_repeats(self, goes: Callable[[rows.Entry], bool]) -> int:
        keys = rows.find_with_repeats(self._packed.unpack(), goes)
        for key in keys:
            self.remove(key)
        self._packed.pack_open()
        return len(keys)

    def trim(self) -> bool:
        """Cut the stream to its budget; return whether something was cut. Looks at no entry when nothing needs cutting.

        Old tool outputs are masked first. Then the least important entries go, the oldest of them first.
        """
        if self.tokens <= self.budget:
            return False
        entries = self._packed.unpack()
        old = list(islice(entries, max(0, len(self._packed) - KEPT_ENTRIES)))
        trim(self, entries, old, int(self.budget * LOW_WATER))
        self._packed.pack_open()
        return True

    def squeeze(self, needed: Sequence[str], keep: Collection[str]) -> None:
        """Cut inside the last entries as well; of the `needed` lines of the events `keep`, the last is cut last."""
        if self.tokens > self.budget:
            squeeze(self, self._packed.unpack(), self._of_run, needed, keep)
            self._packed.pack_open()

    def old_part(self, tokens: int) -> rows.OldPart:
        """Return the oldest entries of one audience, none of the last ten, with at least this many tokens if there are.

        They stay in the stream until `replace_by_summary`. Taking another part voids this one.
        """
        self._out = rows.old_part(islice(self._packed.items(), max(0, len(self._packed) - KEPT_ENTRIES)), tokens)
        return self._out

    def put_back(self, part: rows.OldPart) -> None:
        """Give up summarising the part; the stream stays as it is."""
        if self._out is part:
            self._out = None

    def replace_by_summary(self, part: rows.OldPart, text: str, importance: int) -> bool:
        """Replace the part by `text`. Return False, and change nothing, when the part is void.

        What was appended meanwhile stays; what was trimmed meanwhile is gone. The journal keeps entries in the order
        they were written, so everything after the summary is written anew with it.
        """
        if self._out is not part:
            return False
        self._out = None
        for key in part.keys:
            if key in self._packed.unpack():
                self.remove(key)
        rest = self._packed.unpack()
        self._unsaved.anew()
        self._packed.clear()
        self._append(part.summary(text, importance))
        for key, entry in rest.items():
            self._unsaved.removed(key, entry.seq)
            moved = self._place(replace(entry, seq=0))
            if key in self._of_run:
                self._of_run[moved] = None
            if self._scene is not None and self._scene[1] == key:
                self._scene = self._scene[0], moved
        self._packed.pack_open()
        return True

    def _append(self, new: StreamEntry, *, others_level: int | None = None) -> int:
        """Append an entry and return its key."""
        entry = rows.from_store(new, self.count(new.messages), others_level)
        if entry.audience is not None:  # the entry must fit in either form
            entry.tokens = max(entry.tokens, self.count(entry.mask))
        self.tokens += entry.tokens
        self._labels.add(entry)
        self._known.add(entry.event_ids)
        return self._place(entry)

    def _place(self, entry: rows.Entry) -> int:
        self._last_key += 1
        self._packed.add(self._last_key, entry)
        self._unsaved.added(self._last_key, entry.seq)
        return self._last_key

    def remove(self, key: int) -> None:
        """Take an entry out of the stream; its events stay known for a while. For trimming."""
        entry = self._packed.unpack(key).pop(key)
        self.tokens -= entry.tokens
        self._labels.add(entry, -1)
        self._unsaved.removed(key, entry.seq)
        if self._scene is not None and self._scene[1] == key:
            self._scene = None
        self._known.remove(entry.event_ids)

    def change(self, key: int, messages: Sequence[Message]) -> None:
        """Replace the messages of an entry. For trimming."""
        entries = self._packed.unpack(key)
        entry = entries[key]
        if messages is not entry.messages:
            tokens = max(self.count(messages), self.count(entry.mask) if entry.audience is not None else 0)
            entries[key] = replace(entry, messages=messages, tokens=tokens)
            self.tokens += entries[key].tokens - entry.tokens
