"""Decides which process gives an assistant to which other, so that those that may run the same ones share the work.

Pure, but for the two functions that read and write tables.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.sharing.leases import ENDS, LIVES, HeldLeases

#: How many assistants more than another a process runs before it gives one away. With 1, one would go to and fro.
TOO_MANY = 2
#: How many assistants one process gives away at once at most: their receiver begins all of them within seconds.
MOST_GIFTS = 50
#: "MudP", the key of the lock under which an assistant is given away, so that two do not choose the same receiver.
_LOCK = 0x4D756450
#: What is about to move counts where it goes. A process whose listener is away for a moment is none to give to.
_LOADS = f"""SELECT p.id, p.name, p.waits_for,
    (SELECT count(*) FROM leases WHERE CASE WHEN wants <> '' AND wants_until > now() THEN wants = p.name
     ELSE holder = p.id AND {ENDS} > now() END)
    FROM processes p WHERE {LIVES.format(lock_key="p.lock_key")}"""


class ProcessLoad(NamedTuple):
    """A process that lives: how many assistants it runs, and which others it waits for."""

    id: str
    name: str
    waits_for: frozenset[str]
    runs: int


class Gift(NamedTuple):
    """An assistant, and the name of the process that shall run it."""

    assistant: str
    to: str


def read_loads(db: Database) -> list[ProcessLoad]:
    """Return the processes that live."""
    return [ProcessLoad(id_, name, frozenset(wanted), runs) for id_, name, wanted, runs in db.execute(_LOADS)]


def write_wanted(db: Database, process_id: str, wanted: Collection[str]) -> None:
    """Write down which assistants a process waits for."""
    db.execute("UPDATE processes SET waits_for = ? WHERE id = ?", (sorted(wanted), process_id))


def choose_gift(loads: Sequence[ProcessLoad], me: str, mine: Sequence[str]) -> Gift | None:
    """Return what the process of the id `me` should give away now; `mine` is what it may give, the best first.

    None when it runs no more than one more than any process that waits for one of them.
    """
    runs = next((load.runs for load in loads if load.id == me), 0)
    waiting = [load for load in loads if load.id != me and not load.waits_for.isdisjoint(mine)]
    least = min(waiting, key=lambda load: (load.runs, load.id), default=None)
    if least is None or runs - least.runs < TOO_MANY:
        return None
    return Gift(next(one for one in mine if one in least.waits_for), least.name)


def choose_gifts(loads: Sequence[ProcessLoad], me: str, mine: Sequence[str]) -> list[Gift]:
    """Return all that the process of the id `me` should give away now, as `choose_gift` does one after the other."""
    by_id = {load.id: load for load in loads}
    left, gifts = list(mine), list[Gift]()
    while len(gifts) < MOST_GIFTS and (gift := choose_gift(list(by_id.values()), me, left)) is not None:
        gifts.append(gift)
        left.remove(gift.assistant)
        to = next(load for load in by_id.values() if load.name == gift.to and load.id != me)
        by_id[to.id] = to._replace(runs=to.runs + 1, waits_for=to.waits_for - {gift.assistant})
        by_id[me] = by_id[me]._replace(runs=by_id[me].runs - 1)
    return gifts


def reserve_gifts(db: Database, leases: HeldLeases, mine: Sequence[str]) -> list[Gift]:
    """Choose what this process gives away, and keep it for its receivers. Part of a work."""
    db.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
    gifts = choose_gifts(read_loads(db), leases.process.id, mine)
    return [gift for gift in gifts if leases.reserve(db, gift.assistant, gift.to)]
