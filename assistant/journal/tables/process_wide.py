"""Stores what belongs to the process and not to one assistant, so that it needs no lease: sums, keys bound, quiet.

What was spent is stored as the budget ledger exports it, so that a restart does not allow the day's money twice. Which
key was given for which server is what `keys/binding.py` decides by, also after a restart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mud_assistant.assistant.journal.database import Database, put_meta
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.assistant.keys.binding import KeyBinding

#: Begin the keys of `meta` that say whose initiative is off, and who is away: followed by an assistant's id, or "all".
QUIET_KEYS = ("quiet ", "away ")
#: The sums `calls`, `tokens` and `money` of each account.
Sums = Mapping[str, Mapping[str, int | float]]
_NOTHING: Mapping[str, int | float] = {"calls": 0, "tokens": 0, "money": 0.0}
#: Decimal places of a sum of money, as the ledger rounds it.
_MONEY_DIGITS = 12

#: Placeholders are named: Python 3.12.1 warns about numbered ones (`?1`).
_ADD = f"""
    INSERT INTO usage (day, account, calls, tokens, money)
        VALUES (:day, :account, max(0, :calls), max(0, :tokens), max(0.0, :money))
    ON CONFLICT (day, account) DO UPDATE SET calls = max(0, calls + :calls), tokens = max(0, tokens + :tokens),
        money = max(0.0, round(money + :money, {_MONEY_DIGITS}))"""  # a constant
_RAISE = """
    INSERT INTO usage (day, account, calls, tokens, money) VALUES (:day, :account, :calls, :tokens, :money)
    ON CONFLICT (day, account) DO UPDATE SET calls = max(calls, :calls), tokens = max(tokens, :tokens),
        money = max(money, :money)"""


class StoredUsage:
    """The stored sums of the budget ledger.

    Two processes may write to one file. Each changes the rows by how much its own ledger has changed since it last read
    or wrote them, so the rows are what both spent together. Neither process sees the other's spending before its next
    start, so each of them may spend the whole day's allowance.
    """

    def __init__(self, store: JournalStore) -> None:
        self._store = store
        #: The day, and the sums of our ledger that the rows on disk already hold. None before the first load or save.
        self._ours: tuple[int, Sums] | None = None

    async def save_usage(self, exported: Mapping[str, Any]) -> None:
        """Save what `Ledger.export` gave, in place of its previous export.

        Call it for one export at a time, and do not cancel it. A ledger that was not restored from here never lowers
        the rows of the day. Raises JournalError, and then nothing is saved.
        """
        day, sums = exported["day"], exported["spent"]
        if self._ours is None:
            statement, changes = _RAISE, sums
        else:
            statement, changes = _ADD, _changes(self._ours[1] if self._ours[0] == day else {}, sums)
        rows = [{"day": day, "account": account, **amounts} for account, amounts in changes.items()]

        def work(db: Database) -> None:
            db.executemany(statement, rows)

        await self._store.write(work)
        self._ours = day, sums

    async def load_usage(self) -> dict[str, Any] | None:
        """Return the newest stored day, for `Ledger.restore`, None when there is none. Raises JournalError.

        The next save counts the change since these sums.
        """

        def work(db: Database) -> tuple[int, Sums] | None:
            day = db.execute("SELECT max(day) FROM usage").fetchone()[0]
            if day is None:
                return None
            rows = db.execute("SELECT account, calls, tokens, money FROM usage WHERE day = ?", (day,))
            return day, {account: dict(zip(_NOTHING, sums, strict=True)) for account, *sums in rows if any(sums)}

        found = await self._store.read(work)
        self._ours = found or (0, {})
        if found is None:
            return None
        day, sums = found
        return {"day": day, "spent": dict(sums)}

    async def days(self, since: int) -> tuple[tuple[int, str, int, int, float], ...]:
        """Return day, account, calls, tokens and money of each account with calls or tokens since that day.

        The newest day comes first. Days are numbered from 1970. Raises JournalError.
        """
        query = """SELECT day, account, calls, tokens, money FROM usage WHERE day >= ? AND (calls > 0 OR tokens > 0)
            ORDER BY day DESC, tokens DESC, account"""
        return await self._store.read(lambda db: tuple(map(tuple, db.execute(query, (since,)))))


def _changes(before: Sums, after: Sums) -> Sums:
    """Return the change of each account that has changed. An unchanged account is the same object in both."""
    changes = {
        account: _change(old, sums)
        for account, sums in after.items()
        if (old := before.get(account, _NOTHING)) is not sums
    }
    changes |= {account: _change(before[account], _NOTHING) for account in before.keys() - after.keys()}
    return {account: change for account, change in changes.items() if any(change.values())}


def _change(before: Mapping[str, int | float], after: Mapping[str, int | float]) -> dict[str, int | float]:
    return {
        "calls": after["calls"] - before["calls"],
        "tokens": after["tokens"] - before["tokens"],
        "money": round(after["money"] - before["money"], _MONEY_DIGITS),
    }


class StoredQuiet:
    """What owners want of the initiative of all assistants, as keys: one that is there is so (`life/peace.py`)."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store

    async def load(self) -> frozenset[str]:
        """Return all keys. Raises JournalUnreadable."""
        query = "SELECT key FROM meta WHERE key LIKE ? OR key LIKE ?"
        return await self._store.read(
            lambda db: frozenset(key for (key,) in db.execute(query, [f"{word}%" for word in QUIET_KEYS]))
        )

    async def put(self, key: str, *, is_so: bool) -> None:
        """Write one key down, or remove it. Raises JournalUnwritable."""

        def work(db: Database) -> None:
            if is_so:
                put_meta(db, key, "1")
            else:
                db.execute("DELETE FROM meta WHERE key = ?", (key,))

        await self._store.write(work)


class StoredBindings:
    """The stored bindings of all keys."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store

    async def remember(self, bindings: Collection[KeyBinding]) -> None:
        """Keep exactly these bindings. One that was kept before keeps its time. Raises JournalUnwritable."""
        wanted, now = frozenset(bindings), self._store.wall()

        def work(db: Database) -> None:
            for gone in _bindings(db) - wanted:
                db.execute("DELETE FROM key_bindings WHERE reference = ? AND origin = ?", (gone.reference, gone.origin))
            rows = [(binding.reference, binding.origin, now) for binding in wanted]
            db.executemany("INSERT INTO key_bindings VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)

        await self._store.write(work)

    async def load(self) -> frozenset[KeyBinding]:
        """Return all remembered bindings. Raises JournalUnreadable."""
        return await self._store.read(_bindings)


def _bindings(db: Database) -> frozenset[KeyBinding]:
    return frozenset(KeyBinding(*row) for row in db.execute("SELECT reference, origin FROM key_bindings"))
