"""Ids of tool calls that every provider accepts, for conversations that change provider midway."""

from __future__ import annotations

import re
import zlib

#: The name given to a nameless call that is sent back to a provider: no provider accepts an empty name.
NAMELESS = "unnamed"
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


def portable_id(call_id: str) -> str:
    """Return the id in letters, digits, `_` and `-`.

    A call and its result keep the same id, and different ids stay different.
    """
    if call_id and not _FOREIGN.search(call_id):
        return call_id
    return f"{_FOREIGN.sub('_', call_id) or 'call'}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"
