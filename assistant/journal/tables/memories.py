"""Stores the memories of one assistant: what it heard, saw, noted and concluded, with who may be told. SQL only.

Each person has room of their own, so that nobody's past is pushed out by another's. When it is full, what is worth
least goes first. The index that finds memories is a file of its own, made from these rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from mud_assistant.assistant.journal.codec import exact_json
from mud_assistant.assistant.journal.database import Database, holds, insert, is_sqlite
from mud_assistant.assistant.journal.tables import acquaintances
from mud_assistant.assistant.journal.tables.memory_row import (
    MARKS,
    NEW,
    SELECT,
    is_readable,
    memory_of_row,
    rank_row,
    values_of,
)
from mud_assistant.assistant.journal.tables.sleep_state import clear_sleep, forget_in_life
from mud_assistant.assistant.journal.tables.told_topics import forget_told
from mud_assistant.tools.memories import KeptMemory, Memory, MemoryKind
from mud_assistant.tools.trust import Audience

#: The most memories of one person, and their most bytes of UTF-8; the most memories of all people together. Our choice:
#: FTS5 takes 17 ms to search 100,000 lines, and 3 ms for 20,000.
PERSON_ROWS, PERSON_BYTES, TOTAL_ROWS = 500, 65_536, 20_000
#: The share of a full store that is removed at once, so that not every new memory costs a search for what to remove.
_SPARE = 20
#: How many rows are written between two counts of the whole store.
COUNTED_EVERY = 64
#: How long one use keeps others from counting, in seconds.
_USE_SECONDS = 3600.0
#: The uses of a new row: their number, and the time of the last.
UNUSED = (0, 0.0)
#: Begins the id under which the stream knows that a memory is shown.
SHOWN = "recalled:"
#: SQLite takes this many parameters in any build.
_AT_ONCE = 500


def keep(db: Database, assistant: str, memory: Memory) -> KeptMemory:
    """Write a memory down; one of the same id is made newer, and keeps its importance if that was greater."""
    row = db.execute(f"{SELECT} AND id = ?", (assistant, memory.id)).fetchone()
    if row is not None:
        old = memory_of_row(row)
        memory = replace(
            memory,
            at=max(old.at, memory.at),
            importance=max(old.importance, memory.importance),
            authority=min(old.authority, memory.authority),
            sources=old.sources | memory.sources,
        )
    number = _insert(db, assistant, memory, row[15:] if row is not None else UNUSED)
    if memory.facts:
        acquaintances.learn(db, assistant, memory)
    return KeptMemory(memory, row is None, tuple(_make_room(db, assistant, memory, number)))


def find(db: Database, assistant: str, ids: Iterable[str]) -> list[tuple[int, Memory]]:
    """Return the memories with these ids, in the order of the ids, each with its row's number."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, tuple[int, Memory]] = {}
    for first in range(0, len(wanted), _AT_ONCE):
        part = wanted[first : first + _AT_ONCE]
        marks = ", ".join("?" * len(part))
        for row in db.execute(f"{SELECT} AND id IN ({marks})", (assistant, *part)):
            found[row[0]] = (row[14], memory_of_row(row))
    return [found[each] for each in wanted if each in found]


def since(db: Database, assistant: str, seq: int, limit: int) -> list[tuple[int, Memory]]:
    """Return the memories whose rows come after `seq`, in their order, each with its row's number."""
    rows = db.execute(f"{SELECT} AND seq > ? ORDER BY seq LIMIT ?", (assistant, seq, limit))
    return [(row[14], memory_of_row(row)) for row in rows]


def newest(db: Database, assistant: str, limit: int) -> list[Memory]:
    """Return the newest memories that still hold, newest first."""
    rows = db.execute(f"{SELECT} AND superseded_by = '' ORDER BY at DESC, seq DESC LIMIT ?", (assistant, limit))
    return [memory_of_row(row) for row in rows]


def heard_between(db: Database, assistant: str, after: float, until: float, limit: int) -> list[Memory]:
    """Return what was heard and seen after one time and up to another: the newest `limit`, newest first."""
    rows = db.execute(
        f"{SELECT} AND at > ? AND at <= ? AND kind IN ('heard', 'seen') ORDER BY at DESC, seq DESC LIMIT ?",
        (assistant, after, until, limit),
    )
    return [memory_of_row(row) for row in rows]


def told_by(db: Database, assistant: str, who: str, audience: Audience, limit: int) -> list[Memory]:
    """Return the newest lines of a person that exactly this audience heard, newest first."""
    rows = db.execute(
        f"{SELECT} AND who = ? AND kind IN ('heard', 'seen') ORDER BY at DESC, seq DESC", (assistant, who)
    )
    return [each for each in map(memory_of_row, rows) if each.audience == audience][:limit]


