"""Reads and writes lorebooks as they stand in character cards and in SillyTavern's files of worlds. Pure.

Regular expressions among the keys are never run: Python has no time limit for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mud_assistant.assistant.characters.character import (
    MAX_AFTER,
    MAX_ENTRIES,
    MAX_KEY,
    MAX_KEYS,
    MAX_LORE,
    MAX_TITLE,
    SCAN_DEPTH,
    Lorebook,
    LoreEntry,
    unique_titles,
)
from mud_assistant.assistant.characters.cleaning import clean_line
from mud_assistant.assistant.characters.decorators import split_decorators
from mud_assistant.assistant.characters.fields import Fields
from mud_assistant.assistant.characters.topic_tables import EXTENSION, own_extension
from mud_assistant.assistant.characters.unused import unused_in_entries

MAX_SCAN_DEPTH, MAX_BUDGET, USUAL_ORDER = 50, 100_000, 100
_REGEX = re.compile(r"/(.*)/[a-z]*", re.DOTALL)
_LITERAL = re.compile(r"[^\\^$.|?*+()\[\]{}]+")
#: SillyTavern's numbers for how further keys are judged.
_LOGIC = ("any", "not_all", "not_any", "all")
_MAX_ORDER = 1_000_000


def is_lorebook(data: Mapping[str, Any]) -> bool:
    """Tell whether the object is a lorebook by itself, of a card's kind or of SillyTavern's."""
    return data.get("spec") == "lorebook_v3" or ("entries" in data and not isinstance(data.get("data"), Mapping))


def read_book(book: Mapping[str, Any], fields: Fields) -> Lorebook:
    """Return a lorebook with its texts cleaned. What is left out is told to `fields`."""
    raw = list(raw_entries(book))
    if len(raw) > MAX_ENTRIES:
        fields.drop(f"{len(raw) - MAX_ENTRIES} lore entries beyond the first {MAX_ENTRIES}")
    found = [_entry(one, number, fields) for number, one in enumerate(raw[:MAX_ENTRIES], start=1)]
    for sentence in unused_in_entries(raw[:MAX_ENTRIES]):
        fields.drop(sentence)
    return Lorebook(
        unique_titles(filter(None, found)),
        _count(book.get("scan_depth"), MAX_SCAN_DEPTH) or SCAN_DEPTH,
        _count(book.get("token_budget"), MAX_BUDGET),
        book.get("recursive_scanning") is True,
    )


def raw_entries(book: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the entries of a book as they stand in it: a list, or a table by number."""
    entries = book.get("entries")
    if isinstance(entries, Mapping):
        yield from entries.values()
    elif isinstance(entries, list):
        yield from entries


def written_entry(entry: LoreEntry, number: int) -> dict[str, Any]:
    """Return an entry as version 2 and 3 of the cards have it."""
    return {
        "keys": list(entry.keys),
        "content": "\n".join([*_written_decorators(entry), entry.text]),
        "extensions": {
            "probability": entry.probability,
            "useProbability": True,
            "match_whole_words": entry.whole_words,
            "selectiveLogic": _LOGIC.index(entry.logic),
            "exclude_recursion": not entry.reached,
            "prevent_recursion": not entry.reaches,
            **({EXTENSION: {"private": True}} if entry.private else {}),
        },
        "enabled": True,
        "insertion_order": entry.order,
        "case_sensitive": entry.case_sensitive,
        "use_regex": False,
        "name": entry.title,
        "priority": entry.priority if entry.priority is not None else entry.order,
        "id": number,
        "comment": entry.title,
        "selective": bool(entry.secondary),
        "secondary_keys": list(entry.secondary),
        "constant": entry.constant,
        "position": "before_char",
    }


