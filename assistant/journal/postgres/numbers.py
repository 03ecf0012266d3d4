"""Takes the numbers of new rows from the database in advance, so that no row has to wait for its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from mud_assistant.assistant.journal.database import Database

#: How long a number is used, in seconds: rows of other processes have greater numbers by then, and people read the
#: newest rows by their numbers. And how many are taken at once, at most.
FRESH_SECONDS, MOST = 1.0, 64
_TAKE = "SELECT nextval(pg_get_serial_sequence(?, 'seq')) FROM generate_series(1, ?)"


@dataclass(slots=True)
class _Block:
    """Numbers of one table that were taken `at` a time, this many at once."""

    numbers: deque[int] = field(default_factory=deque)
    at: float = 0.0
    size: int = 0


class Numbers:
    """The numbers that this process has in hand. `now` gives seconds of a clock that is never set.

    Call `forget` when a lease was taken: the process that had it may have used greater numbers. Those that are taken
    afterwards are greater than all of them.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._blocks: dict[str, _Block] = {}

    def take(self, db: Database, table: str) -> int:
        """Return a number for a new row of `table`; no other row gets it. Asks the database when there is none left."""
        block = self._blocks.setdefault(table, _Block())
        is_old = self._now() - block.at > FRESH_SECONDS
        if is_old or not block.numbers:
            # As many as may be needed: one where little happens, so that numbers follow one another there.
            block.size = 1 if is_old else min(2 * block.size, MOST)
            block.at = self._now()
            block.numbers = deque(row[0] for row in db.execute(_TAKE, (table, block.size)))
        return block.numbers.popleft()

    def forget(self) -> None:
        """Use none of the numbers that were taken before."""
        self._blocks.clear()