def about(db: Database, assistant: str, principal_id: str) -> list[Memory]:
    """Return what came from a principal or is about them, newest first; at the end what only facts are left of."""
    rows = db.execute(
        f"{SELECT} AND (who = ? OR {holds(db, 'origin')} OR substr(origin, 1, 1) = ?) ORDER BY at DESC, seq DESC",
        (assistant, principal_id, exact_json(principal_id), b" "),
    )  # a record with a space before it writes ids in another way
    found = [each for each in map(memory_of_row, rows) if each.is_from(principal_id) or principal_id in each.about]
    return [*found, *acquaintances.left_of(db, assistant, principal_id, {each.id for each in found})]


def forget(db: Database, assistant: str, principal_id: str) -> list[Memory]:
    """Remove what came, or may have come, from the principal, and what was concluded about them. Return it.

    That they were met or are followed, what they told of themselves, and what they were told of topics, goes as well.
    """
    everything = ((memory_of_row(row), is_readable(row[13])) for row in db.execute(SELECT, (assistant,)))
    gone = [memory for memory, is_known in everything if not is_known or _is_theirs(memory, principal_id)]
    remove(db, assistant, [memory.id for memory in gone])
    acquaintances.forget_acquaintance(db, assistant, principal_id)
    forget_told(db, assistant, principal_id)
    forget_in_life(db, assistant, principal_id)
    return gone


def drop(db: Database, assistant: str, memory_id: str) -> list[Memory]:
    """Remove a memory and whatever was derived from it. Return them."""
    everything = [memory_of_row(row) for row in db.execute(SELECT, (assistant,))]
    gone = {memory_id}
    while more := {each.id for each in everything if gone.intersection(each.made_of)} - gone:
        gone |= more
    removed = [each for each in everything if each.id in gone]
    remove(db, assistant, [each.id for each in removed])
    left = acquaintances.drop_facts(db, assistant, gone)
    return removed + [each for each in left if each.id not in {one.id for one in removed}]


def clear(db: Database, assistant: str) -> frozenset[str]:
    """Remove all memories, all acquaintances, and how far the assistant's sleep came. Return their ids."""
    gone = all_ids(db, assistant)
    remove(db, assistant, gone)
    clear_sleep(db, assistant)
    acquaintances.clear_acquaintances(db, assistant)
    return gone


def remove(db: Database, assistant: str, ids: Collection[str]) -> None:
    """Remove these memories, and count them, so that the index knows that it is behind."""
    if not ids:
        return
    db.executemany("DELETE FROM memories WHERE assistant = ? AND id = ?", [(assistant, each) for each in ids])
    for row in db.execute(f"{SELECT} AND superseded_by != ''", (assistant,)).fetchall():
        if row[10] in ids:  # what it had corrected holds again
            _insert(db, assistant, replace(memory_of_row(row), superseded_by=""), row[15:])
    db.execute(
        """INSERT INTO memory_state VALUES (?, ?, ?)
           ON CONFLICT (assistant) DO UPDATE SET removed = memory_state.removed + excluded.removed""",
        (assistant, len(ids), b""),
    )


def supersede(db: Database, assistant: str, old_id: str, new: Memory, *, may: bool) -> KeptMemory | None:
    """Keep `new` and mark the old memory as superseded by it; None when it is not there or somebody else's.

    `may` says that the new one is the operator's, who may correct everybody.
    """
    known = find(db, assistant, [old_id])
    if not known or old_id == new.id or not (may or known[0][1].who == new.who):
        return None
    kept = keep(db, assistant, new)
    _insert(db, assistant, replace(known[0][1], superseded_by=new.id), UNUSED)
    return kept


def derive(db: Database, assistant: str, memory: Memory, needs: Collection[str]) -> bool:
    """Write down what was derived, in place of what had its id. Return False when a memory of `needs` is gone."""
    if len(find(db, assistant, needs)) < len(set(needs)):
        return False
    _insert(db, assistant, memory, UNUSED)
    return True


def settle(db: Database, assistant: str, older_id: str, newer_id: str) -> bool:
    """Mark the older memory as superseded by the newer one; False when one is gone or they are of two people."""
    found = [memory for _, memory in find(db, assistant, (older_id, newer_id))]
    if len(found) < 2 or found[0].who != found[1].who:  # noqa: PLR2004  (both)
        return False
    _insert(db, assistant, replace(found[0], superseded_by=newer_id), UNUSED)
    return True


def count_uses(db: Database, assistant: str, ids: Iterable[str], now: float) -> None:
    """Count one use of each of these memories that was not used in the last hour."""
    db.executemany(
        """UPDATE memories SET uses = uses + 1, used_at = ?
           WHERE assistant = ? AND id = ? AND used_at < ?""",
        [(now, assistant, each, now - _USE_SECONDS) for each in ids],
    )


