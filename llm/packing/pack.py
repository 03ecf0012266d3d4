"""Packs messages as bytes, and finds them again in the groups in which they were packed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from mud_assistant.llm.messages import Message
from mud_assistant.llm.packing.packed import Cut, MessageCodec, Packed, Part

#: A row of this many bytes takes no more messages, because adding to a row copies it.
FULL = 32 * 1024


def pack(groups: Iterable[Sequence[Message]], parts: list[Part], codec: MessageCodec) -> None:
    """Append the messages to `parts`, packed where possible. Cuts are copied as they are."""
    fresh: list[Message] = []
    for messages in _rejoin(groups):
        if not isinstance(messages, Cut):
            fresh += messages
            continue
        _pack(fresh, parts, codec)
        fresh = []
        last = _last_of(parts, messages.row.key)
        if last is None:
            last = messages.row.empty_copy()
            parts.append(last)
        if not last.append_cut(messages):
            fresh = list(messages)
    _pack(fresh, parts, codec)


def regroup(parts: Iterable[Part], lengths: Iterable[int]) -> Iterator[Sequence[Message]]:
    """Yield the messages in groups of these lengths. A group that lies within one row is not decoded."""
    left = iter(parts)
    part: Part | None = None
    at = 0
    for length in lengths:
        group: list[Message] = []
        while len(group) < length:
            if part is None or (isinstance(part, Packed) and at == len(part)):
                part, at = next(left), 0
            if not isinstance(part, Packed):
                group.append(part)
                part = None
            elif not group and at + length <= len(part):
                break
            else:
                group += part.span(at, at + 1)
                at += 1
        if len(group) < length and isinstance(part, Packed):
            yield Cut(part, at, at + length)
            at += length
        else:
            yield tuple(group)


def _pack(messages: Iterable[Message], parts: list[Part], codec: MessageCodec) -> None:
    for key, group in groupby(messages, _key_of):
        if key is None:
            parts.extend(group)
            continue
        row, size = _last_of(parts, key), 0
        batch: list[Message] = []
        for message in group:
            if row is None or row.size + size >= FULL:
                if row is not None:
                    row.add(batch)
                row, size, batch = Packed(message.wire, codec), 0, []
                parts.append(row)
            batch.append(message)
            size += len(message.wire[key])
        if row is not None:
            row.add(batch)


def _last_of(parts: Sequence[Part], key: str) -> Packed | None:
    """Return the last part if it is a row that takes messages with bytes under this key, else None."""
    last = parts[-1] if parts else None
    return last if isinstance(last, Packed) and last.key == key and last.size < FULL else None


def _rejoin(groups: Iterable[Sequence[Message]]) -> Iterator[Sequence[Message]]:
    """Yield the same groups, with cuts that follow each other in one row joined into one."""
    whole: Cut | None = None
    for messages in groups:
        if whole is not None:
            if isinstance(messages, Cut) and whole.row is messages.row and whole.stop == messages.start:
                whole = Cut(whole.row, whole.start, messages.stop)
                continue
            yield whole
        whole = messages if isinstance(messages, Cut) else None
        if whole is None:
            yield messages
    if whole is not None:
        yield whole


def _key_of(message: Message) -> str | None:
    """Return the key of the bytes the message may be packed by, or None.

    None when the message was not encoded, or when its encoding depends on the tools offered with each request.
    """
    tied = message.raw is not None and message.raw.depends_on_tools
    return next(iter(message.wire)) if not tied and message.wire and all(message.wire.values()) else None
