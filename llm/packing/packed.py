"""Old messages stored as the bytes they are sent as. They become messages again only when they are read.

A message with its blocks, texts and encoded form takes about a kilobyte. The bytes alone take a fifth of that, and most
calls need nothing else. A message that cannot be read back from its bytes (`read_back.py`) has its record beside them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, overload

from mud_assistant.llm.messages import Message, Role
from mud_assistant.llm.packing.read_back import read_message, reads_back

_NONE: Mapping[int, bytes] = MappingProxyType({})
_ROLES = tuple(Role)
_PLACES = {role: place for place, role in enumerate(_ROLES)}


class MessageCodec(Protocol):
    """A codec that writes a message down exactly and reads it again."""

    def encode(self, value: Message, /) -> bytes:
        """Return the message as a record."""
        ...

    def decode(self, record: object, /) -> Message:
        """Return the message of a record."""
        ...


class _Encoded:
    """The bytes of the first messages of a row under one key, joined by commas."""

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
    """Messages that are rebuilt one after the other when they are read."""

    __slots__ = ()

    @overload
    def __getitem__(self, at: int) -> Message: ...

    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...

    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        """Return the message at an index, or the messages of a slice.

        The first and the last are found without decoding the others, where that is possible.
        """
        if at in (0, -1):
            for message in self if at == 0 else reversed(self):
                return message
        return list(self)[at]

    def __reversed__(self) -> Iterator[Message]:
        """Iterate from the last message to the first."""
        return reversed(list(self))


class Packed(_Unread):
    """A row of messages stored as bytes. `codec` writes down those of which the bytes do not say everything."""

    __slots__ = ("_codec", "encoded", "heard", "kinds", "records")

    def __init__(self, keys: Iterable[str], codec: MessageCodec) -> None:
        """Make an empty row. The messages are read back from the bytes under the first of `keys`."""
        self.encoded = tuple(map(_Encoded, keys))
        self._codec = codec
        #: A byte for each message: its role, and whether its bytes are the raw turn as well.
        self.kinds = b""
        #: The records of the messages that cannot be read back from their bytes, by index.
        self.records: Mapping[int, bytes] = _NONE
        #: What `mud_assistant.llm.fallback.quotes` found in the messages: a cache that goes with them.
        self.heard: object = None

    @property
    def key(self) -> str:
        """The key of the bytes that the messages are read back from."""
        return self.encoded[0].key

    @property
    def size(self) -> int:
        """The number of those bytes."""
        return len(self.encoded[0].wire)

    def empty_copy(self) -> Packed:
        """Return an empty row with the same keys and codec."""
        return Packed([encoded.key for encoded in self.encoded], self._codec)

    def add(self, messages: Sequence[Message]) -> None:
        """Append these messages; each has bytes under `key`. The bytes already there are copied, not decoded."""
        key, start = self.key, len(self.kinds)
        kinds, records = bytearray(), {}
        before = self._before(start, messages[0].role) if messages else None
        for at, message in enumerate(messages, start):
            if not reads_back(message, message.wire[key], before):
                records[at] = self._codec.encode(message)
            kinds.append(_PLACES[message.role] * 2 + (message.raw is not None))
            before = message
        self.kinds += kinds
        if records:
            self.records = {**self.records, **records}
        for encoded in self.encoded:
            if len(encoded.sizes) == start and all(encoded.key in message.wire for message in messages):
                encoded.add([message.wire[encoded.key] for message in messages])

    def join(self, key: str, encode: Callable[[Message], bytes]) -> bytes:
        """Return the bytes of all messages, with commas between. Missing ones are encoded now and kept."""
        return self._of(key, encode).wire

    def pieces(self, key: str, encode: Callable[[Message], bytes]) -> Iterator[tuple[Role, bytes]]:
        """Iterate over the role and the bytes of each message."""
        roles = (_ROLES[kind // 2] for kind in self.kinds)
        return zip(roles, self._of(key, encode).pieces(), strict=True)

    def longest(self, role: Role, start: int, stop: int) -> int:
        """Return the size in bytes of the longest message of this role from `start` to `stop`, 0 when there is none."""
        sizes = zip(self.kinds[start:stop], self.encoded[0].sizes[start:stop], strict=True)
        return max((size for kind, size in sizes if _ROLES[kind // 2] is role), default=0)

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.kinds)

    def __iter__(self) -> Iterator[Message]:
        """Iterate over the messages as they were, with the bytes they were encoded to."""
        return self.span(0, len(self.kinds))

    def span(self, start: int, stop: int) -> Iterator[Message]:
        """Iterate over the messages from `start` to `stop`."""
        before = self._before(start, _ROLES[self.kinds[start] // 2]) if start < stop else None
        encoded = [(encoded.key, encoded.pieces(start, stop)) for encoded in self.encoded]
        for at, kind in enumerate(self.kinds[start:stop], start):
            wire = {key: piece for key, pieces in encoded if (piece := next(pieces, None)) is not None}
            if (record := self.records.get(at)) is not None:
                message = self._codec.decode(record)
            else:
                message = read_message(_ROLES[kind // 2], wire[self.key], before, as_sent=bool(kind % 2))
            message.wire.update(wire)
            yield message
            before = message

    def append_cut(self, cut: Cut) -> bool:
        """Append the messages of the cut without decoding them. Return False, and do nothing, if that is impossible."""
        row, start, stop = cut.row, cut.start, cut.stop
        if row.key != self.key or _ROLES[row.kinds[start] // 2] is Role.TOOL:  # the calls of the results stay behind
            return False
        at = len(self.kinds)
        self.kinds += row.kinds[start:stop]
        if records := {at + place - start: row.records[place] for place in row.records if start <= place < stop}:
            self.records = {**self.records, **records}
        theirs = {encoded.key: encoded for encoded in row.encoded}
        for encoded in self.encoded:
            other = theirs.get(encoded.key)
            if len(encoded.sizes) == at and other is not None and len(other.sizes) >= stop:
                encoded.add(list(other.pieces(start, stop)))
        return True

    def _before(self, at: int, role: Role) -> Message | None:
        """Return the message before this place when a message of this role there may need it, else None."""
        return next(self.span(at - 1, at)) if at and role is Role.TOOL else None

    def _of(self, key: str, encode: Callable[[Message], bytes]) -> _Encoded:
        """Return the bytes of all messages under this key. Encode those that are missing."""
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
    """Some messages of a row, decoded only when they are read."""

    __slots__ = ("row", "start", "stop")

    def __init__(self, row: Packed, start: int, stop: int) -> None:
        self.row = row
        self.start = start
        self.stop = stop

    def longest(self, role: Role) -> int:
        """Return the size in bytes of the longest message of this role, 0 when there is none. Decodes nothing."""
        return self.row.longest(role, self.start, self.stop)

    def __len__(self) -> int:
        """Return the number of messages."""
        return self.stop - self.start

    def __iter__(self) -> Iterator[Message]:
        """Iterate over the messages as they were."""
        return self.row.span(self.start, self.stop)


Part = Message | Packed


class Joined(_Unread):
    """A sequence of messages of which some are packed."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[Part]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        """Return the number of messages without decoding any."""
        return sum(1 if isinstance(part, Message) else len(part) for part in self.parts)

    def __iter__(self) -> Iterator[Message]:
        """Iterate over the messages, one row of packed ones at a time."""
        for part in self.parts:
            if isinstance(part, Message):
                yield part
            else:
                yield from part

    def __reversed__(self) -> Iterator[Message]:
        """Iterate from the last message to the first. Earlier rows are decoded only when they are reached."""
        for part in reversed(self.parts):
            if isinstance(part, Message):
                yield part
            else:
                yield from reversed(part)


def parts_of(messages: Sequence[Message]) -> Sequence[Part]:
    """Return the messages and rows of a sequence, without decoding the packed ones."""
    return messages.parts if type(messages) is Joined else messages


def with_first(messages: Sequence[Message], first: Message) -> Joined:
    """Return the messages with the first one replaced."""
    head, *rest = parts_of(messages)
    return Joined((first, *(() if isinstance(head, Message) else head[1:]), *rest))


def join_bytes(encoded: Sequence[bytes]) -> bytes:
    """Join what orjson returned by commas, in no more memory than the bytes need.

    orjson's own bytes objects take 4 KiB however short they are, and joining a single one returns that same object.
    """
    return b"".join((b",".join(encoded), b""))