def _entry(raw: object, number: int, fields: Fields) -> LoreEntry | None:
    """Return one entry, None when it cannot be used."""
    if not isinstance(raw, Mapping):
        fields.drop(f"lore entry {number}: it is no table")
        return None
    extensions = raw.get("extensions")
    extra: Mapping[str, Any] = extensions if isinstance(extensions, Mapping) else {}
    keys, lost = _keys(raw.get("keys", raw.get("key")), raw.get("use_regex") is True)
    title = fields.line(_first_text(raw, "comment", "name"), f"lore entry {number}", MAX_TITLE)
    title = title or (keys[0] if keys else f"Entry {number}")
    where = f"lore entry {number}, {title}"
    if raw.get("enabled", True) is False or raw.get("disable") is True:
        fields.drop(f"{where}: it is switched off")
        return None
    if lost:
        fields.drop(f"{where}: {len(lost)} of its keys, which are regular expressions and are not run: {_few(lost)}")
    content, decorators, _ = split_decorators(raw.get("content"))
    text = fields.text(content, where, MAX_LORE)
    constant = raw.get("constant") is True or "activate" in decorators
    is_never = "dont_activate" in decorators and "activate" not in decorators
    if not text or is_never or not (keys or constant):
        fields.drop(f"{where}: {'it has no text' if not text else 'nothing would ever bring it up'}")
        return None
    others = raw.get("secondary_keys", raw.get("keysecondary"))
    secondary, lost = _keys(others, False) if raw.get("selective", True) is not False else ((), [])
    logic = raw.get("selectiveLogic", extra.get("selectiveLogic", 0))
    order = _number(raw.get("insertion_order", raw.get("order")))
    after = _whole(decorators.get("activate_only_after")) or _number(_field(raw, extra, "delay")) or 0
    if after > MAX_AFTER:
        fields.drop(f"{where}: it waits for {after} lines of the character; here for {MAX_AFTER}, the most")
    return LoreEntry(
        title,
        text,
        keys,
        secondary,
        _LOGIC[logic] if isinstance(logic, int) and 0 <= logic < len(_LOGIC) else _LOGIC[0],
        constant,
        _number(raw.get("priority")),
        USUAL_ORDER if order is None else order,
        (raw.get("case_sensitive") or raw.get("caseSensitive") or extra.get("case_sensitive")) is True,
        not _is_on("exclude_recursion", "excludeRecursion", raw, extra),
        not _is_on("prevent_recursion", "preventRecursion", raw, extra),
        _keys(decorators.get("additional_keys"), False)[0],
        _keys(decorators.get("exclude_keys"), False)[0],
        _probability(raw, extra),
        max(0, min(after, MAX_AFTER)),
        _field(raw, extra, "match_whole_words") is not False,
        own_extension(raw).get("private") is True,
    )


def _keys(raw: object, use_regex: bool) -> tuple[tuple[str, ...], list[str]]:
    """Return the keys, and those that are lost because they are regular expressions that hold more than plain text."""
    parts = raw.split(",") if isinstance(raw, str) else raw if isinstance(raw, list) else []
    found: dict[str, None] = {}
    lost = []
    for part in (one[: 4 * MAX_KEY] for one in parts[: 4 * MAX_KEYS] if isinstance(one, str)):
        slashed = _REGEX.fullmatch(part.strip())
        plain = slashed[1] if slashed else part
        if (use_regex or slashed) and not _LITERAL.fullmatch(plain):
            lost.append(part)
        elif key := _clean_key(plain):
            found[key] = None
    return tuple(found)[:MAX_KEYS], lost


def _clean_key(text: str) -> str:
    """Return a key cleaned, on one line; empty when it is too long to be one."""
    key = clean_line(text, 2 * MAX_KEY)
    return key if len(key) <= MAX_KEY else ""


def _written_decorators(entry: LoreEntry) -> Iterator[str]:
    """Yield what no field of an entry has, as lines before its text."""
    if entry.additional:
        yield f"@@additional_keys {','.join(entry.additional)}"
    if entry.excluded:
        yield f"@@exclude_keys {','.join(entry.excluded)}"
    if entry.after:
        yield f"@@activate_only_after {entry.after}"


def _first_text(raw: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := raw.get(name), str) and value.strip()), "")


def _is_on(name: str, other: str, *tables: Mapping[str, Any]) -> bool:
    return any(table.get(name) is True or table.get(other) is True for table in tables)


def _field(raw: Mapping[str, Any], extra: Mapping[str, Any], name: str) -> object:
    """Return a field of SillyTavern's: its worlds have `someName` in the entry, cards `some_name` beside it."""
    first, *rest = name.split("_")
    other = first + "".join(map(str.capitalize, rest))
    values = (table.get(key) for table in (raw, extra) for key in (name, other))
    return next((value for value in values if value is not None), None)


def _probability(raw: Mapping[str, Any], extra: Mapping[str, Any]) -> int:
    """Return in how many of 100 cases an entry is brought up."""
    is_used = _field(raw, extra, "use_probability") is not False
    number = _number(_field(raw, extra, "probability"))
    return 100 if number is None or not is_used else max(0, min(100, number))


def _whole(text: str | None) -> int:
    """Return the number that a decorator has as its value, 0 for none."""
    return int(text[:6]) if text and text.isascii() and text.isdecimal() else 0


def _number(value: object) -> int | None:
    """Return a number, bounded; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < float("inf"):
        return None
    return int(max(-_MAX_ORDER, min(_MAX_ORDER, value)))


def _count(value: object, most: int) -> int | None:
    """Return a number of lines or tokens, at most `most`; None for anything else."""
    number = _number(value)
    return min(number, most) if number is not None and number > 0 else None


def _few(keys: Sequence[str]) -> str:
    return ", ".join(clean_line(key, 40) for key in keys[:3])
