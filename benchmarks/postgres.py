"""The journal in PostgreSQL: how soon an event is on disk, turns a second of several processes, what one costs.

It starts a server of its own with Debian's package, durable as in a game, and says so where there is none.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from benchmarks.booking import keeping, on_disk, side_by_side
from benchmarks.children import Child, stub
from benchmarks.figures import Figure, percentile, ratio

#: Events a second, for how many seconds, by so many assistants; the most that p95 may be, in milliseconds.
RATE, SECONDS, ASSISTANTS, MOST = 500, 20.0, 100, 5.0
#: Processes that share the assistants of the turns, how many these are, and seconds of turns.
PROCESSES, TURNING, TURN_SECONDS = (1, 2, 4), 64, 8.0
#: Idle assistants of how many processes, for how many seconds; statements a second that one of them may send.
IDLE, IDLE_PROCESSES, IDLE_SECONDS, IDLE_MOST = 1000, 4, 60.0, 1.0
#: Files of its log that a server has been through before it is measured.
LOG_FILES = 6
#: CPU of the reactor's thread for a step, over that with SQLite.
STEP_MOST = 1.1
#: What the log of the server writes for a message to it, and what is in that of a renewal.
_SENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (.*)")
_RENEWAL = "UPDATE leases SET expires_at"
#: Messages of the transaction of a renewal: BEGIN, its number, when the process was seen, its leases, COMMIT.
_OF_RENEWAL = 5
_WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, xact_commit FROM pg_stat_database WHERE datname = 'mud'"
_SIZE = (
    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relkind = 'r' AND relnamespace = %s::regnamespace"
)
_ROWS = "SELECT sum(n_tup_ins), sum(n_tup_upd) FROM pg_stat_all_tables WHERE schemaname = %s"
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'mud-assistant%'"


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns of all processes together. Waits and `cpu` (of all processes, not of the server) are in milliseconds."""

    per_second: float
    p50: float
    p95: float
    cpu: float
    commits: float
    wal: float
    disk: float
    inserted: float
    updated: float
    connections: float
    #: CPU of the server, in milliseconds.
    server: float


@asynccontextmanager
async def children(reactor: Any, kind: str, url: str, count: int, assistants: int) -> AsyncIterator[list[Child]]:
    """So many processes that share these assistants evenly, for as long as the block lasts."""
    each = assistants // count
    made = [
        Child(reactor, "benchmarks.postgres_child", kind, url, f"p{number}", str(number * each), str(each))
        for number in range(count)
    ]
    try:
        await gatherResults([child.answer() for child in made])
        yield made
    finally:
        for child in made:
            await child.close()


def start_server(settings: Mapping[str, str] | None = None) -> Any:
    """Return a server that keeps what it commits, with these settings too; None where there is none to start."""
    if importlib.util.find_spec("pytest") is None or importlib.util.find_spec("psycopg") is None:
        return None
    from tests.postgres import PostgresServer, find_programs  # noqa: PLC0415  (only where it is installed)

    programs = find_programs()
    if programs is None:
        return None
    server = PostgresServer(programs, durable=True, settings=settings or {})
    _use(server)
    return server


def _use(server: Any) -> None:
    """Make it a server that has been in use: with files of its log to write over, and nothing of its making unwritten.

    A new one makes each file of 16 MiB and fills it with zeros while the commits wait.
    """
    server.execute("CREATE TABLE used (number integer)")
    for number in range(LOG_FILES):
        server.execute("INSERT INTO used VALUES (%s)", (number,))
        server.execute("SELECT pg_switch_wal()")
    for _ in range(2):
        server.execute("CHECKPOINT")
    os.sync()


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """All of it; the server is there for no longer than that."""
    server = start_server()
    if server is None:
        return [
            Figure("", "journal in PostgreSQL", None, note="needs pytest, psycopg, and Debian's postgresql; skipped")
        ]
    try:
        found = [*await _acceptance(reactor, server), await _steps(reactor, server, 25 if full else 10)]
        for count in PROCESSES:
            found += _told(count, await take_turns(reactor, server, count))
        return [*found, *await _idle(reactor, server, IDLE_SECONDS if full else IDLE_SECONDS / 3)]
    finally:
        server.close()


async def take_turns(reactor: Any, server: Any, count: int, seconds: float = TURN_SECONDS) -> Turns:
    """Turns of so many processes that share `TURNING` assistants, on a schema of their own."""
    schema = server.new_schema()
    async with children(reactor, "journals", server.url(schema), count, TURNING) as made:
        await _ask(made, "turns", 1.0)
        [(wal, _)], [(size,)] = server.execute(_WAL), server.execute(_SIZE, (schema,))
        connections = server.execute(_CONNECTIONS)[0][0] / count
        before, used = server.execute(_ROWS, (schema,))[0], cpu_of(server)
        answers = await _ask(made, "turns", seconds)
        used = cpu_of(server) - used
        wal = server.execute(_WAL)[0][0] - wal
        size = server.execute(_SIZE, (schema,))[0][0] - size
    rows = server.execute(_ROWS, (schema,))[0]  # told when the sessions end
    server.drop_schema(schema)
    turns = sum(done for done, *_ in answers)
    waits = [1000 * wait for _, those, *_ in answers for wait in those]
    return Turns(
        per_second=turns / seconds,
        p50=percentile(waits, 0.5),
        p95=percentile(waits, 0.95),
        cpu=1000 * sum(cpu for _, _, cpu, _ in answers) / turns,
        commits=sum(commits for *_, commits in answers) / turns,
        wal=float(wal) / turns,
        disk=float(size) / turns,
        inserted=float(rows[0] - (before[0] or 0)) / turns,
        updated=float(rows[1] - (before[1] or 0)) / turns,
        connections=connections,
        server=1000 * used / turns,
    )


