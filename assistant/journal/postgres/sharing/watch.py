"""Finds what is new for a process, and frees the leases of processes that are gone. Works for the writer's thread."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.sharing.leases import LEASE_SECONDS, LIVES, RESERVED
from mud_assistant.assistant.journal.postgres.sharing.messages import MAX_MESSAGES, WAITING, LeftMessage
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess

_IS_GONE = f"NOT {LIVES.format(lock_key='p.lock_key')}"
#: After a restart of the server everybody has to come back first; the longest time in which they do, in seconds.
_SERVER_IS_UP = "pg_postmaster_start_time() < now() - interval '10 s'"
_FREE = f"""SELECT CASE WHEN expires_at <= now() OR p.id IS NULL THEN 'free' ELSE 'suspect' END,
    assistant, '', ''::bytea
    FROM leases LEFT JOIN processes p ON p.id = holder
    WHERE assistant = ANY(:wanted) AND NOT {RESERVED}
    AND (expires_at <= now() OR p.id IS NULL OR ({_IS_GONE} AND {_SERVER_IS_UP}))"""


#: How long ago a lease was renewed, in seconds.
_AGE = f"{LEASE_SECONDS:.0f} - extract(epoch FROM expires_at - now())::double precision"


#: When the first of the leases expires, unless it is renewed before.
_SOONEST = """SELECT 'soonest', '', extract(epoch FROM min(expires_at) - now())::text, ''::bytea
    FROM leases WHERE assistant = ANY(:wanted) AND expires_at > now() HAVING count(*) > 0"""


class Seen(NamedTuple):
    """What a process finds when it looks: assistants it may take now, those whose holder seems gone, and messages."""

    free: list[str]
    suspects: list[str]
    messages: list[LeftMessage]
    #: In how many seconds the first of the wanted leases expires, if it is not renewed; None when none is held.
    expires_in: float | None = None


class LookFor(NamedTuple):
    """What a process looks for: which of the `wanted` assistants are free, and messages for those that it runs."""

    process: JournalProcess
    wanted: Collection[str] = ()
    with_messages: bool = True


def look(db: Database, wish: LookFor) -> Seen:
    """Return what there is. One statement, as every process looks about once a second."""
    parts = [_FREE, _SOONEST] * bool(wish.wanted) + [WAITING] * wish.with_messages
    free: list[str] = []
    suspects: list[str] = []
    messages: list[LeftMessage] = []
    expires_in: float | None = None
    if not parts:
        return Seen(free, suspects, messages)
    process = wish.process
    values = {"wanted": list(wish.wanted), "me": process.name, "id": process.id, "limit": MAX_MESSAGES}
    for kind, assistant, word, record in db.execute(" UNION ALL ".join(f"({part})" for part in parts), values):
        if kind == "message":
            messages.append(LeftMessage(assistant, word, record))
        elif kind == "soonest":
            expires_in = float(word)
        else:
            (free if kind == "free" else suspects).append(assistant)
    return Seen(free, suspects, messages, expires_in)


def current_holders(db: Database) -> list[tuple[str, str, float, float]]:
    """Return each assistant that a process runs now, by the order of ids, with what the process is called.

    Then come when the process took it, in seconds since 1970, and how many seconds ago it renewed its lease.
    """
    rows = db.execute(
        f"""SELECT assistant, coalesce(name, holder), taken_at, {_AGE} FROM leases
            LEFT JOIN processes ON processes.id = holder WHERE expires_at > now() ORDER BY assistant"""
    )
    return [(assistant, process, at, max(0.0, ago)) for assistant, process, at, ago in rows]


def free_gone(db: Database, suspects: Collection[str]) -> list[str]:
    """Let the leases of these assistants expire whose holders are still gone. Return those assistants."""
    rows = db.execute(
        f"""UPDATE leases SET expires_at = '-infinity' FROM processes p
            WHERE p.id = holder AND assistant = ANY(?) AND {_IS_GONE} RETURNING assistant""",
        (list(suspects),),
    )
    return [row[0] for row in rows]
