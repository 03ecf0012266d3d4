"""Cuts a stream that is too long for the model's window, in this order.

    trimming, but for the last ten entries     long tool outputs are masked; the least important entries go
    squeezing, when that was not enough        long tool outputs of earlier runs; overheard lines, the oldest first; the
                                               least important entries; the run's own tool results and steps; last of
                                               all what was said to the assistant, and of that the newest line stays

So the line that is to be answered is in the prompt, however much was overheard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from mud_assistant.assistant.memory.stream.entries import KNOWN_BY, Entry, mask_outputs
from mud_assistant.llm.messages import Message, Role, ToolResult, tool_results, user

#: The share of the budget that the lines of one perception may take. Overheard lines beyond that are left out.
PERCEIVED_SHARE = 1 / 3
#: Replaces the lines that were left out.
LEFT_OUT = "[{count} earlier lines are left out here]"
_LEFT_OUT = re.compile(r"^\[(\d+) earlier lines are left out here\]$")
#: An entry of at least this importance holds something that was said to the assistant (`classify.py`).
ADDRESSED = 9
#: Characters to which tool results of the current run are cut, one length after the other until the stream fits.
_RESULT_CHARS = (4000, 2000, 1000, 500, 200, 60)
#: The fewest characters that are kept of the line to be answered.
_LEAST_CHARS = 200
_CUT = " ... [cut]"
#: How often lines are dropped by estimate, which may be wrong when they are in several languages.
_ATTEMPTS = 4


#: Returns the indices of the lines that may be dropped, from an entry's key and its lines.
MayGo = Callable[[int, Sequence[str]], Collection[int]]


class Stream(Protocol):
    """The stream that is trimmed."""

    tokens: int
    budget: int

    def change(self, key: int, messages: Sequence[Message]) -> None:
        """Replace the messages of an entry."""
        ...

    def remove(self, key: int) -> None:
        """Remove an entry."""
        ...


def trim(stream: Stream, entries: Mapping[int, Entry], old: Sequence[int], target: int) -> None:
    """Mask and remove old entries until `target` tokens are left, or all of them are removed."""
    for key in old:
        if stream.tokens <= target:
            return
        stream.change(key, mask_outputs(entries[key].messages))
    for key in sorted(old, key=lambda key: entries[key].importance):
        if stream.tokens <= target:
            return
        stream.remove(key)


def squeeze(
    stream: Stream,
    entries: Mapping[int, Entry],
    of_run: Collection[int],
    needed: Sequence[str],
    keep: Collection[str],
) -> None:
    """Cut inside all entries until the stream fits its budget or only the last of the `needed` lines is left.

    `of_run` are the keys of the entries that the run added. `keep` are the ids of the events that the needed lines tell
    of.
    """
    held = {key for key, entry in entries.items() if not set(keep).isdisjoint(entry.event_ids)}
    held |= {key for key in of_run if key in entries and _is_perceived(entries[key])}
    others = [key for key in entries if key not in held and key not in of_run]
    steps = [key for key in of_run if key in entries and key not in held]
    known = {line[:KNOWN_BY] for line in needed}

    def overheard(_: int, lines: Sequence[str]) -> set[int]:
        return {place for place, line in enumerate(lines) if line[:KNOWN_BY] not in known}

    def but_the_last(key: int, lines: Sequence[str]) -> set[int]:
        return set(range(len(lines))) - ({at[1]} if (at := _place(entries, held, needed)) and at[0] == key else set())

    stages: list[Callable[[], None]] = [
        lambda: _each(stream, others, lambda key: stream.change(key, mask_outputs(entries[key].messages))),
        lambda: _each(stream, [*others, *held], lambda key: _drop_lines(stream, key, entries[key], overheard, held)),
        lambda: _each(stream, sorted(others, key=lambda key: entries[key].importance), stream.remove),
        *(_cutting(stream, steps, entries, most) for most in _RESULT_CHARS),
        lambda: _each(stream, steps[:-1], stream.remove),
        *(
            _dropping(stream, held, entries, but_the_last, whole=attempt == _ATTEMPTS)
            for attempt in range(_ATTEMPTS + 1)
        ),
    ]
    for stage in stages:
        if stream.tokens <= stream.budget:
            return
        stage()
    if needed and stream.tokens > stream.budget:
        _shorten(stream, held, entries, needed)


def fit_lines(lines: Sequence[str], overheard: Collection[int], room: int, count: Callable[[str], int]) -> list[str]:
    """Return the lines, cut to fit `room` tokens: a mark replaces the oldest ones that were only `overheard`.

    `overheard` holds indices of `lines`. What was said to the assistant stays.
    """
    kept = list(lines)
    spare = {lines[place] for place in overheard}
    for _ in range(_ATTEMPTS):
        tokens = count("\n".join(kept))
        if tokens <= room:
            break
        chars = sum(map(len, kept))
        may_go = [place for place, line in enumerate(kept) if line in spare]
        kept = _without(kept, may_go, chars * (tokens - room) // tokens + 1)
    return kept


def _each(stream: Stream, keys: Collection[int], do: Callable[[int], None]) -> None:
    """Call `do` with one key after the other until the stream fits."""
    for key in list(keys):
        if stream.tokens <= stream.budget:
            return
        do(key)


def _is_perceived(entry: Entry) -> bool:
    return all(message.role is Role.USER for message in entry.messages)


def _lines(entry: Entry) -> list[str]:
    return "\n".join(message.text for message in entry.messages).split("\n")


def _drop_lines(
    stream: Stream,
    key: int,
    entry: Entry,
    may_go: MayGo,
    held: Collection[int],
    *,
    whole: bool = False,
) -> None:
    """Drop the oldest lines that may go until the stream should fit, or with `whole` all of them."""
    if not _is_perceived(entry) or (key not in held and entry.importance >= ADDRESSED):
        return
    lines = _lines(entry)
    chars = sum(map(len, lines)) + len(lines)
    too_many = entry.tokens if whole else stream.tokens - stream.budget
    kept = _without(lines, may_go(key, lines), chars * too_many // max(1, entry.tokens) + 1)
    if kept != lines:
        stream.change(key, (user("\n".join(kept)),))


def _dropping(
    stream: Stream,
    held: Collection[int],
    entries: Mapping[int, Entry],
    may_go: MayGo,
    *,
    whole: bool = False,
) -> Callable[[], None]:
    """Return the stage that drops lines of what the run perceived."""
    return lambda: _each(
        stream, sorted(held), lambda key: _drop_lines(stream, key, entries[key], may_go, held, whole=whole)
    )


def _without(lines: Sequence[str], may_go: Collection[int], chars: int) -> list[str]:
    """Return the lines with about `chars` characters of those that may go removed, and a mark where the first was.

    `may_go` holds indices of `lines`.
    """
    kept: list[str] = []
    place, gone, dropped = 0, 0, 0
    for at, line in enumerate(lines):
        mark = _LEFT_OUT.match(line)
        if mark or (at in may_go and gone < chars + len(LEFT_OUT)):
            place = len(kept) if not dropped else place
            dropped += int(mark[1]) if mark else 1
            gone += 0 if mark else len(line) + 1
        else:
            kept.append(line)
    if dropped:
        kept.insert(place, LEFT_OUT.format(count=dropped))
    return kept


def _cutting(stream: Stream, steps: Sequence[int], entries: Mapping[int, Entry], most: int) -> Callable[[], None]:
    """Return the stage that cuts the results of the run's own steps to `most` characters."""
    return lambda: _each(
        stream, steps, lambda key: stream.change(key, [_cut(message, most) for message in entries[key].messages])
    )


