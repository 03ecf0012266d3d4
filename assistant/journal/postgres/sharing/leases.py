"""Decides which process may write for an assistant: one at a time, until its lease expires by the database's clock.

A lease has a token that only grows, and every write checks it. It names its process, and holds as long as that one
lives: the row of the process says until when, and a renewal moves that on by `LEASE_SECONDS`, for all its leases at
once. A process stops acting `ACT_SECONDS` after it last sent a renewal, by its own clock, so that it is silent before
another may begin. Who takes a lease locks the row of the process that has it: that one cannot renew meanwhile.

Processes of the version before have no such time in their rows, and renew each lease by itself, in `expires_at`. While
one of them lives, this version does so as well, since they look at nothing else (docs/decisions/0058).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from mud_assistant.assistant.journal.database import Database, PipelinedDatabase
from mud_assistant.assistant.journal.errors import Fenced, HeldElsewhere
from mud_assistant.assistant.journal.postgres.connection import NAME
from mud_assistant.assistant.journal.postgres.numbers import Numbers
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess

#: How long a lease holds without a renewal, how often it is renewed, and how long its holder acts without one.
LEASE_SECONDS, RENEW_SECONDS, ACT_SECONDS = 15.0, 5.0, 10.0
_EXPIRY = f"now() + interval '{LEASE_SECONDS:.0f} s'"
#: Stands in `expires_at` for "as long as its process lives". No infinity: before 17, PostgreSQL subtracts none.
_FAR = "timestamptz '9999-01-01 00:00:00+00'"
#: When a lease ends, where `leases` are joined to the process that is the `holder`, or to none.
ENDS = f"least(expires_at, coalesce(alive_until, nullif(expires_at, {_FAR}), '-infinity'))"
#: How long a lease that was given away is kept for the process that it was given to, in seconds.
RESERVED_SECONDS = 15.0
_RESERVATION = f"now() + interval '{RESERVED_SECONDS:.0f} s'"
#: Whether a process has a session. Its lock is in the two halves of `pg_locks`, as the manual says:
#: https://www.postgresql.org/docs/current/view-pg-locks.html
LIVES = """EXISTS (
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND ((classid::bigint << 32) | objid::bigint) = {lock_key})"""
#: Whether a process of the version before lives, which knows nothing of `alive_until`.
_OLDER_LIVES = f"""EXISTS (
    SELECT 1 FROM processes AS older WHERE alive_until IS NULL AND {LIVES.format(lock_key="older.lock_key")})"""
#: Ends the writing session of a process whose lease ran out. One that hangs in the middle of a pipeline keeps what it
#: has locked for as long as it hangs: no timeout of the server counts between two statements of a pipeline.
_END_HUNG = f"""SELECT pg_terminate_backend(pid) FROM leases LEFT JOIN processes ON processes.id = holder
    JOIN pg_stat_activity ON application_name = '{NAME} writer ' || holder AND pid <> pg_backend_pid()
    WHERE assistant = ? AND {ENDS} <= now() AND holder <> ?"""
#: Whether a lease is kept for another process than the one named `:me`, which lives.
RESERVED = f"""(wants <> '' AND wants <> :me AND wants_until > now() AND EXISTS (
    SELECT 1 FROM processes AS other WHERE other.name = wants AND {LIVES.format(lock_key="other.lock_key")}))"""
_ALL_OURS = """SELECT 1 FROM (
    SELECT 1 FROM leases JOIN unnest(CAST(? AS text[]), CAST(? AS bigint[])) AS ours (assistant, token)
    USING (assistant, token) ORDER BY leases.assistant FOR SHARE OF leases) AS found HAVING count(*) = ?"""
_LAST = "coalesce((SELECT max(token) FROM runs WHERE assistant = ?), 0)"


class HeldLeases:
    """The leases of this process. All but `has_expired` is for the writer's thread, inside works.

    A lease under the name of this process is left from before its restart. `now` gives seconds of a clock
    that is never set.
    """

    def __init__(self, process: JournalProcess, now: Callable[[], float]) -> None:
        self.process = process
        self._now = now
        self.numbers = Numbers(now)
        #: When the last renewal that was answered had been sent, by assistant.
        self._renewed: dict[str, float] = {}
        #: Renewals that were sent before do not count.
        self._counted_from = float("-inf")
        #: The same of the open transaction: when each was sent, None for what was found lost.
        self._answered: dict[str, float | None] = {}
        #: Tokens that were checked in the open transaction: their rows are locked until it ends.
        self._checked: dict[str, int] = {}
        #: Tokens that works in a pipeline count on: they are checked at the end of the transaction, all in one.
        self._expected: dict[str, int] = {}
        #: How many assistants were taken from a process that was gone, and how many by the open transaction.
        self.takeovers = 0
        self._taken_over = 0
        #: Whether the open transaction has moved on until when this process lives.
        self._is_extended = False

    def take(self, db: Database, assistant: str, wall: float, *, by_force: bool = False) -> int:
        """Write down the next token of an assistant and return it. Raises HeldElsewhere while another has its lease.

        `wall` is in seconds since 1970. `by_force` takes it all the same.
        """
        sent = self._now()
        db.execute(
            "INSERT INTO leases (assistant, token, taken_at) VALUES (?, 0, ?) ON CONFLICT DO NOTHING", (assistant, wall)
        )
        if not by_force:  # looked at without a lock, so that who lives is not held up
            self._token_if_free(db, assistant)
        db.execute(_END_HUNG, (assistant, self.process.id))
        holder = _lock(db, assistant, "UPDATE")
        token = self._token_if_free(db, assistant, by_force=by_force)
        self._taken_over += holder not in {"", self.process.id}
        if self._expected.get(assistant, token) != token:
            raise Fenced(assistant, self._expected[assistant], token)
        last = db.execute(f"SELECT {_LAST}", (assistant,)).fetchone()[0]
        token = max(token, last) + 1
        self._extend(db)
        db.execute(
            f"""UPDATE leases SET token = ?, taken_at = ?, holder = ?, expires_at = {_FAR},
                wants = '', wants_until = '-infinity' WHERE assistant = ?""",
            (token, wall, self.process.id, assistant),
        )
        self._answered[assistant] = sent
        self._checked[assistant] = self._expected[assistant] = token
        self.numbers.forget()
        return int(token)

    def _token_if_free(self, db: Database, assistant: str, *, by_force: bool = False) -> int:
        """Return the last token of an assistant. Raises HeldElsewhere while it is another's, unless `by_force`."""
        row = db.execute(
            f"""SELECT token, holder, {ENDS} > now(), coalesce(name, ''), started_at, wants, {RESERVED}
               FROM leases LEFT JOIN processes ON processes.id = holder WHERE assistant = :assistant""",
            {"assistant": assistant, "me": self.process.name},
        ).fetchone()
        token, holder, is_live, name, since, wants, is_reserved = row
        if is_live and holder != self.process.id and name != self.process.name and not by_force:
            raise HeldElsewhere(assistant, name or holder, _seconds(since))
        if is_reserved and not by_force:
            raise HeldElsewhere(assistant, wants, _seconds(since))
        return int(token)

    def _extend(self, db: Database) -> None:
        """Move on until when this process lives, once in a transaction."""
        if not self._is_extended:
            db.execute(
                f"UPDATE processes SET seen_at = now(), alive_until = {_EXPIRY} WHERE id = ?", (self.process.id,)
            )
            self._is_extended = True

    def check_unheld(self, db: Database, assistant: str) -> None:
        """Raise HeldElsewhere when another process has the lease of an assistant, and keep it so until the commit.

        A lease under our own name is left from before our restart.
        """
        _lock(db, assistant, "SHARE")
        row = db.execute(
            f"""SELECT coalesce(name, holder), started_at FROM leases LEFT JOIN processes ON processes.id = holder
               WHERE assistant = ? AND {ENDS} > now() AND holder <> ? AND coalesce(name, '') <> ?""",
            (assistant, self.process.id, self.process.name),
        ).fetchone()
        if row is not None:
            raise HeldElsewhere(assistant, row[0], _seconds(row[1]))

    def token_of(self, db: Database, assistant: str) -> int:
        """Return the token that may write for an assistant, 0 when there is none; it stays so in this transaction."""
        if assistant not in self._checked:
            row = db.execute("SELECT token FROM leases WHERE assistant = ? FOR SHARE", (assistant,)).fetchone()
            self._checked[assistant] = row[0] if row else 0
        return self._checked[assistant]

    def expect_token(self, assistant: str, token: int) -> None:
        """Expect that `token` may write for an assistant. Raises Fenced when another one is expected to."""
        if self._expected.setdefault(assistant, token) != token:
            raise Fenced(assistant, token, self._expected[assistant])

    def check_expected(self, db: PipelinedDatabase) -> None:
        """Check all expected tokens at once, and hold them until the transaction ends."""
        if not self._expected:
            return
        row = (list(self._expected), list(self._expected.values()), len(self._expected))
        db.expect(db.execute(_ALL_OURS, row), some=True)

    def begin(self) -> None:
        """Forget what the last transaction asked for: a new one begins."""
        self.forget_checks()
        self._answered.clear()
        self._taken_over = 0

    def committed(self) -> None:
        """Trust what the transaction renewed, took and found lost."""
        self.takeovers += self._taken_over
        self._taken_over = 0
        for assistant, sent in self._answered.items():
            if sent is None:
                self._renewed.pop(assistant, None)
            else:
                self._renewed[assistant] = sent
        self._answered.clear()

    def forget_checks(self) -> None:
        """Forget which tokens were checked: the transaction, or a part of it, is over."""
        self._checked.clear()
        self._expected.clear()
        self._is_extended = False

    def renew(self, db: Database) -> Collection[str]:
        """Renew all leases of this process. Return the assistants that it has no more."""
        sent = self._now()
        self._extend(db)
        rows = db.execute(
            f"""SELECT assistant, expires_at < {_FAR} OR older.lives
                FROM leases, (SELECT {_OLDER_LIVES} AS lives) AS older WHERE holder = ?""",
            (self.process.id,),
        ).fetchall()
        ours = {assistant for assistant, is_older in rows if not is_older}
        if apart := [assistant for assistant, is_older in rows if is_older]:
            ours |= self._renew_apart(db, apart)
        lost = self._renewed.keys() - ours
        self._answered |= dict.fromkeys(lost)
        self._answered |= dict.fromkeys(ours & self._renewed.keys(), sent)
        return lost

    def _renew_apart(self, db: Database, assistants: list[str]) -> set[str]:
        """Renew these leases one by one, for processes of the version before; when none lives, as long as ours does.

        Return those that are ours.
        """
        renewed = db.execute(
            f"""UPDATE leases SET expires_at = CASE WHEN {_OLDER_LIVES} THEN {_EXPIRY} ELSE {_FAR} END
                WHERE holder = ? AND assistant = ANY(?) RETURNING assistant""",
            (self.process.id, assistants),
        )
        return {row[0] for row in renewed}

    def release(self, db: Database, assistant: str, wants: str = "") -> bool:
        """Give a lease back, so that another process can take it at once: for a while only the one that `wants` names.

        Another may take it as soon as no process of that name lives any more. Return False when it was not ours.
        """
        given = db.execute(
            f"""UPDATE leases SET expires_at = '-infinity', holder = '', wants = ?, wants_until = {_RESERVATION}
                WHERE assistant = ? AND holder = ?""",
            (wants, assistant, self.process.id),
        )
        self._renewed.pop(assistant, None)
        self._answered.pop(assistant, None)
        return given.rowcount > 0

    def reserve(self, db: Database, assistant: str, wants: str) -> bool:
        """Note for whom a lease of this process is about to be given back. Return False when it is not its lease."""
        noted = db.execute(
            f"UPDATE leases SET wants = ?, wants_until = {_RESERVATION} WHERE assistant = ? AND holder = ?",
            (wants, assistant, self.process.id),
        )
        return noted.rowcount > 0

    def release_all(self, db: Database) -> None:
        """Give all leases of this process back."""
        db.execute("UPDATE leases SET expires_at = '-infinity', holder = '' WHERE holder = ?", (self.process.id,))
        self._renewed.clear()

    def begin_anew(self) -> None:
        """Trust no lease that is not renewed from now on: while others could not see this process, they took any.

        On any thread.
        """
        self._counted_from = self._now()

    def count(self) -> int:
        """Return how many assistants this process may act for, as far as it knows. On any thread."""
        return sum(not self.has_expired(assistant) for assistant in list(self._renewed))

    def has_expired(self, assistant: str) -> bool:
        """Tell whether this process may no longer act for an assistant, as far as it knows. On any thread."""
        renewed = self._renewed.get(assistant)
        return renewed is None or renewed < self._counted_from or self._now() - renewed >= ACT_SECONDS


def _lock(db: Database, assistant: str, strength: str) -> str:
    """Lock a lease, and let the process that has it renew nothing, until the transaction ends; return its id.

    The row of that process is locked first, as its own transactions do, and once more if the lease had moved meanwhile.
    """
    holder = "SELECT 1 FROM processes WHERE id = (SELECT holder FROM leases WHERE assistant = ?) FOR SHARE"
    db.execute(holder, (assistant,))
    row = db.execute(f"SELECT holder FROM leases WHERE assistant = ? FOR {strength}", (assistant,)).fetchone()
    db.execute(holder, (assistant,))
    return str(row[0]) if row is not None else ""


def _seconds(since: datetime | None) -> float:
    return 0.0 if since is None else since.timestamp()
