"""What a limit costs: the time from a call to its request, by 1 and 50 callers at once, with and without a limit.

    python benchmarks/budget.py [FOLDER] [SECONDS]

With a limit, what the call may cost is on disk before the request leaves: the difference is the disk's latency. Nothing
is sent; the attempt itself takes no time. The folder must be on the disk in question.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import deferLater, react

from mud_assistant.assistant.journal import Store, StoredUsage
from mud_assistant.assistant.service.usage_store import UsageStore
from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Attempt,
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

MANY = UpstreamConfig(in_flight=InFlightConfig(most=100, first=100), start_seconds=0.0)
#: Accounts that were used before on the same day: each write looks at all of them.
PLAYERS = 200


async def ask(pipeline: Pipeline, reactor: Any, allowance: Allowance, until: float, waits: list[float]) -> None:
    """Call one after the other; the seconds from each call to its request go to `waits`."""
    account = Account("all", allowance)
    call = Call(
        CallTarget("http://a"), lambda error: Verdict(str(error)), Caller("x", accounts=(account,)), upstream=MANY
    )

    async def attempt(attempt: Attempt) -> None:
        waits.append(time.perf_counter() - began)
        attempt.used = Amount(1, 500, 0.001)
        await deferLater(reactor, 0.0)

    while (began := time.perf_counter()) < until:
        await pipeline.call(attempt, call, Deadline.after(reactor, 60.0))


async def measure(reactor: Any, path: Path, callers: int, allowance: Allowance, seconds: float) -> None:
    """Print one line of the table."""
    wall = time.time  # noqa: TID251  (composition root)
    store, ledger = Store(path, reactor, wall), Ledger(reactor.seconds, wall)
    await store.open()
    spending = UsageStore(ledger, StoredUsage(store))
    await spending.restore()
    for number in range(PLAYERS):
        ledger.reserve([Account(f"player:{number}", Allowance())], Amount(1)).settle(Amount(1, 500, 0.001))
    pipeline = Pipeline(reactor, Random(1), ledger, spending.keep)  # noqa: S311  (jitter)
    waits, commits, began = list[float](), store.commits, time.perf_counter()
    works = [Deferred.fromCoroutine(ask(pipeline, reactor, allowance, began + seconds, waits)) for _ in range(callers)]
    await DeferredList(works, fireOnOneErrback=True)
    took = time.perf_counter() - began
    waits.sort()
    p50, p99 = (1000 * waits[int(len(waits) * share)] for share in (0.5, 0.99))
    limit = "a limit" if allowance.is_limited else "no limit"
    pace = f"{len(waits) / took:8,.0f} calls/s  {(store.commits - commits) / took:6,.0f} commits/s"
    print(f"{callers:3} callers, {limit:8}: {pace}  wait p50 {p50:7.2f} ms  p99 {p99:7.2f} ms")
    await pipeline.write_ledger()
    await store.close()


async def main(reactor: Any) -> None:
    """The table."""
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0  # noqa: PLR2004
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for callers in (1, 50):
            for allowance in (Allowance(), Allowance(calls=10**9)):
                path = Path(folder) / f"journal-{callers}-{allowance.is_limited}"
                await measure(reactor, path, callers, allowance, seconds)


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor)), ())
