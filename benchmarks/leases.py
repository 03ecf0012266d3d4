"""What it costs that nobody has anything to do, and how soon 200 assistants live elsewhere: leases in PostgreSQL.

The log of the server is that of 10,000 idle assistants in 40 processes, whose leases are renewed as in a game. The
hand-overs are those of real workers: one ends, one is killed, and one comes to share what another runs.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from twisted.internet.defer import gatherResults
from twisted.internet.task import deferLater

from benchmarks.figures import Figure
from benchmarks.postgres import start_server
from benchmarks.soak import WORKER_SETTINGS, Worker
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.runtime.sharing.leases import RENEW_SECONDS, LeaseKeeper
from mud_assistant.llm.testing import FakeOllama, Reply, serve

#: Idle assistants, the processes that run them, and for how many seconds the log is looked at.
IDLE, PROCESSES, SECONDS = 10_000, 40, 60.0
#: The most that the log may grow in a day, in GB.
MOST_LOG = 2.0
#: The assistants of a hand-over, how many seconds one may take, and how many to share them with a new worker.
MOVED, MOST_SECONDS, MOST_SHARING = 200, 10.0, 20.0
#: All assistants: two workers share them.
ALL = 2 * MOVED
#: How long workers may take to begin, and how often is looked who runs whom, in seconds.
PATIENCE, LOOK_SECONDS = 600.0, 0.05
#: After a start of the server nobody is declared dead for so long, in seconds.
SETTLED_SECONDS = 12.0
_WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, (SELECT wal_fpi FROM pg_stat_wal)"
_HOLDERS = """SELECT name, count(*) FROM {s}.leases JOIN {s}.processes ON id = holder
    WHERE least(expires_at, alive_until) > now() GROUP BY 1"""


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """All of it; the server is there for no longer than that."""
    server = start_server({"autovacuum": "on"})
    if server is None:
        return [
            Figure("", "leases in PostgreSQL", None, note="needs pytest, psycopg, and Debian's postgresql; skipped")
        ]
    try:
        return [await idle_log(reactor, server, SECONDS if full else SECONDS / 2), *await _moved(reactor, server)]
    finally:
        server.close()


async def idle_log(reactor: Any, server: Any, seconds: float) -> Figure:
    """How much log a day 10,000 assistants make that have nothing to do."""
    schema = server.new_schema()
    each = IDLE // PROCESSES
    async with AsyncExitStack() as stack:
        for number in range(PROCESSES):
            store = PostgresStore(server.url(schema), reactor, reactor.seconds, JournalProcess(f"p{number}"))
            await store.open()
            stack.push_async_callback(store.close)
            await store.write(partial(_hold, store=store, first=number * each, count=each))
            keeper = LeaseKeeper(store, reactor, lambda _: None)
            stack.push_async_callback(keeper.stop)
            keeper.start()
            await deferLater(reactor, RENEW_SECONDS / PROCESSES)  # as processes that were not begun together
        await deferLater(reactor, 2 * RENEW_SECONDS)
        server.execute(f'VACUUM "{schema}".leases, "{schema}".processes')  # what the beginning left is not the idle's
        server.execute("CHECKPOINT")
        (before, pages), began = server.execute(_WAL)[0], reactor.seconds()
        await deferLater(reactor, seconds)
        (after, pages_after), took = server.execute(_WAL)[0], reactor.seconds() - began
    server.drop_schema(schema)
    a_day = float(after - before) / took * 86_400 / 1e9
    note = f"{float(after - before) / took:,.0f} bytes a second for {took:.0f} s after a checkpoint; "
    note += f"{pages_after - pages} whole pages; {PROCESSES} processes"
    return Figure("", f"PostgreSQL: log a day of {IDLE:,} idle assistants", a_day, "GB", MOST_LOG, note=note)


def _hold(db: Database, store: PostgresStore, first: int, count: int) -> None:
    """Write down that a process has so many assistants; its first renewal finds them."""
    db.execute(
        """INSERT INTO leases (assistant, token, taken_at, holder, expires_at)
           SELECT 'assistant:' || number, 1, 0, ?, now() + interval '15 s'
           FROM generate_series(CAST(? AS bigint), CAST(? AS bigint)) AS number""",
        (store.process.id, first, first + count - 1),
    )


class Pair:
    """Two workers of the same 400 assistants, on a schema of their own."""

    def __init__(self, reactor: Any, server: Any, folder: Path, url: str) -> None:
        self._reactor = reactor
        self._server = server
        self._folder = folder
        schema = server.new_schema()
        self._holders = _HOLDERS.format(s=f'"{schema}"')
        names = ", ".join(f'"Sage {number}"' for number in range(ALL))
        (folder / "assistant.toml").write_text(WORKER_SETTINGS.format(url=url, journal=server.url(schema), names=names))

    def begin(self, name: str) -> Worker:
        """Begin a worker, which is not begun again."""
        worker = Worker(self._reactor, name, self._folder)
        worker.is_over = True
        return worker

    async def until(self, is_so: Callable[[dict[str, int]], bool]) -> float:
        """Wait until they run as many each as is wanted; return the seconds that took."""
        began = self._reactor.seconds()
        while not is_so(self._runs()):
            assert self._reactor.seconds() - began < PATIENCE
            await deferLater(self._reactor, LOOK_SECONDS)
        return float(self._reactor.seconds() - began)

    def _runs(self) -> dict[str, int]:
        """How many assistants each worker runs; none before the first has made the tables."""
        try:
            return dict(self._server.execute(self._holders))
        except psycopg.errors.UndefinedTable:
            return {}


async def _moved(reactor: Any, server: Any) -> list[Figure]:
    """Seconds until 200 assistants live in another worker."""
    fake = FakeOllama(reactor, lambda _: Reply("Nothing."))
    with tempfile.TemporaryDirectory() as folder:
        async with serve(fake, reactor) as url:
            spread, killed, ended = await _move(reactor, Pair(reactor, server, Path(folder), url))
    goes = f"PostgreSQL: {MOVED} of {ALL} assistants go to a new worker, after the first"
    return [
        Figure("", goes, spread, "s", MOST_SHARING),
        Figure("", f"PostgreSQL: {MOVED} assistants of a killed worker live in another", killed, "s", MOST_SECONDS),
        Figure("", f"PostgreSQL: {MOVED} assistants of a worker that ends live in another", ended, "s", MOST_SECONDS),
    ]


async def _move(reactor: Any, pair: Pair) -> tuple[float, float, float]:
    """Let a worker come, kill the other, let a third come, and end the second; the seconds of all but the third's."""
    workers = {"a": pair.begin("a")}
    try:
        await pair.until(lambda runs: runs.get("a") == ALL)
        workers["b"] = pair.begin("b")
        await pair.until(lambda runs: runs.get("b", 0) > 0)
        spread = await pair.until(lambda runs: runs.get("a") == runs.get("b") == MOVED)
        await deferLater(reactor, SETTLED_SECONDS)
        workers["a"].send(signal.SIGKILL)
        killed = await pair.until(lambda runs: runs.get("b") == ALL)
        await workers["a"].ended
        workers["c"] = pair.begin("c")
        await pair.until(lambda runs: runs.get("c", 0) > 0)
        await pair.until(lambda runs: runs.get("c") == MOVED)
        workers["b"].send(signal.SIGTERM)
        ended = await pair.until(lambda runs: runs.get("c") == ALL)
    finally:
        for worker in workers.values():
            worker.send(signal.SIGKILL)
        await gatherResults([worker.ended for worker in workers.values()])
    return spread, killed, ended
