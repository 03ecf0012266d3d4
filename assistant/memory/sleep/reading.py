"""Reads what a model answered at night. What can be read is used, what cannot is left out, and no answer raises.

What comes of it is text with labels: the lowest authority of all it was made of, all their sources, the audience they
have in common. A model that obeys a player's line gets no further than a sentence with that player's authority.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from hashlib import sha256
from itertools import groupby

from msgspec import Struct

from mud_assistant.assistant.memory.remembering import profile_id
from mud_assistant.assistant.memory.sleep import asking, judging
from mud_assistant.assistant.memory.sleep.plan import SleepTask, TaskKind, sources_of
from mud_assistant.llm.loose_json.repair import UnreadableJSON, parse_value
from mud_assistant.llm.messages import JSON
from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.trust import Audience, common

#: The longest answer that is read, and the longest note or conclusion, in characters.
MAX_ANSWER, MAX_NOTE = 20_000, 300
#: The most memories that a profile names as its parts. A profile with more is begun anew.
MAX_PARTS = 300
_PROFILE_IMPORTANCE, _INSIGHT_IMPORTANCE = 6, 7
_MAX_STARTS, _MAX_DEPTH = 20, 6
_LONGEST_WORD = 12
#: Of how many cited lines one at the least shares a word with the conclusion.
_GROUNDED_PART = 3
#: How many words a new note shares with an old one that it takes the place of.
_SAME_STEMS = 2

_CITED = re.compile(r"[\[(]\s*(?:lines?|from|see|#)?[\s:#]*(\d[\d,;\s#&and-]*)[\])]\.?\s*$", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")
_NAME = re.compile(r"\w{2,}")
_NUMBER = re.compile(r"\d{1,4}")
_FENCE = re.compile(r"```\w*")
_BRACKETS = str.maketrans("[]{}", "()()")
_ENDS = ".!?…'\"。！？"  # noqa: RUF001 - full-width marks end sentences too
_NOTE_KEYS = ("notes", "profile")
_TEXT_KEYS = ("text", "insight", "conclusion", "statement", "sentence", "content", "summary")
_LINE_KEYS = ("lines", "line", "numbers", "sources", "evidence", "cited", "based_on", "refs")


class NightResult(Struct, frozen=True):
    """What came of one answer: memories to write down, and pairs of ids, of which the newer supersedes the older."""

    memories: tuple[Memory, ...] = ()
    superseded: tuple[tuple[str, str], ...] = ()


def read_answer(text: str, task: SleepTask, me: Sequence[str], at: float) -> NightResult:
    """Return what an answer to a task gives. `me` holds the character's id and its names.

    `at` is the time of the conclusions.
    """
    text = text[:MAX_ANSWER]
    match task.wish.kind:
        case TaskKind.PROFILE:
            return NightResult(tuple(_read_profile(text, task, me[1:])))
        case TaskKind.CONTRADICTIONS:
            return NightResult(superseded=tuple(_read_pairs(text, task)))
        case TaskKind.INSIGHTS | TaskKind.ANEW:
            return NightResult(tuple(_read_insights(text, task, me, at)))


def _read_profile(text: str, task: SleepTask, my_names: Sequence[str]) -> Iterator[Memory]:
    """Yield the new profile: the notes that stand, as many as it has room for."""
    who = asking.name_of(task.lines, task.wish.who)
    notes = [judged for note in _note_texts(text) if (judged := _judge_note(note, task, who, my_names))]
    if not notes:
        return
    short = _join_notes([*notes, *_notes_kept(task.old, notes, who)], asking.PROFILE_WORDS)
    parts = [*task.lines, *([task.old] if task.old else [])]
    made_of = [*(task.old.made_of if task.old else ()), *(line.id for line in task.lines)]
    yield Memory(
        id=profile_id(task.wish.who, task.wish.audience),
        text=short,
        kind=MemoryKind.REFLECTION,
        at=max(part.at for part in parts),
        name=next((line.name for line in reversed(task.lines) if line.name), ""),
        importance=_PROFILE_IMPORTANCE,
        authority=min(part.authority for part in parts),
        sources=frozenset(source for part in parts for source in sources_of(part)),
        audience=_audience_of(parts),
        made_of=tuple(dict.fromkeys(made_of)),
        about=(task.wish.who,),
    )


def _notes_kept(old: Memory | None, notes: Sequence[str], who: str) -> list[str]:
    """Return the old notes that no new one is about. A small model leaves out what it should keep."""
    name = judging.find_stems(who)
    new = [judging.find_stems(note) - name for note in notes]
    return [
        note
        for note in asking.split_sentences(old.text if old else "")
        if (mine := judging.find_stems(note) - name)
        and all(len(stems & mine) < min(_SAME_STEMS, len(mine)) for stems in new)
    ]


def _note_texts(text: str) -> list[str]:
    """Return the notes in an answer: from JSON, else its lines, when they are prose."""
    found = [note for value in _values(text) for note in _texts_in(value)]
    if not found and "{" not in text:
        found = [_BULLET.sub("", line) for line in _FENCE.sub("", text).splitlines()]
    return [one_line(note, max_chars=MAX_NOTE).translate(_BRACKETS) for note in found[: asking.MAX_NOTES]]


def _texts_in(value: JSON, depth: int = 0) -> Iterator[str]:
    """Yield the sentences in a value, however they are wrapped."""
    match value:
        case str():
            yield value
        case list() if depth < _MAX_DEPTH:
            for one in value:
                yield from _texts_in(one, depth + 1)
        case dict() if depth < _MAX_DEPTH:
            wanted = [value[key] for key in (*_NOTE_KEYS, *_TEXT_KEYS) if key in value][:1] or list(value.values())
            for one in wanted:
                yield from _texts_in(one, depth + 1)
        case _:
            return


def _judge_note(note: str, task: SleepTask, who: str, my_names: Sequence[str]) -> str:
    """Return what of a note stands. A sentence in the person's own words becomes a quotation."""
    said = [line.text for line in task.lines]
    shown = [*said, *([task.old.text] if task.old else [])]
    kept: list[str] = []
    for copied, sentences in groupby(
        asking.split_sentences(note), lambda one: judging.is_copy(one, said) or judging.is_first_person(one)
    ):
        held = [one for one in sentences if judging.is_grounded(one, shown, [who])]
        if copied:
            words = " ".join(one for one in held if not judging.says_of_me(one, my_names)).strip("'\" ")
            kept += [f"{who} said: '{words}'"] if words else []
        else:
            kept += [one for one in held if not judging.is_about_me(one, my_names, [who])]
    return " ".join(kept)


