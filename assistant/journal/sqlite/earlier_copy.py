"""Keeps a copy of a journal as it was before its tables are brought to this version. Runs on the writer's thread.

NAME.before-VERSION   the copy: whole, of the version before, made before the first step to VERSION
NAME.copying          one that is being made; may be deleted at any time

The version before can open the copy under the journal's name, so an owner may go back. Only the newest is kept. It goes
30 days after it was made, at a start, or when somebody is forgotten: their words are in it.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from math import inf
from pathlib import Path

from mud_assistant.assistant.durable import put_in_place
from mud_assistant.assistant.journal.files import beside, connect, remove
from mud_assistant.assistant.journal.schema import version_of
from mud_assistant.assistant.journal.sqlite.copying import copy_open, lacking_room

#: How long a copy is kept, in seconds: 30 days, by its time on disk.
KEPT_SECONDS = 30 * 86_400.0
_NAME = re.compile(r"\.before-\d+")


class NoRoomForCopy(OSError):
    """There is no room for the copy, so the journal stays as it is. `strerror` is a sentence with the cure."""


def copy_of(path: Path, version: int) -> Path:
    """Return where the copy is kept that is made before the journal at `path` gets tables of `version`."""
    return beside(path, f".before-{version}")


def missing_room(path: Path) -> str:
    """Return why there is no room for a copy of the journal at `path`, with the cure; empty when there is."""
    why = lacking_room(path, "the copy that is kept before its tables are changed")
    return why and f"{why}: make room there"


def keep_earlier(db: sqlite3.Connection, path: Path, version: int, now: float) -> Path:
    """Copy the journal that is open as `db` before it gets tables of `version`; return the copy.

    `now` is in seconds since 1970, and becomes the copy's time. A copy that an interrupted step left is kept, since it
    is of the version before that step. Raises OSError, also NoRoomForCopy, and sqlite3.Error; then there is no copy.
    """
    copy, new = copy_of(path, version), beside(path, ".copying")
    if _is_before(copy, db):
        return copy
    if why := missing_room(path):
        raise NoRoomForCopy(0, why)
    try:
        remove(new)
        copy_open(db, new)
        os.utime(new, (now, now))
        put_in_place(new, copy)
    finally:
        with suppress(OSError):
            remove(new)
    for other in list(copies(path)):
        if other != copy:
            other.unlink(missing_ok=True)
    return copy


def copies(path: Path) -> Iterator[Path]:
    """Yield the copies that are kept of the journal at `path`."""
    for found in path.parent.glob(f"{path.name}.before-*"):
        if _NAME.fullmatch(found.name.removeprefix(path.name)):
            yield found


def drop_old(path: Path, now: float) -> None:
    """Delete copies that were made 30 days ago or more. `now` is in seconds since 1970. An OSError is ignored."""
    drop_copies(path, now - KEPT_SECONDS)


def drop_copies(path: Path, until: float = inf) -> bool:
    """Delete the copies that were made until then, in seconds since 1970. Return False when one could not be."""
    try:
        for found in list(copies(path)):
            if found.stat().st_mtime <= until:
                found.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _is_before(copy: Path, db: sqlite3.Connection) -> bool:
    """Tell whether the copy has the same rows as the journal, which is some steps further."""
    if not copy.is_file():
        return False
    try:
        with closing(connect(copy, how="mode=ro&immutable=1")) as earlier:
            return version_of(earlier) < version_of(db) and _last(earlier) == _last(db)
    except sqlite3.Error:
        return False


def _last(db: sqlite3.Connection) -> tuple[int, ...]:
    """Return the numbers of the last event and the last run, and the tokens given."""
    asked = ("max(seq) FROM events", "max(seq) FROM runs", "sum(token) FROM leases")
    return tuple(db.execute(f"SELECT {what}").fetchone()[0] or 0 for what in asked)