def _cut(message: Message, most: int) -> Message:
    if not any(len(result.text) > most for result in message.tool_results):
        return message
    return tool_results([_cut_result(result, most) for result in message.tool_results])


def _cut_result(result: ToolResult, most: int) -> ToolResult:
    return replace(result, text=result.text[:most] + _CUT) if len(result.text) > most else result


def _place(entries: Mapping[int, Entry], held: Collection[int], needed: Sequence[str]) -> tuple[int, int] | None:
    """Return the key and the index of the most important line to be answered, None when it is not there."""
    for key in sorted(held, reverse=True) if needed else ():
        lines = _lines(entries[key])
        for place in range(len(lines) - 1, -1, -1):
            if lines[place][:KNOWN_BY] == needed[-1][:KNOWN_BY]:
                return key, place
    return None


def _shorten(stream: Stream, held: Collection[int], entries: Mapping[int, Entry], needed: Sequence[str]) -> None:
    """Cut the end of the line that is to be answered, the only one left."""
    if (at := _place(entries, held, needed)) is None:
        return
    key, place = at
    lines = _lines(entries[key])
    too_many = stream.tokens - stream.budget
    most = len(lines[place]) - len(lines[place]) * too_many // max(1, entries[key].tokens) - len(_CUT)
    lines[place] = lines[place][: max(_LEAST_CHARS, most)] + _CUT
    stream.change(key, (user("\n".join(lines)),))