def _join_notes(notes: Iterable[str], most: int) -> str:
    """Return the notes as one text of at most so many words, each once."""
    kept: list[str] = []
    for note in dict.fromkeys(notes):
        words = note.split()
        if sum(len(one.split()) for one in kept) + len(words) <= most and any(char.isalpha() for char in note):
            kept.append(note if note[-1] in _ENDS else f"{note}.")
    return one_line(" ".join(kept), max_chars=most * _LONGEST_WORD)


def _read_insights(text: str, task: SleepTask, me: Sequence[str], at: float) -> Iterator[Memory]:
    """Yield the conclusions that cite lines which were shown, one for the same lines."""
    shown = asking.in_order_shown(task)
    names = sorted({line.name for line in shown if line.name})
    seen: set[str] = set()
    for said, numbers in _cited_texts(text):
        cited = [shown[number - 1] for number in dict.fromkeys(numbers) if 0 < number <= len(shown)]
        short = one_line(said, max_chars=MAX_NOTE).translate(_BRACKETS)
        if not cited or not any(char.isalpha() for char in short):
            continue
        if _GROUNDED_PART * sum(judging.is_grounded(short, [line.text], names) for line in cited) < len(cited):
            continue
        if judging.is_about_me(short, me[1:], names) and any(sources_of(line) != {me[0]} for line in cited):
            continue
        insight = _make_insight(short, cited, shown, at)
        if insight.id not in seen and len(seen) < asking.MAX_INSIGHTS:
            seen.add(insight.id)
            yield insight


