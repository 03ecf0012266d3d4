"""Recognizes the records of a stream that differ from an earlier one in a single string, as nearly all of them do.

The bytes before and after the string are compared, and only the string is parsed. Replacing one JSON string by another
changes no other part of a document, so such a record says what the earlier one did, but for that string.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

#: Put in the place of the string to find out whether it is the right one. The second is for a string like the first.
_PROBES = ("?", "!")


class Template:
    """A record with a place for one string. Make it with `template_of`."""

    __slots__ = ("_after", "_before", "_end", "_start", "has_matched")

    def __init__(self, before: bytes, after: bytes) -> None:
        self._before = before
        self._after = after
        self._start = len(before)
        self._end = -len(after)
        #: Whether another record was recognized by it.
        self.has_matched = False

    def string(self, record: bytes) -> str:
        """Return the string of a record that is the same in all else; an empty one for any other record."""
        if not (record.startswith(self._before) and record.endswith(self._after)):
            return ""
        try:
            value = orjson.loads(record[self._start : self._end])
        except orjson.JSONDecodeError:  # more than a string, or one that is malformed
            return ""
        if type(value) is not str:
            return ""
        self.has_matched = True
        return value

    def in_event(self) -> Template:
        """Return the template of a server-sent event that is such a record and nothing else."""
        return Template(b"data: " + self._before, self._after + b"\n\n")


def template_of(record: bytes, value: str, read: Callable[[Any], object]) -> Template | None:
    """Return the template of a record with a place for `value`, which `read` finds in the parsed record.

    None when the record has the value in other bytes than ours, or in more than one place.
    """
    before, found, after = record.rpartition(orjson.dumps(value))
    if not found or not after:
        return None
    probe = _PROBES[value == _PROBES[0]]
    try:
        is_place = read(orjson.loads(b"".join((before, orjson.dumps(probe), after)))) == probe
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return None
    return Template(before, after) if is_place else None
