"""The memory of a character: what it heard, saw, noted and concluded, each with who may be told of it.

Four labels make a memory safe to show. `authority` is the lowest level of all it is made of, `sources` are all whose
words are in it, `audience` is who may be told of it, `made_of` names the memories it was derived from. What is derived
gets the lowest authority, all sources, and the audience that its parts have in common.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import Protocol

from msgspec import Struct, field

from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.trust import Audience

#: How many memories are given back when nobody asks for more or fewer.
RECALLED = 5
#: The longest text of one memory, and the longest name, in characters.
MAX_TEXT, MAX_NAME = 2000, 120
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


class MemoryKind(StrEnum):
    """Where a memory is from."""

    HEARD = "heard"  # words that somebody else spoke
    SEEN = "seen"  # something that happened where the character was
    NOTE = "note"  # a note of the version before
    FACT = "fact"  # what the character chose to remember, in its own words
    REFLECTION = "reflection"  # derived from other memories while nobody was there
    LORE = "lore"  # what the owner wrote about the world


class FactPart(StrEnum):
    """What kind of thing somebody told of themselves."""

    HOME = "home"  # where they are from, and where they live
    WORK = "work"  # what they do
    KIN = "kin"  # their people and animals
    OPEN = "open"  # what lies before them
    LOST = "lost"  # what they miss
    PROMISE = "promise"  # what was promised to them
    FEAR = "fear"
    LIKING = "liking"  # what they like, and what they do not
    OWN = "own"  # what they have
    SELF = "self"  # anything else
    ANSWER = "answer"  # how what they were asked about went


class Fact(Struct, frozen=True):
    """Something a person told of themselves. `text` is the sentence, word for word.

    Of two facts with one `key` the newer holds. `due` is the time from which a matter is over, in seconds since 1970, 0
    for none; one that `is_over` is not asked about any more.
    """

    part: FactPart
    key: str
    text: str
    due: float = 0.0
    is_over: bool = False


class Memory(Struct, frozen=True):
    """One thing remembered. `at` is in seconds since 1970; `importance` is from 1 to 10.

    `who` is the id of the principal whose words or deed it is, or for whom it was noted; `name` is the name they had
    then; both are empty for nobody. `how` tells how it was heard ("whispered to you"), empty for what was not spoken.
    `about` holds the ids of other principals that the words are about. `superseded_by` is the id of the newer memory
    that holds in its place. `expires` is when it is of no use any more, None for never. `event` is the id of the event
    that told it last. `facts` are what the words tell of the person; they are kept apart, and empty when read again.
    """

    id: str
    text: str
    kind: MemoryKind
    at: float
    who: str = ""
    name: str = ""
    how: str = ""
    place: str = ""
    importance: int = 5
    authority: int = 0
    sources: frozenset[str] = frozenset()
    audience: Audience = None
    made_of: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    superseded_by: str = ""
    expires: float | None = None
    event: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def size_bytes(self) -> int:
        """The room the memory takes in the store, in bytes of UTF-8: its text and the name."""
        return len(self.text.encode(errors="replace")) + len(self.name.encode(errors="replace"))

    def is_from(self, principal_id: str) -> bool:
        """Tell whether it came from this principal, by their own words or through others'."""
        return principal_id == self.who or principal_id in self.sources


class Recalled(Struct, frozen=True):
    """What fits a query, best first. `before` holds, for the id of a newer memory, the older ones it corrects.

    `withheld` counts the memories that fit as well and that only the asker may hear. `profile` is what the character
    concluded about the asker. `unsure` holds the ids of those
    that only mean something alike, and share no word with the query.
    """

    memories: tuple[Memory, ...] = ()
    withheld: int = 0
    profile: Memory | None = None
    before: tuple[tuple[str, str], ...] = ()
    unsure: frozenset[str] = frozenset()


class KeptMemory(Struct, frozen=True):
    """A memory that was written down: as a `new` one, or as one that was known. `dropped` made room for it."""

    memory: Memory
    new: bool = True
    dropped: tuple[Memory, ...] = field(default=())


class Memories(Protocol):
    """What one character remembers. Each method returns when what it wrote is safe."""

    def keep(self, memory: Memory) -> Awaitable[KeptMemory]:
        """Write a memory down. The same words of the same person for the same audience are one memory, made newer.

        Raises ToolFailed when it cannot fit.
        """
        ...

    def recall(self, query: str, *, hearers: Audience, asker: str = "", limit: int = RECALLED) -> Awaitable[Recalled]:
        """Return at most `limit` memories that fit `query` and that each of the `hearers` may be told.

        None is everybody; with no hearers at all, as for the owner, everything is given. An empty query fits
        everything, newest first. `asker` is the principal for whom the withheld ones are counted.
        """
        ...

    def about(self, principal_id: str) -> Awaitable[Sequence[Memory]]:
        """Return what came from this principal or is about them, newest first: what a player may see and delete."""
        ...

    def drop(self, memory_id: str) -> Awaitable[int]:
        """Delete one memory and what was derived from it. Return how many there were."""
        ...

    def forget(self, principal_id: str) -> Awaitable[int]:
        """Delete every memory that has this principal among its sources. Return how many there were."""
        ...

    def clear(self) -> Awaitable[int]:
        """Delete every memory. Return how many there were."""
        ...

    def supersede(self, old_id: str, new: Memory) -> Awaitable[bool]:
        """Keep `new` and mark the old one as superseded by it, both or neither.

        Return False, and change nothing, when the old one is not there or is from somebody else: only who said it, or
        the operator, may correct it.
        """
        ...


def audience_text(audience: Audience) -> str:
    """Return the audience as a text of its own, empty for everybody."""
    return "" if audience is None else " ".join(sorted(audience)) or "-"


def memory_id(kind: MemoryKind, who: str, text: str, audience: Audience = None) -> str:
    """Return the id of a memory: the same words of the same person for the same audience have the same one."""
    told = audience_text(audience)
    same = "\0".join((kind, who, " ".join(text.casefold().split()), told))
    return f"{kind}:{blake2b(same.encode(errors='replace'), digest_size=10).hexdigest()}"


def describe_age(seconds: float) -> str:
    """Say in words how long ago something was."""
    for size, one, many in ((_DAY, "yesterday", "{} days ago"), (_HOUR, "an hour ago", "{} hours ago")):
        if seconds >= size:
            count = int(seconds // size)
            return one if count == 1 else many.format(count)
    count = int(seconds // _MINUTE)
    if count < 1:
        return "just now"
    return "a minute ago" if count == 1 else f"{count} minutes ago"


def describe_memory(memory: Memory, now: float) -> str:
    """Return a memory as one line of data with its origin: `3 days ago, Ann told you: "..."`. `now` as `Memory.at`."""
    text, name = clean_heard(memory.text, MAX_TEXT), one_line(memory.name, max_chars=MAX_NAME)
    age = describe_age(now - memory.at)
    match memory.kind:
        case MemoryKind.HEARD:
            return f'{age}, {name or "somebody"} {memory.how or "said"}: "{text}"'
        case MemoryKind.SEEN:
            return f"{age}, you saw: {text}"
        case MemoryKind.LORE:
            return f"you know: {text}"
        case MemoryKind.REFLECTION:
            return f"you concluded {age}: {text}"
        case MemoryKind.FACT | MemoryKind.NOTE:
            return f"{age}, you noted{f' for {name}' if name else ''}: {text}"
