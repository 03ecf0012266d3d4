"""Defines the entries of the perception stream: what each carries, how it is masked, what a summary replaces. Pure.

`history.py` keeps them in order and under the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.journal import StreamEntry
from mud_assistant.assistant.journal.tables.repeats import has_any, own_words
from mud_assistant.llm.messages import Message, Role, ToolResult, tool_results, user
from mud_assistant.llm.packing.packed import Cut, Part
from mud_assistant.tools.trust import ASSISTANT_ID, TOP, Audience, clamp_level, may_hear

#: Replaces a tool output that was masked.
MASK = "[old output left out]"
#: Tool outputs up to this long, in characters, are not worth masking.
WORTH_MASKING = 200
#: The highest importance of an entry; an event has 1 to 10.
MOST_IMPORTANT = 255
#: How many people a summary may stand for; see `OldPart`.
MAX_SOURCES = 500
#: How many event ids a summary keeps, the newest.
_SUMMARY_IDS = 100
#: How many characters identify a line whose end was cut.
KNOWN_BY = 60
#: How many lines others see in the place of a private summary, the newest.
_SUMMARY_LINES = 5


@dataclass(slots=True)
class Entry:
    """Something perceived, one whole step (the assistant's message and the results of its calls), or a summary.

    `authority` is the lowest of all that is in the entry. `sources` are the ids of those who caused it. `seq` is its
    number in the journal, 0 until it was written; no other field is ever changed. `others_level` is the lowest
    authority of what others wrote in it: the assistant's own words have the authority of all that was in view when it
    spoke, and lower nothing further. `audience` is who may be told of the entry; in a run that others hear,
    `others_see` replaces it.
    """

    messages: Sequence[Message]
    tokens: int
    importance: int
    event_ids: tuple[str, ...] = ()
    authority: int = 0
    sources: tuple[str, ...] = ()
    seq: int = 0
    others_level: int = TOP
    audience: Audience = None
    others_see: str = ""

    @property
    def mask(self) -> tuple[Message, ...]:
        """The messages that others are shown in its place."""
        return (user(self.others_see),) if self.others_see else ()


class OldPart(Struct, frozen=True, eq=False):
    """The oldest entries of one audience as they were when a summary was begun. The summary will replace `keys`.

    The sources of a summary are never cut: otherwise somebody could not be forgotten any more. Where there would be
    more than `MAX_SOURCES`, the oldest entries (in practice the summary before) are missing from `entries` and are
    dropped.
    """

    keys: tuple[int, ...]
    entries: tuple[Entry, ...]
    tokens: int
    authority: int
    sources: tuple[str, ...]
    event_ids: tuple[str, ...]
    audience: Audience = None
    others_see: str = ""

    def summary(self, text: str, importance: int) -> StreamEntry:
        """Return the entry that takes the place of the part."""
        return StreamEntry(
            (user(text),),
            importance,
            self.event_ids,
            self.authority,
            self.sources,
            audience=self.audience,
            others_see=self.others_see,
        )


def trusted_part(
    items: Iterable[tuple[int, Entry]], hearers: Audience, least: int, scene: str, first_of_run: int
) -> list[Part]:
    """Return the messages of the entries of this level at least, oldest first, as these hearers may read them.

    `scene` stands before the first entry of the run, whose key is `first_of_run`; empty for none.
    """
    parts: list[Part] = []
    for key, entry in items:
        if scene and key >= first_of_run:
            parts.append(user(scene))
            scene = ""
        if entry.authority >= least:
            parts += entry.messages if may_hear(entry.audience, hearers) else entry.mask
    return parts


def lost_of(
    items: Iterable[tuple[int, Entry]], lines: Mapping[str, str], hearers: Audience, least: int = 0
) -> set[str]:
    """Return those of the events whose line, or its beginning, no entry of this level at least shows to these hearers.

    With no hearers everything is shown.
    """
    lost = set(lines)
    for _, entry in items:
        is_shown = entry.authority >= least and may_hear(entry.audience, hearers)
        for event_id in lost.intersection(entry.event_ids) if is_shown else ():
            if any(lines[event_id][:KNOWN_BY] in message.text for message in entry.messages):
                lost.discard(event_id)
    return lost


def old_part(items: Iterable[tuple[int, Entry]], tokens: int) -> OldPart:
    """Return the part that the first of these entries form which have one audience and so many tokens together.

    `items` are entries by their keys, oldest first. The authority of the part is their lowest.
    """
    old: dict[Audience, dict[int, Entry]] = {None: {}}
    sizes: dict[Audience, int] = {None: 0}
    for key, entry in items:
        if max(sizes.values()) >= tokens:
            break
        old.setdefault(entry.audience, {})[key] = entry
        sizes[entry.audience] = sizes.get(entry.audience, 0) + entry.tokens
    most = old[max(sizes, key=lambda audience: sizes[audience])]
    return _part_of(tuple(most), tuple(most.values()))


def _part_of(keys: Sequence[int], entries: Sequence[Entry]) -> OldPart:
    """Return the part that these entries form, oldest first and of one audience."""
    sources: set[str] = set()
    first = len(entries)
    while first:
        more = set(entries[first - 1].sources) - sources
        if len(sources) + len(more) > MAX_SOURCES:
            break
        sources |= more
        first -= 1
    shown = tuple(entries[first:])
    authority = min((entry.authority for entry in entries), default=TOP)
    ids = tuple(event_id for entry in shown for event_id in entry.event_ids)[-_SUMMARY_IDS:]
    tokens = sum(entry.tokens for entry in entries)
    audience = entries[0].audience if entries else None
    others_see = dict.fromkeys(line for entry in shown for line in entry.others_see.split("\n") if line)
    lines = "\n".join(list(others_see)[-_SUMMARY_LINES:])
    return OldPart(tuple(keys), shown, tokens, authority, tuple(sorted(sources)), ids, audience, lines)


def from_store(stored: StreamEntry, tokens: int, others_level: int | None = None) -> Entry:
    """Return the entry for what the journal keeps. Without `others_level`, all of it counts as written by others."""
    authority = clamp_level(stored.authority)
    importance = min(max(stored.importance, 0), MOST_IMPORTANT)
    others = authority if others_level is None else clamp_level(others_level)
    ids, sources, audience = stored.event_ids, stored.sources, stored.audience
    return Entry(
        stored.messages, tokens, importance, ids, authority, sources, stored.seq, others, audience, stored.others_see
    )


def to_store(entry: Entry) -> StreamEntry:
    """Return the entry as the journal keeps it."""
    return StreamEntry(
        tuple(entry.messages),
        entry.importance,
        entry.event_ids,
        entry.authority,
        entry.sources,
        audience=entry.audience,
        others_see=entry.others_see,
    )


def mask(output: str) -> str:
    """Return the output, or the mask when it is long."""
    return MASK if len(output) > WORTH_MASKING else output


def mask_outputs(messages: Sequence[Message]) -> Sequence[Message]:
    """Mask the long tool outputs in the messages. Returns the same object when there are none."""
    if isinstance(messages, Cut) and messages.longest(Role.TOOL) <= WORTH_MASKING:
        return messages
    if not any(_is_long(result) for message in messages for result in message.tool_results):
        return messages
    return tuple(_mask_results(message) for message in messages)


def _mask_results(message: Message) -> Message:
    results = message.tool_results
    if not any(_is_long(result) for result in results):
        return message
    return tool_results([replace(result, text=mask(result.text)) for result in results])


def _is_long(result: ToolResult) -> bool:
    return len(result.text) > WORTH_MASKING


def find_with_repeats(entries: Mapping[int, Entry], goes: Callable[[Entry], bool]) -> list[int]:
    """Return the keys of the entries that go, and of answers that hold words of which no other heard entry has any.

    Answers are its own, and what another assistant said.
    """
    gone = {key for key, entry in entries.items() if goes(entry)}
    texts = {key: str(tuple(entry.messages)) for key, entry in entries.items()}
    answers = {key for key, entry in entries.items() if _is_an_answer(entry)}
    heard = texts.keys() - answers
    own = own_words((texts[key] for key in gone & heard), (texts[key] for key in heard - gone))
    return [*gone, *(key for key in answers - gone if own and has_any(texts[key], own))]


def _is_an_answer(entry: Entry) -> bool:
    is_own = any(one.role is Role.ASSISTANT for one in entry.messages)
    return is_own or (bool(entry.sources) and all(who.startswith(ASSISTANT_ID) for who in entry.sources))
