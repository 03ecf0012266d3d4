"""What it costs that old runs leave a journal in PostgreSQL: how long, how late others are meanwhile, what is left.

A journal of so many turns is written by plain SQL, and its older half is pruned as a game does it each day, in slices,
while another process hears words at a steady rate. Then as many turns as went are written again: what the tables have
grown by then is what pruning leaves unused.
"""

from __future__ import annotations

import re
import time
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from benchmarks.figures import Figure, percentile
from benchmarks.journal import ANNA, SPEECH, WORDS
from benchmarks.postgres import start_server
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore

#: Turns that are there, half of which is old; of how many assistants; words a second meanwhile.
TURNS, ASSISTANTS, RATE = {True: 100_000, False: 20_000}, 20, 20.0
#: The most that the slowest twentieth of the words may take meanwhile, in milliseconds, and the tables grow.
MOST_WAIT, MOST_GROWN = 50.0, 1.2
_DAY = 86_400.0
#: Bytes of a record: what a turn takes in the tables is then about what one of a game takes.
_RECORD = "convert_to(repeat(md5(n::text), 20), 'UTF8')"
#: A turn: an event, a run over it, two answers, an intent and two results. `:old` is how many seconds ago the first is.
_FILL = (
    """INSERT INTO events (seq, assistant, id, payload, verdict, importance, addressed, accepted_at, state, who)
       SELECT n, 'sage ' || n % :assistants, 'e' || n, {record}, 'trigger', 5, 1, :now - :old, 'done',
           'player:' || n % 50
       FROM generate_series(CAST(:first AS bigint), :last) AS n""",
    """INSERT INTO runs (seq, assistant, token, opened_at, closed_at, outcome)
       SELECT n, 'sage ' || n % :assistants, 1, :now - :old, :now - :old, 'x'
       FROM generate_series(CAST(:first AS bigint), :last) AS n""",
    """INSERT INTO run_events SELECT n, 'sage ' || n % :assistants, n
       FROM generate_series(CAST(:first AS bigint), :last) AS n""",
    """INSERT INTO responses SELECT n, 'sage ' || n % :assistants, step, {record}
       FROM generate_series(CAST(:first AS bigint), :last) AS n, generate_series(1, 2) AS step""",
    """INSERT INTO intents SELECT n, 'sage ' || n % :assistants, 2, 0, 0, {record}, 1
       FROM generate_series(CAST(:first AS bigint), :last) AS n""",
    """INSERT INTO results SELECT n, 'sage ' || n % :assistants, step, 0, {record}
       FROM generate_series(CAST(:first AS bigint), :last) AS n, generate_series(1, 2) AS step""",
)
_SIZE = (
    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relkind = 'r' AND relnamespace = %s::regnamespace"
)
_WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """All of it; the server is there for no longer than that."""
    server = start_server({"autovacuum": "on", "max_wal_size": "1GB"})
    if server is None:
        return [
            Figure("", "old runs in PostgreSQL", None, note="needs pytest, psycopg, and Debian's postgresql; skipped")
        ]
    try:
        return await _pruned(reactor, server, TURNS[full])
    finally:
        server.close()


async def _pruned(reactor: Any, server: Any, turns: int) -> list[Figure]:
    schema = server.new_schema()
    url, now, half = server.url(schema), time.time(), turns // 2  # noqa: TID251  (composition root)
    wall = partial(float, now)
    pruning = PostgresStore(url, reactor, wall, JournalProcess("pruning"))
    hearing = PostgresStore(url, reactor, wall, JournalProcess("hearing"))
    await pruning.open()
    await hearing.open()
    try:
        for first, last, old in ((1, half, 100 * _DAY), (half + 1, turns, _DAY)):
            await _fill(server, schema, now=now, first=first, last=last, old=old)
        for table in ("events", "runs"):  # new rows come after those
            server.execute(f"SELECT setval(pg_get_serial_sequence('\"{schema}\".{table}', 'seq'), {10 * turns})")
        _vacuum(server, schema)
        before = float(server.execute(_SIZE, (schema,))[0][0])
        listener = StoredJournal(hearing, "listener")
        await listener.start()
        calm = await _hear(reactor, listener, lambda: False, 10.0)
        journals = [StoredJournal(pruning, f"sage {number}") for number in range(ASSISTANTS)]
        for journal in journals:
            await journal.start()
        log, began = float(server.execute(_WAL)[0][0]), reactor.seconds()

        async def prune() -> int:
            return sum([(await journal.prune(90.0, 10**12)).runs for journal in journals])

        work = Deferred.fromCoroutine(prune())
        busy = await _hear(reactor, listener, lambda: work.called, 3600.0)
        runs, seconds = await work, reactor.seconds() - began
        log = float(server.execute(_WAL)[0][0]) - log
        assert runs == half, runs
        _vacuum(server, schema)
        await _fill(server, schema, now=now, first=turns + 1, last=turns + half, old=_DAY)
        _vacuum(server, schema)
        after = float(server.execute(_SIZE, (schema,))[0][0])
    finally:
        await hearing.close()
        await pruning.close()
    p95, calm95 = 1000 * percentile(busy, 0.95), 1000 * percentile(calm, 0.95)
    note = (
        f"p50 {1000 * percentile(busy, 0.5):.1f} ms, max {1000 * max(busy):.0f} ms; without pruning p95 {calm95:.1f} ms"
    )
    rate = f"{half:,} turns in {seconds:.1f} s; {log / half:,.0f} bytes of log each"
    return [
        Figure("", "PostgreSQL: turns pruned in a second", half / seconds, "/s", note=rate),
        Figure("", "PostgreSQL: a word acknowledged while old runs are pruned, p95", p95, "ms", MOST_WAIT, note=note),
        Figure("", "PostgreSQL: tables after as many turns as were pruned / before", after / before, "", MOST_GROWN,
               note=f"{before / 2**20:,.0f} MiB before, {after / 2**20:,.0f} after"),
    ]  # fmt: skip


async def _fill(server: Any, schema: str, **values: float) -> None:
    """Write turns by plain SQL."""
    import psycopg  # noqa: PLC0415  (only where it is installed)

    named = {"assistants": ASSISTANTS, **values}
    with psycopg.connect(server.url(schema), autocommit=True) as db:
        for statement in _FILL:
            filled = re.sub(r":(\w+)\b", lambda found: f"{named[found[1]]:.0f}", statement)
            db.execute(filled.format(record=_RECORD).encode())


def _vacuum(server: Any, schema: str) -> None:
    """Do what autovacuum does in its own time."""
    for table in ("events", "runs", "run_events", "responses", "intents", "results"):
        server.execute(f'VACUUM ANALYZE "{schema}".{table}')


async def _hear(reactor: Any, journal: StoredJournal, is_over: Any, seconds: float) -> list[float]:
    """Hear words at a steady rate until it is over; the seconds until each was acknowledged."""
    waits: list[float] = []
    until = reactor.seconds() + seconds
    while reactor.seconds() < until and not is_over():
        began = reactor.seconds()
        number = f"{began}"
        await journal.accept(Said(id=number, at=began, who=ANNA, text=WORDS), SPEECH)
        waits.append(reactor.seconds() - began)
        await deferLater(reactor, max(0.0, 1 / RATE - (reactor.seconds() - began)))
    return waits
