"""Workers under a low load for hours, while they are killed: what grows, how late words are, what is lost or twice.

    python -m benchmarks.soak --hours 2 --out soak.jsonl --draw docs/pictures/soak.svg
    python -m benchmarks.soak --out soak.jsonl --draw docs/pictures/soak.svg --hours 0    draws what was measured

A PostgreSQL of its own, a model on loopback, and three real `mud-assistant worker`s. The first is left alone, so that
its memory can be seen for the whole time; the others are killed, stopped and ended in turn, and so is the server.
`--hours 24` is a day of it. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psycopg
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import deferLater, react
from twisted.internet.threads import deferToThread

from benchmarks.figures import percentile
from benchmarks.postgres import cpu_of, start_server
from benchmarks.soak_plot import draw
from mud_assistant.assistant.events.events import Paged
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.postgres.sharing.messages import FOR, FROM_AFAR, LeftMessage
from mud_assistant.assistant.journal.postgres.sharing.telling import messenger
from mud_assistant.assistant.journal.records import EVENT
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import Principal

ASSISTANTS, STEADY, MORTAL = 12, "steady", ("second", "third")
#: Seconds between two words, between two ends of a worker, and between two ends of the server, on average.
WORD_SECONDS, KILL_SECONDS, SERVER_SECONDS = 3.0, 120.0, 1500.0
#: Seconds between two looks at everything; how long a stopped worker hangs; how long what is left may take at the end.
SAMPLE_SECONDS, HANG_SECONDS, LAST_SECONDS = 30.0, 20.0, 120.0
#: How long all may take to live, on a busy machine, in seconds.
BEGIN_SECONDS = 900.0
#: How long a worker is not there after it was killed, and at the least lives, in seconds.
GONE_SECONDS, YOUNG_SECONDS = 5.0, 20.0
#: How many people speak: each is told little, as in a game.
PEOPLE = 40
_HEARD = re.compile(r'pages you: "(w\d+)"')
_WHO = re.compile(r'(\w+) pages you: "w\d+"')
_WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
_TWICE = """SELECT word, count(*) FROM (
    SELECT substring(convert_from(payload, 'UTF8') from 'I heard: (w[0-9]+)') AS word FROM {s}.results) AS said
    WHERE word IS NOT NULL GROUP BY 1"""
_STATES = "SELECT id, state FROM {s}.events UNION ALL SELECT id, 'left' FROM {s}.messages"
_UNKNOWN = """SELECT count(*) FROM {s}.intents i WHERE i.effect != 0 AND NOT EXISTS (
    SELECT 1 FROM {s}.results r WHERE r.run = i.run AND r.step = i.step AND r.idx = i.idx)"""
#: Settings of a worker, with the addresses of its model and its journal.
WORKER_SETTINGS = """[model]
provider = "ollama"
url = "{url}"
model = "sage"
examples = false
[journal]
url = "{journal}"
[worker]
assistants = [{names}]
[page]
enabled = false
"""


class Worker(ProcessProtocol):
    """One process of `mud-assistant worker`, begun again when it has ended."""

    def __init__(self, reactor: Any, name: str, folder: Path) -> None:
        self._reactor = reactor
        self.name = name
        self._folder = folder
        self.pid = 0
        self.since = 0.0
        #: How many assistants it has said to live.
        self.alive = 0
        self.is_over = False
        self.ended: Deferred[None] = Deferred()
        self.begin()

    def begin(self) -> None:
        """Start the process."""
        command = [sys.executable, "-m", "mud_assistant", "worker", "--name", self.name]
        process = self._reactor.spawnProcess(self, sys.executable, command, env=None, path=str(self._folder))
        self.pid, self.since = process.pid, self._reactor.seconds()

    def send(self, number: int) -> None:
        """Send it a signal, if it is there."""
        if self.pid and self.transport is not None:
            with suppress(ProcessExitedAlready):
                self.transport.signalProcess(number)

    def outReceived(self, data: bytes) -> None:
        """Write down what it prints."""
        self.alive += data.count(b" thinks with ")
        with (self._folder / f"{self.name}.log").open("ab") as log:
            log.write(data)

    errReceived = outReceived

    def processEnded(self, reason: Any) -> None:
        """Begin it again, unless all is over."""
        self.pid = 0
        if self.is_over:
            self.ended.callback(None)
        else:
            self._reactor.callLater(GONE_SECONDS, self.begin)


class Soak:
    """The workers, the words that are told them, and what is seen of both. Times are in seconds."""

    # Any: the reactor, and a server of the tests.
    def __init__(self, reactor: Any, server: Any, schema: str, folder: Path, seed: int) -> None:
        self._reactor = reactor
        self._server = server
        self._schema = f'"{schema}"'
        self._place = PostgresPlace(server.url(schema))
        self._folder = folder
        self._chance = Random(seed)  # noqa: S311
        self._began = reactor.seconds()
        self.workers: list[Worker] = []
        #: When each word was left, its event, and how long each took until a model was asked.
        self._left: dict[str, float] = {}
        self._events: dict[str, str] = {}
        self._waits: list[float] = []
        self._ends = {"kill": 0, "hang": 0, "term": 0, "server": 0}
        self._used = 0.0
        self._used_at = self._began

    async def begin(self, reactor: Any) -> None:
        """Wait until all assistants live, and begin to count."""
        waits = 0.0
        while sum(worker.alive for worker in self.workers) < ASSISTANTS and waits < BEGIN_SECONDS:
            waits += 1.0
            await deferLater(reactor, 1.0)
        self._began = self._used_at = reactor.seconds()
        self._used = _cpu(self.workers[0].pid)

    def brain(self, request: RecordedRequest) -> Step:
        """Answer what a page says by repeating it, and note how late that is."""
        heard = str(request.messages[-1]["content"])
        words, people = _HEARD.findall(heard), _WHO.findall(heard)
        if not words:
            return Reply("Nothing.")
        if (at := self._left.pop(words[-1], None)) is not None:
            self._waits.append(self._reactor.seconds() - at)
        return Reply(calls=(Call("page", {"target": people[-1], "text": f"I heard: {words[-1]}"}),))

    async def speak(self, seconds: float) -> None:
        """Leave words for assistants by chance, until so many seconds have passed."""
        while self._reactor.seconds() - self._began < seconds:
            await deferLater(self._reactor, self._chance.expovariate(1 / WORD_SECONDS))
            word, assistant = f"w{len(self._events)}", f"assistant:sage {self._chance.randrange(ASSISTANTS)}"
            who = f"Anna{self._chance.randrange(PEOPLE)}"
            event = Paged(id=f"{FROM_AFAR}{word}", at=0.0, who=Principal(f"afar:{who.casefold()}", who), text=word)
            self._left[word] = self._reactor.seconds()
            if await self._blocking(lambda: self._leave(LeftMessage(assistant, event.id, EVENT.encode(event)))):  # noqa: B023
                self._events[word] = event.id
            else:
                self._left.pop(word, None)
                self._events.setdefault(word, "")

    def _leave(self, message: LeftMessage) -> bool:
        """Leave a word. Return False when the server is away; it is then not counted. Blocks."""
        try:
            with messenger(self._place) as connected:
                connected.leave(message, FOR + message.assistant)
        except CannotRead:
            return False
        return True

    async def harm(self, seconds: float) -> None:
        """Kill, stop and end workers and the server by chance, until a little before so many seconds have passed."""
        next_server = self._began + SERVER_SECONDS
        while True:
            await deferLater(self._reactor, self._chance.uniform(0.5, 1.5) * KILL_SECONDS)
            now = self._reactor.seconds()
            if now - self._began > seconds - LAST_SECONDS:
                return
            if now > next_server:
                next_server += SERVER_SECONDS
                self._ends["server"] += 1
                await self._blocking(self._restart_server)
                continue
            worker = self._chance.choice(self.workers[1:])
            if not worker.pid or now - worker.since < YOUNG_SECONDS:
                continue
            how = self._chance.choices(("kill", "hang", "term"), (6, 2, 2))[0]
            self._ends[how] += 1
            if how == "hang":
                worker.send(signal.SIGSTOP)
                await deferLater(self._reactor, HANG_SECONDS)
                worker.send(signal.SIGCONT)
            else:
                worker.send(signal.SIGKILL if how == "kill" else signal.SIGTERM)

    def _restart_server(self) -> None:
        self._server.stop_immediate()
        self._server.start()

    async def sample(self) -> dict[str, Any]:
        """What is seen now; of what was counted since the last time, it begins anew."""
        steady = self.workers[0]
        used, now = _cpu(steady.pid), self._reactor.seconds()
        waits, self._waits = sorted(self._waits), []
        found = {
            "at": round(now - self._began, 1),
            "memory": _resident(steady.pid) / 2**20,
            "cpu": 100 * (used - self._used) / max(1.0, now - self._used_at),
            "wait": percentile(waits, 0.5) if waits else None,
            "longest": waits[-1] if waits else None,
            **self._ends,
        }
        self._used, self._used_at = used, now
        with suppress(psycopg.Error):  # in the moment of an end of the server
            found |= await self._blocking(self._look)
        return found

    def _look(self) -> dict[str, Any]:
        """Look into the tables. Blocks. Raises psycopg.Error."""

        def rows(sql: str) -> list[tuple[Any, ...]]:
            return self._server.execute(sql.format(s=self._schema))  # type: ignore[no-any-return]

        said, states = dict(rows(_TWICE)), dict(rows(_STATES))
        told = {event for event in self._events.values() if event}
        return {
            "wal": float(rows(_WAL)[0][0]) / 2**20,
            "told": len(told),
            "answered": len(said),
            "twice": sum(count > 1 for count in said.values()),
            "lost": len(told - states.keys()),
            "open": sum(states.get(event) in {"left", "pending"} for event in told),
            "unknown": rows(_UNKNOWN)[0][0],
            "server_cpu": cpu_of(self._server),
        }

    async def end(self) -> None:
        """End the workers as an operator does."""
        for worker in self.workers:
            worker.is_over = True
            if worker.pid:
                worker.send(signal.SIGTERM)
                await worker.ended

    # Any: what the work returns.
    def _blocking(self, work: Callable[[], Any]) -> Deferred[Any]:
        return deferToThread(work)


def _cpu(pid: int) -> float:
    """CPU seconds of a process, 0 when it is not there."""
    with suppress(OSError):
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _resident(pid: int) -> float:
    """Bytes that a process has in memory, 0 when it is not there."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0.0


