"""Reads TOML that somebody wrote: what is nested too deeply is an error like any other.

The parser of the standard library ends in a RecursionError for it, and for a long dotted name fills the memory.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

#: How deep tables and lists may stand in each other, and the most parts of a dotted name.
MAX_DEPTH = 64
_PART = r"(?:\"[^\"\n]*\"|'[^'\n]*'|[A-Za-z0-9_-]++)[ \t]*+"
_LONG_NAME = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}\.[ \t]*+){{{MAX_DEPTH}}}")
_TOO_DEEP = f"tables and lists stand more than {MAX_DEPTH} deep in each other"


# Any: TOML of somebody.
def parse_toml(text: str) -> dict[str, Any]:
    """Return the table that a text of TOML holds. Raises tomllib.TOMLDecodeError."""
    if long := _LONG_NAME.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise tomllib.TOMLDecodeError(f"{_TOO_DEEP} (at line {line}, column 1)")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(_TOO_DEEP) from None
    level: list[Any] = [table]
    for _ in range(MAX_DEPTH):
        level = [
            value
            for outer in level
            for value in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(value, dict | list)
        ]
        if not level:
            return table
    raise tomllib.TOMLDecodeError(_TOO_DEEP)
