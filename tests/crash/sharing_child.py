"""Processes that spend a budget together, in PostgreSQL.

`python sharing_child.py PROCESSES URL LOG WISHES AGAIN LIMIT KIND`: prints their ids when all are ready, and waits for
a line. Then each makes WISHES calls at once, each AGAIN times or until nothing is left of LIMIT calls, tokens or money.
Every call that is made is a byte more in the file LOG. Each prints how many it made and how many were refused.
"""

from __future__ import annotations

import os
import signal
import sys
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.sharing.usage import PostgresUsage
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Attempt,
    BudgetSpent,
    Call,
    Caller,
    CallTarget,
    Deadline,
    Ledger,
    Pipeline,
    UpstreamConfig,
    Verdict,
)
from mud_assistant.resilience.admission.capacity import InFlightConfig

NOON = 1_800_000_000.0
ONE = Amount(1, 10, 0.01)
#: How long a call takes, in seconds.
CALL_SECONDS = 0.01


class Spender:
    """Makes calls of one process, all paid by one account."""

    def __init__(self, reactor: Any, store: PostgresStore, log: int, account: Account) -> None:
        self._reactor, self._log = reactor, log
        ledger = Ledger(reactor.seconds, lambda: NOON)
        usage = PostgresUsage(store, store.process.id)
        self.pipeline = Pipeline(reactor, Random(1), ledger, shared=usage)  # noqa: S311  (jitter)
        many = UpstreamConfig(in_flight=InFlightConfig(most=1000, first=1000), start_seconds=0.0)
        self._call = Call(
            CallTarget("http://a"), lambda _: Verdict("down"), Caller("x", accounts=(account,)), ONE, upstream=many
        )
        self.made = self.refused = 0

    async def spend(self, again: int) -> None:
        """Make one call after the other."""

        async def make(attempt: Attempt) -> None:
            os.write(self._log, b".")
            self.made += 1
            await deferLater(self._reactor, CALL_SECONDS)
            attempt.used = ONE

        for _ in range(again):
            try:
                await self.pipeline.call(make, self._call, Deadline.after(self._reactor, 90.0))
            except BudgetSpent:
                self.refused += 1
                return


async def live(reactor: Any, settings: list[str], ready: int, begin: int) -> None:
    """Spend, once there is something to read from `begin`; a byte in `ready` says that it waits for that."""
    url, log, wishes, again, limit, kind = settings
    store = PostgresStore(url, reactor, lambda: NOON, JournalProcess("child"))
    await store.open()
    allowance = Allowance(**{kind: float(limit) if kind == "money" else int(limit)})  # type: ignore[arg-type]
    spender = Spender(reactor, store, os.open(log, os.O_WRONLY | os.O_APPEND), Account("all", allowance))
    os.write(ready, b".")
    os.read(begin, 1)
    await gatherResults(
        [Deferred.fromCoroutine(spender.spend(int(again))) for _ in range(int(wishes))], consumeErrors=True
    )
    await spender.pipeline.write_ledger()
    await store.close()
    os.write(1, f"{spender.made} {spender.refused}\n".encode())


def main_live(settings: list[str], ready: int, begin: int) -> None:
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (this process's composition root)
    from twisted.internet.task import react  # noqa: PLC0415

    react(lambda clock: Deferred.fromCoroutine(live(clock, settings, ready, begin)), (), reactor)


def main(processes: int, settings: list[str]) -> None:
    is_ready, ready = os.pipe()
    begin, begins = os.pipe()
    children = []
    for _ in range(processes):
        child = os.fork()
        if not child:
            os.close(begins)
            main_live(settings, ready, begin)
            os._exit(1)  # react has left already
        children.append(child)
    os.close(ready)
    for _ in children:
        assert os.read(is_ready, 1), "one ended before it was ready"
    print(*children, flush=True)  # noqa: T201
    sys.stdin.readline()
    os.write(begins, b"." * processes)
    statuses = {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}
    assert statuses <= {0, -signal.SIGKILL}, statuses


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