async def measure(reactor: Any, server: Any, hours: float, out: Path, seed: int) -> None:
    """Let it all run, and write a line of JSON for each look."""
    schema = server.new_schema()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        soak = Soak(reactor, server, schema, folder, seed)
        fake = FakeOllama(reactor, soak.brain)
        async with serve(fake, reactor) as url:
            names = ", ".join(f'"Sage {number}"' for number in range(ASSISTANTS))
            settings = WORKER_SETTINGS.format(url=url, journal=server.url(schema), names=names)
            (folder / "assistant.toml").write_text(settings)
            for one in (STEADY, *MORTAL):
                soak.workers.append(Worker(reactor, one, folder))
            await soak.begin(reactor)
            seconds = 3600 * hours
            doing = [Deferred.fromCoroutine(work) for work in (soak.speak(seconds), soak.harm(seconds))]
            with out.open("w", encoding="utf-8") as lines:
                while True:
                    await deferLater(reactor, SAMPLE_SECONDS)
                    fake.requests.clear()
                    found = await soak.sample()
                    lines.write(json.dumps(found) + "\n")
                    lines.flush()
                    if found["at"] > seconds and (not found.get("open") or found["at"] > seconds + LAST_SECONDS):
                        break
            for one in doing:
                await one
            await soak.end()


def main() -> None:
    """Measure, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=2.0, help="how long; 0 draws what --out holds (default: 2)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the lines of JSON are")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="where the picture goes")
    parser.add_argument("--seed", type=int, default=1, help="of the plan of what happens (default: 1)")
    asked = parser.parse_args()
    if asked.hours:
        server = start_server({"autovacuum": "on", "max_wal_size": "1GB"})
        if server is None:
            parser.exit(1, "needs pytest, psycopg, and Debian's postgresql\n")
        try:
            react(
                lambda reactor: Deferred.fromCoroutine(measure(reactor, server, asked.hours, asked.out, asked.seed)), ()
            )
        except SystemExit as ended:
            if ended.code:
                raise
        finally:
            server.close()
    samples = [json.loads(line) for line in asked.out.read_text(encoding="utf-8").splitlines()]
    print(json.dumps(samples[-1]))
    if asked.draw is not None:
        asked.draw.write_text(draw(samples), encoding="utf-8")


if __name__ == "__main__":
    main()
