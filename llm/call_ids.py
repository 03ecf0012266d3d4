"""Ids of tool calls that every provider takes, for conversations that change their provider on the way."""

from __future__ import annotations

import re
import zlib

#: What a call without a name is called where it goes back to a provider: none takes an empty name.
NAMELESS = "unnamed"
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


def portable_id(call_id: str) -> str:
    """The id in letters, digits, `_` and `-`; the same for a call and its result, and different ids stay different."""
    if call_id and not _FOREIGN.search(call_id):
        return call_id
    return f"{_FOREIGN.sub('_', call_id) or 'call'}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"
