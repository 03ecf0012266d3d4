"""Old messages as the bytes they are sent as. They become messages again when somebody looks at them.

A message, its blocks, its texts and its encoded form come to about a kilobyte, the bytes alone to a fifth of that, and
they are all that most calls need. What cannot be read back from them is kept beside them (`read_back.py`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, overload

from llm.messages import Message, Role
from llm.read_back import KEPT, NAMED, read, way_back

_NONE: Mapping[int, bytes] = MappingProxyType({})
_ROLES = tuple(Role)
_PLACES = {role: place for place, role in enumerate(_ROLES)}
#: The kind of a message is its role and, below this, the way back to it.
_WAYS = 4


class Keeper(Protocol):
    """Writes a message down exactly, and reads it again."""

    def encode(self, value: Message, /) -> bytes:
        """The message as a record."""
        ...

    def decode(self, record: object, /) -> Message:
        """The message of a record."""
        ...


class _Encoded:
    """The bytes of the first messages of a row under one key, each message's followed by a comma but the last's."""

    __slots__ = ("key", "sizes", "wire")

    def __init__(self, key: str) -> None:
        self.key = key
        self.wire = b""
        self.sizes = array("I")

    def add(self, pieces: Sequence[bytes]) -> None:
        self.wire = b",".join((self.wire, *pieces) if self.sizes else pieces)
        self.sizes.extend(map(len, pieces))

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        at = sum(self.sizes[:start]) + start
        for size in self.sizes[start:stop]:
            yield self.wire[at : at + size]
            at += size + 1


class _Unread(Sequence[Message]):
    """Messages that are made one after the other when somebody looks."""

    __slots__ = ()

    @overload
    def __getitem__(self, at: int) -> Message: ...

    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...

    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        """The first and the last are found without the others."""
        if at in (0, -1):
            for message in self if at == 0 else reversed(self):
                return message
        return list(self)[at]

    def __reversed__(self) -> Iterator[Message]:
        """The last first."""
        return reversed(list(self))


class Packed(_Unread):
    """Messages in a row as bytes. `keeper` writes down what these do not tell."""

    __slots__ = ("_keeper", "encoded", "kept", "kinds")

    def __init__(self, keys: Iterable[str], keeper: Keeper) -> None:
        """Empty. The first of `keys` is what the messages are read back from."""
        self.encoded = tuple(map(_Encoded, keys))
        self._keeper = keeper
        self.kinds = b""
        self.kept: Mapping[int, bytes] = _NONE

    @property
    def key(self) -> str:
        """The key of the bytes that the messages are read back from."""
        return self.encoded[0].key

    @property
    def size(self) -> int:
        """How many bytes those are."""
        return len(self.encoded[0].wire)

    def emptied(self) -> Packed:
        """A row for messages of this one."""
        return Packed([encoded.key for encoded in self.encoded], self._keeper)

    def add(self, messages: Sequence[Message]) -> None:
        """Keep these at the end; each has bytes under `key`. What is there is copied, not looked into."""
        key, start, before = self.key, len(self.kinds), None
        kinds, kept = bytearray(), {}
        for at, message in enumerate(messages, start):
            way = way_back(before, message, key)
            if way == KEPT:
                kept[at] = self._keeper.encode(message)
            kinds.append(_PLACES[message.role] * _WAYS + way)
            before = message
        self.kinds += kinds
        if kept:
            self.kept = {**self.kept, **kept}
        for encoded in self.encoded:
            if len(encoded.sizes) == start and all(encoded.key in message.wire for message in messages):
                encoded.add([message.wire[encoded.key] for message in messages])

    def joined(self, key: str, encode: Callable[[Message], bytes]) -> bytes:
        """The bytes of all, with commas between. What there are none of yet is encoded now and kept."""
        return self._of(key, encode).wire

    def pieces(self, key: str, encode: Callable[[Message], bytes]) -> Iterator[tuple[Role, bytes]]:
        """The role and the bytes of each."""
        roles = (_ROLES[kind // _WAYS] for kind in self.kinds)
        return zip(roles, self._of(key, encode).pieces(), strict=True)

    def longest(self, role: Role, start: int, stop: int) -> int:
        """The most bytes of a message of this role from `start` to `stop`, 0 when there is none."""
        told = zip(self.kinds[start:stop], self.encoded[0].sizes[start:stop], strict=True)
        return max((size for kind, size in told if _ROLES[kind // _WAYS] is role), default=0)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.kinds)

    def __iter__(self) -> Iterator[Message]:
        """Each as it was, with the bytes it was encoded to."""
        return self.span(0, len(self.kinds))

    def span(self, start: int, stop: int) -> Iterator[Message]:
        """Those from `start` to `stop`."""
        before: Message | None = None
        if start and self.kinds[start] % _WAYS == NAMED:
            [before] = self.span(start - 1, start)
        encoded = [(encoded.key, encoded.pieces(start, stop)) for encoded in self.encoded]
        for at, kind in enumerate(self.kinds[start:stop], start):
            wire = {key: piece for key, pieces in encoded if (piece := next(pieces, None)) is not None}
            kept = self.kept.get(at)
            role, way = _ROLES[kind // _WAYS], kind % _WAYS
            message = read(before, role, wire[self.key], way) if kept is None else self._keeper.decode(kept)
            message.wire.update(wire)
            yield message
            before = message

    def copied(self, cut: Cut) -> bool:
        """Whether the messages of the cut were added unread; False, and nothing is done, when that cannot be."""
        row, start, stop = cut.row, cut.start, cut.stop
        if row.key != self.key or row.kinds[start] % _WAYS == NAMED:
            return False
        at = len(self.kinds)
        self.kinds += row.kinds[start:stop]
        if kept := {at + place - start: row.kept[place] for place in row.kept if start <= place < stop}:
            self.kept = {**self.kept, **kept}
        theirs = {encoded.key: encoded for encoded in row.encoded}
        for encoded in self.encoded:
            other = theirs.get(encoded.key)
            if len(encoded.sizes) == at and other is not None and len(other.sizes) >= stop:
                encoded.add(list(other.pieces(start, stop)))
        return True

    def _of(self, key: str, encode: Callable[[Message], bytes]) -> _Encoded:
        """The bytes of all under this key."""
        for found in self.encoded:
            if found.key == key:
                break
        else:
            found = _Encoded(key)
            self.encoded = (*self.encoded, found)
        if len(found.sizes) < len(self.kinds):
            found.add([encode(message) for message in list(self)[len(found.sizes) :]])
        return found


class Cut(_Unread):
    """Messages of a row, unread until somebody looks."""

    __slots__ = ("row", "start", "stop")

    def __init__(self, row: Packed, start: int, stop: int) -> None:
        self.row = row
        self.start = start
        self.stop = stop

    def longest(self, role: Role) -> int:
        """The most bytes of a message of this role, 0 when there is none. Reads nothing."""
        return self.row.longest(role, self.start, self.stop)

    def __len__(self) -> int:
        """How many there are."""
        return self.stop - self.start

    def __iter__(self) -> Iterator[Message]:
        """Each as it was."""
        return self.row.span(self.start, self.stop)


Part = Message | Packed


class Joined(_Unread):
    """Messages of which some are packed, as one sequence."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[Part]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        """How many there are; reads none."""
        return sum(1 if isinstance(part, Message) else len(part) for part in self.parts)

    def __iter__(self) -> Iterator[Message]:
        """Each, a row of them at a time."""
        for part in self.parts:
            if isinstance(part, Message):
                yield part
            else:
                yield from part

    def __reversed__(self) -> Iterator[Message]:
        """The last first; what stands before is read when it is come to."""
        for part in reversed(self.parts):
            if isinstance(part, Message):
                yield part
            else:
                yield from reversed(part)


def parts_of(messages: Sequence[Message]) -> Sequence[Part]:
    """The messages, the packed ones unseen."""
    return messages.parts if type(messages) is Joined else messages


def with_first(messages: Sequence[Message], first: Message) -> Joined:
    """The messages with another first one."""
    head, *rest = parts_of(messages)
    return Joined((first, *(() if isinstance(head, Message) else head[1:]), *rest))
