"""The perception stream: events, the assistant's acts and their results as one chronological list, under a budget.

An entry is never split, so a call and its result are never parted. Trimming cuts down to a low-water mark, not to the
brim: the front of the prompt then stays byte-identical for many calls and the provider's prompt cache stays warm.
Each entry carries the lowest authority of what is in it, and who caused it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from assistant.entries import Entry, OldPart, masked, old_part, to_store
from assistant.journal import NO_CHANGE, StreamChange, StreamEntry
from llm.messages import Message, user
from tools.trust import TOP, Label, bounded

#: Entries at the end that neither trimming nor a summary touches (design.md 4.2).
KEPT_ENTRIES = 10
#: Share of the budget that trimming leaves in use.
LOW_WATER = 0.7
#: Ids of events remembered after their entry left the stream: they may still be pending.
KEPT_IDS = 1000


class History:
    """The stream of one assistant, kept within `budget` tokens by `trim`.

    `count` estimates the tokens of messages; each is counted once, and again only when it was masked.
    """

    def __init__(self, count: Callable[[Sequence[Message]], int], budget: int = 1_000_000) -> None:
        self.count = count
        self.budget = budget
        self.tokens = 0
        #: In the order of things. A key is never used twice: an entry that must be written anew gets a new one.
        self._entries: dict[int, Entry] = {}
        self._last_key = 0
        self._flat: list[Message] | None = []
        self._of_authority = [0] * (TOP + 1)
        self._of_foreign = [0] * (TOP + 1)
        self._event_ids: set[str] = set()
        self._old_event_ids: OrderedDict[str, None] = OrderedDict()
        self._scene: tuple[str, int] | None = None
        self._unsaved: dict[int, None] = {}
        self._gone: dict[int, None] = {}
        self._saving: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        self._out: OldPart | None = None
        #: What the run that goes has added.
        self._of_run: dict[int, None] = {}

    def __len__(self) -> int:
        """How many entries are kept."""
        return len(self._entries)

    def knows(self, event_id: str) -> bool:
        """Whether the event is part of the stream, as after a failed run, or lately was."""
        return event_id in self._event_ids or event_id in self._old_event_ids

    def naming(self, principal_id: str) -> int:
        """How many entries have this principal among their sources."""
        return sum(principal_id in entry.sources for entry in self._entries.values())

    def begin(self) -> None:
        """A run begins: what is appended from now on is its own."""
        self._of_run = {}

    def rewind(self) -> None:
        """Take back what the run added that could not write its end: it is taken up again from what it wrote."""
        for key in [key for key in self._of_run if key in self._entries]:
            event_ids = self._entries[key].event_ids
            self._remove(key)
            for event_id in event_ids:
                self._old_event_ids.pop(event_id, None)
        self._of_run = {}

    def shows(self, scene: str) -> bool:
        """Whether this scene is the last one the stream shows, and still in it."""
        return self._scene is not None and self._scene[0] == scene

    def lowest(self) -> int:
        """The lowest authority of anything in the stream, `TOP` when it is empty. Costs the same for any length."""
        return _lowest(self._of_authority)

    def messages(self) -> list[Message]:
        """The stream as messages, oldest first."""
        if self._flat is None:
            self._flat = [message for entry in self._entries.values() for message in entry.messages]
        return list(self._flat)

    def entries(self) -> tuple[Entry, ...]:
        """The entries, oldest first."""
        return tuple(self._entries.values())

    def perceive(
        self,
        lines: Sequence[str],
        event_ids: Sequence[str],
        importance: int,
        scene: str = "",
        *,
        labels: Sequence[Label],
    ) -> None:
        """Append what was perceived, as one message; a new `scene` stands before it.

        `labels` are those of all lines and of the scene. Text without any label has no authority.
        """
        message = user("\n".join([scene, *lines] if scene else lines))
        authority = min((label.authority for label in labels), default=0)
        sources = dict.fromkeys(label.who for label in labels if label.who)
        key = self._append(StreamEntry((message,), importance, tuple(event_ids), authority, tuple(sources)))
        self._of_run[key] = None
        if scene:
            self._scene = (scene, key)

    def acted(
        self, messages: Sequence[Message], importance: int = 7, *, authority: int, sources: Collection[str]
    ) -> None:
        """Append one step: what the assistant did and what came of it, with whatever that was derived from.

        `authority` is the lowest of the results. The whole gets the lowest of what others wrote in the stream as well:
        a model that repeats a stranger's words must not lend them its own name.
        """
        whole = min(authority, _lowest(self._of_foreign))
        key = self._append(StreamEntry(tuple(messages), importance, (), whole, tuple(sources)), foreign=authority)
        self._of_run[key] = None

    def load(self, entries: Iterable[StreamEntry]) -> None:
        """Take in what was kept, oldest first, before anything else. Entries without a number count as not saved."""
        for entry in entries:
            self._append(entry)

    def changes(self) -> StreamChange:
        """What the journal does not have yet, and the numbers of what it has and the stream has no more.

        Costs the change, not the stream. Follow it with `saved` once it is written; without that, as after a failed
        write, the next change holds all of it again. Masking is not written: after a restart trimming masks anew.
        """
        self._saving = (tuple(self._unsaved), tuple(self._gone))
        new = tuple(to_store(self._entries[key]) for key in self._unsaved)
        return StreamChange(new, self._saving[1]) if new or self._gone else NO_CHANGE

    def saved(self, seqs: Sequence[int]) -> None:
        """The last change is written: the numbers of its new entries, in order.

        What left the stream meanwhile is to be forgotten with the next change.
        """
        (keys, forgotten), self._saving = self._saving, ((), ())
        for key, seq in zip(keys, seqs, strict=True):
            if key in self._entries:
                self._entries[key] = replace(self._entries[key], seq=seq)
                del self._unsaved[key]
            else:
                self._gone[seq] = None
        for seq in forgotten:
            self._gone.pop(seq, None)

    def forget(self, principal_id: str) -> int:
        """How many entries went because this principal is among their sources; each went whole.

        A summary that is being made of anything of his is void. His events stay known, so they do not come again.
        """
        if self._out is not None and principal_id in self._out.sources:
            self._out = None
        keys = [key for key, entry in self._entries.items() if principal_id in entry.sources]
        for key in keys:
            self._remove(key)
        return len(keys)

    def trim(self) -> bool:
        """Cut the stream to its budget; True when something was cut. Without need it looks at nothing.

        Old tool outputs are masked first, then the least important entries go, the oldest of them first.
        """
        if self.tokens <= self.budget:
            return False
        target = int(self.budget * LOW_WATER)
        old = self._old_keys()
        for key in old:
            if self.tokens <= target:
                return True
            self._mask(key)
        for key in sorted(old, key=lambda key: self._entries[key].importance):
            if self.tokens <= target:
                break
            self._remove(key)
        return True

    def old_part(self, tokens: int) -> OldPart:
        """The oldest entries, at least so many tokens of them if there are, none of the last `KEPT_ENTRIES`.

        They stay in the stream until `summarised`. One part is out at a time: taking it again voids the one before.
        """
        keys: list[int] = []
        taken = 0
        for key in self._old_keys():
            if taken >= tokens:
                break
            keys.append(key)
            taken += self._entries[key].tokens
        self._out = old_part(keys, [self._entries[key] for key in keys])
        return self._out

    def put_back(self, part: OldPart) -> None:
        """The part will not be summarised; the stream stays as it is."""
        if self._out is part:
            self._out = None

    def summarised(self, part: OldPart, text: str, importance: int) -> bool:
        """Put `text` in the place of the part; False, and nothing is changed, when the part is void.

        What was appended meanwhile stays, what was trimmed meanwhile is gone. The journal keeps entries in the order
        they were written, so all behind the summary is written anew with it.
        """
        if self._out is not part:
            return False
        self._out = None
        for key in part.keys:
            if key in self._entries:
                self._remove(key)
        rest, self._entries, self._unsaved = self._entries, {}, {}
        self._append(StreamEntry((user(text),), importance, part.event_ids, part.authority, part.sources))
        for key, entry in rest.items():
            if entry.seq:
                self._gone[entry.seq] = None
            moved = self._place(replace(entry, seq=0))
            if key in self._of_run:
                self._of_run[moved] = None
            if self._scene is not None and self._scene[1] == key:
                self._scene = (self._scene[0], moved)
        self._flat = None
        return True

    def _old_keys(self) -> list[int]:
        """The keys of all but the last entries, oldest first."""
        return list(islice(self._entries, max(0, len(self._entries) - KEPT_ENTRIES)))

    def _append(self, new: StreamEntry, *, foreign: int | None = None) -> int:
        """The key of the new last entry."""
        level = bounded(new.authority)
        others = bounded(new.authority if foreign is None else foreign)
        tokens = self.count(new.messages)
        self.tokens += tokens
        self._of_authority[level] += 1
        self._of_foreign[others] += 1
        self._event_ids.update(new.event_ids)
        if self._flat is not None:
            self._flat.extend(new.messages)
        return self._place(
            Entry(new.messages, tokens, new.importance, new.event_ids, level, new.sources, new.seq, others)
        )

    def _place(self, entry: Entry) -> int:
        self._last_key += 1
        self._entries[self._last_key] = entry
        if not entry.seq:
            self._unsaved[self._last_key] = None
        return self._last_key

    def _remove(self, key: int) -> None:
        entry = self._entries.pop(key)
        self.tokens -= entry.tokens
        self._of_authority[entry.authority] -= 1
        self._of_foreign[entry.foreign] -= 1
        self._unsaved.pop(key, None)
        if entry.seq:
            self._gone[entry.seq] = None
        if self._scene is not None and self._scene[1] == key:
            self._scene = None
        self._flat = None
        self._event_ids.difference_update(entry.event_ids)
        self._old_event_ids.update(dict.fromkeys(entry.event_ids))
        while len(self._old_event_ids) > KEPT_IDS:
            self._old_event_ids.popitem(last=False)

    def _mask(self, key: int) -> None:
        entry = self._entries[key]
        messages = masked(entry.messages)
        if messages is not entry.messages:
            self._entries[key] = replace(entry, messages=messages, tokens=self.count(messages))
            self.tokens += self._entries[key].tokens - entry.tokens
            self._flat = None


def _lowest(counts: Sequence[int]) -> int:
    """The lowest authority of which there is any, `TOP` when there is none."""
    return next((authority for authority, entries in enumerate(counts) if entries), TOP)