def _make_insight(text: str, cited: Sequence[Memory], shown: Sequence[Memory], at: float) -> Memory:
    """Return a conclusion with the labels of what it is made of.

    The model read all the lines, so the authority is the lowest of them all, and whoever spoke an uncited line of which
    the text has a word is among the sources: a line may tell the model to cite another one. Such a line counts as a
    part, so that the conclusion goes when it is deleted.
    """
    rest = judging.find_stems(text) - judging.find_stems(" ".join(line.text for line in cited))
    words = frozenset(_NAME.findall(text.casefold()))
    repeated = [
        line
        for line in shown
        if rest & judging.find_stems(line.text) or words.intersection(_NAME.findall(line.name.casefold()))
    ]
    parts = {line.id: line for line in (*cited, *repeated)}
    sources = frozenset(source for line in parts.values() for source in sources_of(line))
    audience, made_of = _audience_of(shown), tuple(parts)
    told = None if audience is None else sorted(audience)
    label = json.dumps([MemoryKind.REFLECTION, told, sorted(sources), sorted(made_of)])
    return Memory(
        id="insight:" + sha256(label.encode(errors="replace")).hexdigest()[:24],
        text=text,
        kind=MemoryKind.REFLECTION,
        at=at,
        importance=_INSIGHT_IMPORTANCE,
        authority=min(line.authority for line in shown),
        sources=sources,
        audience=audience,
        made_of=made_of,
        about=tuple(sorted({source for line in cited for source in sources_of(line)})),
    )


def _audience_of(parts: Sequence[Memory]) -> Audience:
    return reduce(common, (part.audience for part in parts))


def _read_pairs(text: str, task: SleepTask) -> Iterator[tuple[str, str]]:
    """Yield the pairs of which the newer line holds. Any other verdict changes nothing."""
    verdicts: dict[int, str] = {}
    for found in _dicts(value for value in _values(text)):
        number = next(iter(_numbers(found.get("pair", found.get("number")))), 0)
        holds = found.get("holds", found.get("verdict"))
        if isinstance(holds, str):
            verdicts.setdefault(number, holds.strip().casefold())
    for number, (older, newer) in enumerate(task.pairs, 1):
        if verdicts.get(number) == "newer" and older.who == newer.who:
            yield older.id, newer.id


def _cited_texts(text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each conclusion in an answer with the numbers it cites: from JSON, else from lines that end in numbers."""
    any_found = False
    for found in _dicts(_values(text)):
        said = next((found[key] for key in _TEXT_KEYS if isinstance(found.get(key), str)), None)
        numbers = next((found[key] for key in _LINE_KEYS if key in found), None)
        if isinstance(said, str):
            any_found = True
            bare, cited = _split_cited(said)
            yield bare, list(_numbers(numbers)) or cited
    if any_found:
        return
    for line in text.splitlines():
        bare, cited = _split_cited(line.strip().strip('",'))
        if cited:
            yield _BULLET.sub("", bare), cited


def _split_cited(line: str) -> tuple[str, list[int]]:
    """Split '... (lines 1, 3)' in the words and the numbers."""
    found = _CITED.search(line)
    return (line[: found.start()].strip(), list(_numbers(found[1]))) if found else (line, [])


def _numbers(value: JSON, depth: int = 0) -> Iterator[int]:
    """Yield the numbers of lines in a value, however they are written."""
    match value:
        case bool() | None:
            return
        case int() | float():
            yield int(value)
        case str():
            yield from map(int, _NUMBER.findall(value))
        case list() if depth < _MAX_DEPTH:
            for one in value:
                yield from _numbers(one, depth + 1)
        case dict() if depth < _MAX_DEPTH:
            for one in value.values():
                yield from _numbers(one, depth + 1)
        case _:
            return


def _values(text: str) -> Iterator[JSON]:
    """Yield the JSON values of an answer: what cannot be read is skipped."""
    at = 0
    for _ in range(_MAX_STARTS):
        starts = [start for mark in "{[" if (start := text.find(mark, at)) >= 0]
        if not starts:
            return
        try:
            parsed = parse_value(text, min(starts), complete=True)
        except UnreadableJSON:
            at = min(starts) + 1
            continue
        yield parsed.value
        at = max(parsed.end, min(starts) + 1)


def _dicts(values: Iterator[JSON], depth: int = 0) -> Iterator[dict[str, JSON]]:
    """Yield each object in the values, the outer ones first."""
    for value in values:
        if isinstance(value, dict):
            yield value
        if isinstance(value, dict | list) and depth < _MAX_DEPTH:
            yield from _dicts(iter(value.values() if isinstance(value, dict) else value), depth + 1)
