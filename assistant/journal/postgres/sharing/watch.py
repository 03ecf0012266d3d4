"""Finds what is new for a process, and frees the leases of processes that are gone. Works for the writer's thread."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.sharing.leases import ENDS, LEASE_SECONDS, LIVES, RESERVED
from mud_assistant.assistant.journal.postgres.sharing.messages import MAX_MESSAGES, WAITING, LeftMessage
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess

_IS_GONE = f"NOT {LIVES.format(lock_key='p.lock_key')}"
#: After a restart of the server everybody has to come back first; the longest time in which they do, in seconds.
_SERVER_IS_UP = "pg_postmaster_start_time() < now() - interval '10 s'"
_FREE = f"""SELECT CASE WHEN {ENDS} <= now() THEN 'free' ELSE 'suspect' END, assistant, '', ''::bytea
    FROM leases LEFT JOIN processes p ON p.id = holder
    WHERE assistant = ANY(:wanted) AND NOT {RESERVED} AND ({ENDS} <= now() OR ({_IS_GONE} AND {_SERVER_IS_UP}))"""
#: How long ago a lease was renewed, in seconds.
_AGE = f"{LEASE_SECONDS:.0f} - extract(epoch FROM {ENDS} - now())::double precision"
#: When the first of the leases expires, unless it is renewed before.
_SOONEST = f"""SELECT 'soonest', '', extract(epoch FROM min({ENDS}) - now())::text, ''::bytea
    FROM leases LEFT JOIN processes p ON p.id = holder
    WHERE assistant = ANY(:wanted) AND {ENDS} > now() HAVING count(*) > 0"""
#: The processes that have the leases of these assistants, and are gone.
_GONE_HOLDERS = f"FROM processes p WHERE id IN (SELECT holder FROM leases WHERE assistant = ANY(?)) AND {_IS_GONE}"


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
    # In one order, so that processes which take many at once do not wait for each other in a circle.
    return Seen(sorted(free), sorted(suspects), messages, expires_in)


def current_holders(db: Database) -> list[tuple[str, str, float, float]]:
    """Return each assistant that a process runs now, by the order of ids, with what the process is called.

    Then come when the process took it, in seconds since 1970, and how many seconds ago it renewed its lease.
    """
    rows = db.execute(
        f"""SELECT assistant, coalesce(name, holder), taken_at, {_AGE} FROM leases
            LEFT JOIN processes ON processes.id = holder WHERE {ENDS} > now() ORDER BY assistant"""
    )
    return [(assistant, process, at, max(0.0, ago)) for assistant, process, at, ago in rows]


def free_gone(db: Database, suspects: Collection[str]) -> list[str]:
    """Let the leases of the processes expire that have these assistants and are still gone: of each, all at once.

    Return which of the assistants are free. Part of a work.
    """
    values = (list(suspects),)
    # Locked first: who has come back meanwhile, and renewed, is seen by the statement after it.
    db.execute(f"SELECT 1 {_GONE_HOLDERS} ORDER BY id FOR UPDATE", values)
    db.execute(
        f"""UPDATE processes SET alive_until = '-infinity'
            WHERE alive_until IS NOT NULL AND id IN (SELECT id {_GONE_HOLDERS})""",
        values,
    )
    db.execute(  # one of the version before renews each lease by itself
        f"""UPDATE leases SET expires_at = '-infinity'
            WHERE assistant = ANY(?) AND holder IN (SELECT id {_GONE_HOLDERS} AND alive_until IS NULL)""",
        values * 2,
    )
    rows = db.execute(
        f"""SELECT assistant FROM leases LEFT JOIN processes ON processes.id = holder
            WHERE assistant = ANY(?) AND {ENDS} <= now() ORDER BY assistant""",
        values,
    )
    return [row[0] for row in rows]
