"""What a memory must hold after a kill, by what the processes before told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.tools.memories import Memory, MemoryKind

#: What a process told: "begin" or "done", the deed, and what it was about.
Deed = Sequence[Any]
#: So much of a word is looked for in the files: an index keeps only the end of what begins as its neighbour does.
END = 9
_MADE_UP = re.compile(rb"[b-df-hj-np-tv-xz]{%d,}" % END)


class Evidence:
    """Looks at one memory through the product's own doors, and at the bytes of its files."""

    def __init__(self, deeds: Sequence[Deed], storage: Storage, history: History, folder: Path) -> None:
        self._deeds = deeds
        self._storage = storage
        self._history = history
        self._folder = folder
        self._sure: dict[str, str] = {}
        self._maybe: set[str] = set()
        #: The words that must be gone, and those that may be gone since nobody was told that they are.
        self._gone: set[str] = set()
        self._corrected: list[tuple[bool, str, str, str]] = []
        #: What was told in the last life by whoever was being forgotten at the kill: memories, and in the stream.
        self._in_doubt: set[str] = set()
        self._read()
        self._read_last_life()

    def _read(self) -> None:
        """Go through the deeds, in their order."""
        whose: dict[str, str] = {}
        for stage, deed, *about in self._deeds:
            match deed, about:
                case (("keep" | "supersede"), [word, who, *ids]):
                    whose[word] = who
                    if stage == "done":
                        self._sure[word] = who
                    if ids:
                        self._corrected.append((stage == "done", word, *ids))
                case "drop", [_, word]:
                    self._lose({word}, sure=stage == "done")
                case "forget", [who, _]:
                    self._lose({word for word, teller in whose.items() if teller == who}, sure=stage == "done")
                case _:
                    pass

    def _read_last_life(self) -> None:
        """Find what was told by whoever was being forgotten when the last process was killed."""
        talk: dict[str, str] = {}
        for stage, deed, *about in self._deeds:
            match stage, deed:
                case _, "life":
                    talk, self._in_doubt = {}, set()
                case "done", "talk":
                    talk[about[0]] = about[1]
                case "begin", "forget":
                    self._in_doubt = {word for word, who in talk.items() if who == about[0]}
                case "done", "forget":
                    talk = {word: who for word, who in talk.items() if who != about[0]}
                    self._in_doubt = set()
                case "done", "drop":
                    talk.pop(about[1], None)
                case _:
                    pass

    def _lose(self, words: set[str], *, sure: bool) -> None:
        for word in words:
            self._sure.pop(word, None)
        self._maybe |= words
        if sure:
            self._gone |= words

    async def look(self) -> list[str]:
        """Return what is wrong."""
        everything = await self._everything()
        first = await self._storage.memories.recall("what was there first?", hearers=frozenset())
        return [
            *self._kept(everything),
            *self._corrections(everything),
            *await self._derived(everything),
            *await self._found(everything),
            *self._back(everything, first.memories),
            *self._whole(everything),
            *self._bytes({word for word in self._maybe if not self._is_there(everything, word)}),
        ]

    async def counted(self) -> dict[str, int]:
        """Count what there is to lose."""
        everything = await self._everything()
        return {
            "kept": len(self._sure),
            "gone": len(self._gone),
            "derived": sum(one.kind is MemoryKind.REFLECTION for one in everything),
            "corrected": sum(bool(one.superseded_by) for one in everything),
            "queued": len(await self._storage.sleep.queued()),
        }

    async def _everything(self) -> list[Memory]:
        found: dict[str, Memory] = {}
        for who in ("player:ann", "player:bea", "player:cid"):
            found.update((one.id, one) for one in await self._storage.memories.about(who))
        return list(found.values())

    def _is_there(self, everything: Sequence[Memory], word: str) -> bool:
        return any(word in one.text for one in everything if one.kind is not MemoryKind.REFLECTION)

    def _kept(self, everything: Sequence[Memory]) -> Iterator[str]:
        """Each word that was acknowledged stands in one memory."""
        stands = Counter(
            word for one in everything if one.kind is not MemoryKind.REFLECTION for word in one.text.rstrip(".").split()
        )
        for word in self._sure:
            if stands[word] != 1:
                yield f"{word} was kept and stands in {stands[word]} memories"
        for word in self._maybe:
            if stands[word] > 1:
                yield f"{word} stands in {stands[word]} memories"

    def _corrections(self, everything: Sequence[Memory]) -> Iterator[str]:
        """A correction is there with its mark on the old memory, or neither is."""
        there = {one.id: one for one in everything}
        for is_done, word, old, new in self._corrected:
            if old in there and new in there and there[old].superseded_by != new:
                yield f"{word} corrects a memory that does not say so"
            if old in there and new not in there and there[old].superseded_by == new:
                yield f"a memory says that it was corrected by {word}, which is not there"
            if is_done and word in self._sure and new not in there:
                yield f"the correction {word} is lost"

    async def _derived(self, everything: Sequence[Memory]) -> Iterator[str]:
        """What was derived has its parts, and what others lost waits to be derived anew."""
        ids = {one.id for one in everything}
        lacking = [f"{one.id} lacks parts" for one in everything if not ids.issuperset(one.made_of)]
        queued = {tuple(parts) for parts in await self._storage.sleep.queued()}
        lost = [parts for parts in self._must_be_queued() if parts not in queued]
        return iter([*lacking, *(f"{parts} is to be derived anew, and is not in the queue" for parts in lost)])

    def _must_be_queued(self) -> Iterator[tuple[str, ...]]:
        """Yield what the last forgettings, during and after which there was no night, left to be derived anew."""
        lost: list[tuple[str, ...]] = []
        nights = changes = 0
        #: How often a night had begun or ended when the forgetting of a player began.
        before: dict[str, int] = {}
        for stage, deed, *about in self._deeds:
            match stage, deed:
                case _, "night":
                    lost, nights, changes = [], max(0, nights + (1 if stage == "begin" else -1)), changes + 1
                case _, "life":
                    nights = 0
                case "begin", "forget":
                    before[about[0]] = changes
                case "done", "forget" if not nights and before.get(about[0]) == changes:
                    lost += [tuple(parts) for parts in about[1]]
                case _:
                    pass
        return iter(lost)

    async def _found(self, everything: Sequence[Memory]) -> Iterator[str]:
        """What was kept and still holds is found by its word."""
        wrong = []
        holds = " ".join(one.text for one in everything if not one.superseded_by)
        for word in [word for word in self._sure if word in holds][-8:]:
            found = await self._storage.memories.recall(word, hearers=frozenset(), limit=10)
            if not any(word in one.text for one in found.memories):
                wrong.append(f"{word} is kept, and is not found")
        for word in sorted(self._gone)[:8]:
            found = await self._storage.memories.recall(word, hearers=frozenset(), limit=10)
            if any(word in one.text for one in found.memories):
                wrong.append(f"{word} was forgotten, and is found")
        return iter(wrong)

    def _back(self, everything: Sequence[Memory], first: Sequence[Memory]) -> Iterator[str]:
        """Nothing that was forgotten is in a memory, in what is recalled, or in what the next prompt shows."""
        prompt = self._stream()
        for word in self._gone:
            if any(word in one.text for one in (*everything, *first)):
                yield f"{word} was forgotten, and is remembered"
            if word in prompt:
                yield f"{word} was forgotten, and is in the prompt"

    def _stream(self) -> str:
        """Return all that the stream holds, also what only some may be told."""
        return " ".join(message.text for entry in self._history.entries() for message in entry.messages)

    def _whole(self, everything: Sequence[Memory]) -> Iterator[str]:
        """A forgetting that nobody was told of took the talk and the memories of it, or neither."""
        prompt = self._stream()
        is_known = {self._is_there(everything, word) for word in self._in_doubt}
        is_shown = {word in prompt for word in self._in_doubt}
        if len(is_known | is_shown) > 1:
            yield f"half of a forgetting: memories {is_known}, talk {is_shown}"

    def _bytes(self, absent: set[str]) -> Iterator[str]:
        """No byte of what is gone is left in any file.

        What was removed from the memory before a kill may still stand in the events of who asked for that in vain.
        """
        for path in sorted(self._folder.iterdir()):
            there = {end for found in _MADE_UP.findall(path.read_bytes()) for end in _ends_in(found.decode())}
            for word in self._gone | (absent if ".recall" in path.name else set()):
                if word[-END:] in there:
                    yield f"{word} is gone, and stands in {path.name}"


def _ends_in(letters: str) -> Iterator[str]:
    return (letters[at : at + END] for at in range(len(letters) - END + 1))