def unused_lately(db: Database, assistant: str, ids: Sequence[str], now: float) -> list[str]:
    """Return those of these memories, at most 500, whose last use was an hour ago or longer."""
    if not (part := ids[:_AT_ONCE]):
        return []
    found = db.execute(
        f"""SELECT id FROM memories WHERE assistant = ? AND used_at < ? AND id IN ({", ".join("?" * len(part))})""",
        (assistant, now - _USE_SECONDS, *part),
    )
    return [each for (each,) in found]


def all_ids(db: Database, assistant: str) -> frozenset[str]:
    """Return the ids of all memories of the assistant."""
    return frozenset(each for (each,) in db.execute("SELECT id FROM memories WHERE assistant = ?", (assistant,)))


def removed_count(db: Database, assistant: str) -> int:
    """Return how many memories of the assistant were ever removed."""
    row = db.execute("SELECT removed FROM memory_state WHERE assistant = ?", (assistant,)).fetchone()
    return int(row[0]) if row else 0


def _insert(db: Database, assistant: str, memory: Memory, uses: Sequence[float]) -> int:
    """Write the row anew and return its new number: the index finds what changed by the numbers."""
    replacing = "INSERT OR REPLACE" if is_sqlite(db) else "INSERT"
    if not is_sqlite(db):
        db.execute("DELETE FROM memories WHERE assistant = ? AND id = ?", (assistant, memory.id))
    return insert(db, f"{replacing} INTO {NEW} VALUES ({MARKS})", (*values_of(assistant, memory), *uses))


def _make_room(db: Database, assistant: str, newest: Memory, number: int) -> list[Memory]:
    """Remove what is worth least, of this person when they have too much, of whoever has most when all have.

    The whole store is counted only at every so many rows, by the `number` of the new one.
    """
    now, dropped = newest.at, []
    rows, size = _taken(db, assistant, newest.who)
    if rows > PERSON_ROWS or size > PERSON_BYTES:
        dropped += _remove_least(db, (assistant, newest.who), now, PERSON_ROWS)
    if number % COUNTED_EVERY:
        return dropped
    total = db.execute("SELECT count(*) FROM memories WHERE assistant = ?", (assistant,)).fetchone()[0]
    while total > TOTAL_ROWS:
        most, taken = db.execute(
            "SELECT who, count(*) AS n FROM memories WHERE assistant = ? GROUP BY who ORDER BY n DESC LIMIT 1",
            (assistant,),
        ).fetchone()
        if taken == 1:  # nobody has more than another
            return dropped + _remove_least_of_all(db, assistant, now)
        gone = _remove_least(db, (assistant, most), now, taken - 1)
        total -= len(gone)
        dropped += gone
    return dropped


def _taken(db: Database, assistant: str, who: str) -> tuple[int, int]:
    rows, size = db.execute(
        "SELECT count(*), coalesce(sum(size), 0) FROM memories WHERE assistant = ? AND who = ?", (assistant, who)
    ).fetchone()
    return int(rows), int(size)


def _remove_least(db: Database, whose: tuple[str, str], now: float, most: int) -> list[Memory]:
    """Remove what is worth least of one person, until a twentieth of their room is free, but never the last one.

    `whose` is the assistant and the person, `most` the number of memories they have room for.
    """
    theirs = sorted(db.execute(f"{SELECT} AND who = ?", whose), key=partial(rank_row, now))
    most_rows, most_bytes = most - most // _SPARE, PERSON_BYTES - PERSON_BYTES // _SPARE
    (left, left_bytes), gone = _taken(db, *whose), []
    for row in theirs[:-1]:
        if left <= most_rows and left_bytes <= most_bytes:
            break
        memory = memory_of_row(row)
        gone.append(memory)
        left, left_bytes = left - 1, left_bytes - memory.size_bytes
    remove(db, whose[0], [memory.id for memory in gone])
    return gone


def _remove_least_of_all(db: Database, assistant: str, now: float) -> list[Memory]:
    """Remove what is worth least of all people, until a twentieth of the whole room is free."""
    rows = sorted(db.execute(SELECT, (assistant,)), key=partial(rank_row, now))
    gone = [memory_of_row(row) for row in rows[: len(rows) - (TOTAL_ROWS - TOTAL_ROWS // _SPARE)]]
    remove(db, assistant, [memory.id for memory in gone])
    return gone


def _is_theirs(memory: Memory, principal_id: str) -> bool:
    """Tell whether a memory goes when the principal is forgotten.

    What others said about them stays: it is theirs who said it. What the character concluded about them goes.
    """
    concluded = memory.kind is MemoryKind.REFLECTION and principal_id in memory.about
    return concluded or memory.is_from(principal_id)
