"""Reads the decorators of a lore entry: lines such as `@@exclude_keys war, peace` at the start of its text. Pure.

https://github.com/kwaroran/character-card-spec-v3, "Decorators".
"""

from __future__ import annotations

import re

_LINE = re.compile(r"(@@@?)(\w+)[ \t]*(.*)")
#: Those that are heeded.
_HEEDED = {"activate", "dont_activate", "additional_keys", "exclude_keys", "activate_only_after"}


def split_decorators(content: object) -> tuple[str, dict[str, str], list[str]]:
    """Return the text without the lines `@@name value` at its start, the values that count, and the names that do not.

    A line `@@@name value` stands in for the one before it where that one is not heeded.
    """
    if not isinstance(content, str):
        return "", {}, []
    lines = content.lstrip().split("\n")
    values: dict[str, str] = {}
    unused = []
    is_heeded = False
    while lines and (found := _LINE.match(lines[0])):
        del lines[0]
        name = found[2].casefold()
        if found[1] == "@@@" and is_heeded:
            continue
        is_heeded = name in _HEEDED
        if is_heeded:
            values.setdefault(name, found[3].strip())
        else:
            unused.append(name)
    return "\n".join(lines), values, unused