def cpu_of(server: Any) -> float:
    """CPU seconds that the processes of the server have used which are alive now."""
    postmaster, used = str(server.pids[0]), 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            values = stat.read_text().rpartition(")")[2].split()
            if postmaster in (values[1], stat.parent.name):
                used += int(values[11]) + int(values[12])
    return used / os.sysconf("SC_CLK_TCK")


def _told(count: int, turns: Turns) -> list[Figure]:
    by = f"{count} process{'es' if count > 1 else ''}"
    wait = f"a turn p50 {turns.p50:.0f} ms, p95 {turns.p95:.0f} ms; {TURNING} assistants, 8 writes a turn"
    cpu = f"CPU a turn {turns.cpu:.2f} ms, of the server {turns.server:.2f} ms; {turns.commits:.2f} commits a turn; "
    cpu += f"{turns.connections:g} connections a process"
    rows = (
        f"{turns.inserted:.1f} rows new and {turns.updated:.1f} changed, {turns.disk:,.0f} bytes of tables and indexes"
    )
    return [
        Figure("", f"PostgreSQL: turns of {by}", turns.per_second, "turns/s", note=f"{wait}; {cpu}"),
        Figure("", f"PostgreSQL: log of the server a turn, {by}", turns.wal, "bytes", note=rows),
    ]


async def _acceptance(reactor: Any, server: Any) -> list[Figure]:
    """Seconds from an event to its place on disk, at a steady rate."""
    schema = server.new_schema()
    with tempfile.TemporaryDirectory() as folder:
        found = [
            await _paced(reactor, server, "PostgreSQL", server.url(schema), MOST),
            await _paced(reactor, server, "a file beside it", f"{folder}/journal", None),
        ]
    server.drop_schema(schema)
    return found


async def _paced(reactor: Any, server: Any, name: str, where: str, most: float | None) -> Figure:
    async with children(reactor, "journals", where, 1, ASSISTANTS) as made:
        await _ask(made, "accepts", RATE, 2.0)
        used = cpu_of(server)
        [(waits, cpu)] = await _ask(made, "accepts", RATE, SECONDS)
        used = cpu_of(server) - used
    p50, p95, p99 = (1000 * percentile(waits, share) for share in (0.5, 0.95, 0.99))
    took = f"CPU an event {1000 * cpu / len(waits):.2f} ms, of the server {1000 * used / len(waits):.2f} ms"
    note = f"{RATE}/s for {SECONDS:.0f} s; p50 {p50:.2f} ms, p99 {p99:.2f} ms, max {1000 * max(waits):.1f} ms; {took}"
    return Figure("", f"{name}: an event acknowledged, p95", p95, "ms", most, note=note)


async def _steps(reactor: Any, server: Any, count: int) -> Figure:
    """CPU of the reactor's thread for a step with the journal in PostgreSQL, over one with it in a file."""
    from benchmarks.postgres_child import shared_journal  # noqa: PLC0415  (needs psycopg)

    schema = server.new_schema()
    with tempfile.TemporaryDirectory() as folder:
        async with stub(reactor) as (url,):
            shared = await keeping(reactor, shared_journal(reactor, server.url(schema), "steps"))
            file = await keeping(reactor, on_disk(reactor, Path(folder)))
            rounds = await side_by_side(url, shared, file, count)
            for village in (shared, file):
                await village.close()
    server.drop_schema(schema)
    one, other = (statistics.median(each) for each in zip(*rounds, strict=True))
    note = f"a step: {one:.3g} ms with PostgreSQL, {other:.3g} ms with SQLite, of the reactor's thread"
    ratios = [mine / theirs for mine, theirs in rounds]
    return ratio("", "PostgreSQL: CPU of a step / SQLite's", ratios, STEP_MOST, note=note)


async def _idle(reactor: Any, server: Any, seconds: float) -> list[Figure]:
    """What processes send whose assistants have nothing to do, by the log of the server."""
    schema = server.new_schema()
    log = server.folder / "log"
    async with children(reactor, "assistants", server.url(schema), IDLE_PROCESSES, IDLE) as made:
        await _ask(made, "nothing", 2.0)
        _set_log(server, "all")
        await _ask(made, "nothing", 1.0)
        before = log.stat().st_size
        await _ask(made, "nothing", seconds)
        after = log.stat().st_size
        _set_log(server, "none")
    sent = _sent(log, before, after)
    server.drop_schema(schema)
    renewals = sum(number for text, number in sent.items() if _RENEWAL in text)
    beside = (sent.total() - _OF_RENEWAL * renewals) / seconds / IDLE_PROCESSES
    most = "; ".join(f"{number} {text[:40]}" for text, number in sent.most_common(5))
    note = f"beside {renewals / seconds / IDLE_PROCESSES:.2f} renewals/s; {most}"
    return [
        Figure(
            "",
            f"PostgreSQL: statements of an idle process of {IDLE // IDLE_PROCESSES}",
            beside,
            "/s",
            IDLE_MOST,
            note=note,
        )
    ]


def _set_log(server: Any, what: str) -> None:
    server.execute(f"ALTER SYSTEM SET log_statement = '{what}'")
    server.execute("SELECT pg_reload_conf()")


def _sent(log: Path, start: int, end: int) -> Counter[str]:
    """How often each message was sent to the server between these places of its log."""
    text = log.read_bytes()[start:end].decode("utf-8", "replace")
    return Counter(match[1] for match in _SENT.finditer(text))


def _ask(made: list[Child], *work: object) -> Deferred[list[Any]]:
    """Let all processes do this work at once; the answers of all."""
    return gatherResults([child.ask(json.dumps(work)) for child in made])
