"""Reads and writes lorebooks as they stand in character cards and in SillyTavern's files of worlds. Pure.

Regular expressions among the keys are never run: Python has no time limit for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assistant.characters.character import (
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
from assistant.characters.cleaning import clean_line
from assistant.characters.fields import Fields

MAX_SCAN_DEPTH, MAX_BUDGET, USUAL_ORDER = 50, 100_000, 100
_REGEX = re.compile(r"/(.*)/[a-z]*", re.DOTALL)
_LITERAL = re.compile(r"[^\\^$.|?*+()\[\]{}]+")
_DECORATOR = re.compile(r"@@@?(\w+)")
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
    found = (_entry(one, number, fields) for number, one in enumerate(raw[:MAX_ENTRIES], start=1))
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
        "content": entry.text,
        "extensions": {
            "selectiveLogic": _LOGIC.index(entry.logic),
            "exclude_recursion": not entry.reached,
            "prevent_recursion": not entry.reaches,
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
    content, decorators = _without_decorators(raw.get("content"))
    text = fields.text(content, where, MAX_LORE)
    constant = raw.get("constant") is True or "activate" in decorators
    if not text or "dont_activate" in decorators or not (keys or constant):
        fields.drop(f"{where}: {'it has no text' if not text else 'nothing would ever bring it up'}")
        return None
    others = raw.get("secondary_keys", raw.get("keysecondary"))
    secondary, lost = _keys(others, False) if raw.get("selective", True) is not False else ((), [])
    logic = raw.get("selectiveLogic", extra.get("selectiveLogic", 0))
    order = _number(raw.get("insertion_order", raw.get("order")))
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


def _without_decorators(content: object) -> tuple[str, set[str]]:
    """Return the text without the lines `@@name value` at its start, and the names on them."""
    if not isinstance(content, str):
        return "", set()
    lines = content.lstrip().split("\n")
    names = set()
    while lines and (found := _DECORATOR.match(lines[0])):
        names.add(found[1].casefold())
        del lines[0]
    return "\n".join(lines), names


def _first_text(raw: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := raw.get(name), str) and value.strip()), "")


def _is_on(name: str, other: str, *tables: Mapping[str, Any]) -> bool:
    return any(table.get(name) is True or table.get(other) is True for table in tables)


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
