"""200 assistants at once: 20 events a second and a burst of 1,000.

Their models are well, slow, hung, failing and throttling, 40 assistants each.

An event is lost when it was said to an assistant and is not in its journal, or, with a model that is well or slow, is
not settled in the end. An utterance is repeated when a player hears the same answer twice. An answer repeats the number
of the last word that its model was shown, and so answers that word and all before it: each of them has waited until
then. `--full` goes on for a minute, with the time limits that are usual.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twisted.internet.task import LoopingCall, deferLater

from benchmarks.blocks import Blocks
from benchmarks.children import stub
from benchmarks.figures import Figure, percentile
from benchmarks.village import House, Tenant, Village
from mud_assistant.assistant.starting import settle_heap

ASSISTANTS = 200
PER_SECOND = 20
BURST = 1000
#: How each kind of model answers, by the path of the stub.
KINDS = {
    "well": "/talk=1/wait=150/drip=5/join=4",
    "slow": "/talk=1/wait=1500/drip=40/join=4",
    "hung": "/hang",
    "failing": "/fail",
    "throttling": "/talk=1/throttle=4",
}
GOOD = ("well", "slow")
#: Seconds that the good ones have in the end to deal with what waits.
GRACE = 45.0
_TOKEN = re.compile(r"#\w+")


@dataclass(slots=True)
class Load:
    """What was said and heard. Numbers of houses and of kinds follow each other, so each port has its share."""

    village: Village
    #: When each word was said, by its number and the house.
    said_at: dict[str, float] = field(default_factory=dict)
    heard_at: dict[str, list[float]] = field(default_factory=dict)
    said_to: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    most_in_flight: int = 0
    most_waiting: int = 0
    most_turns: int = 0

    def hears(self, text: str) -> None:
        """A player hears an answer."""
        token = _TOKEN.search(text)
        if token is not None:
            self.heard_at.setdefault(token[0], []).append(time.perf_counter())

    async def say(self, server: House) -> None:
        """A player says something with a number of its own."""
        token = f"#{len(self.said_at)}x{server.number}"
        self.said_at[token] = time.perf_counter()
        self.said_to[server.number].append(token)
        await server.player.say(f"What do you think of {token}?")

    def look(self) -> None:
        """Note how many requests are on their way and wait, and how many runs wait to begin."""
        states = self.village.process.pipeline.snapshot().upstreams
        self.most_in_flight = max(self.most_in_flight, sum(state.in_flight for state in states))
        self.most_waiting = max(self.most_waiting, sum(state.waiting for state in states))
        self.most_turns = max(self.most_turns, self.village.process.scheduler.waiting)

    def repeated(self) -> int:
        """Answers heard more than once."""
        return sum(len(times) - 1 for times in self.heard_at.values())

    def words(self, kind: str) -> int:
        """Words said to assistants with this kind of model."""
        return sum(len(said) for number, said in self.said_to.items() if kind_of(number) == kind)

    def waits(self, kind: str) -> list[float]:
        """Seconds from each word to the first answer that answers it, for those that were answered."""
        waits: list[float] = []
        for said in (said for number, said in self.said_to.items() if kind_of(number) == kind):
            answered = float("inf")
            for token in reversed(said):  # the answer to a later word is one to this as well
                answered = min([answered, *self.heard_at.get(token, ())])
                if answered < float("inf"):
                    waits.append(answered - self.said_at[token])
        return waits


def kind_of(number: int) -> str:
    """The kind of model in the house of this number."""
    return list(KINDS)[number % len(KINDS)]


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """The load, and what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        async with stub(reactor, len(KINDS)) as urls:
            village = Village(reactor, ASSISTANTS, journal=path)
            assert village.file is not None
            await village.file.open()
            load = Load(village)
            await _settled(load, urls, first_byte=20.0 if full else 6.0)
            settle_heap()
            with Blocks(reactor) as blocks:
                await _run(reactor, load, 60.0 if full else 8.0)
            await village.close()
        lost, unsettled = _missing(path, load)
    return [*_verdicts(load, blocks, lost, unsettled), *_told(load, unsettled)]


async def _settled(load: Load, urls: list[str], first_byte: float) -> None:
    """The assistants, in turns by the kind of their model."""
    model = {"first_byte_seconds": first_byte, "idle_seconds": first_byte, "max_in_flight": 32, "max_attempts": 2}
    for number in range(ASSISTANTS):
        tenant = Tenant(f"{urls[number % len(urls)]}{KINDS[kind_of(number)]}/v1", model, {"join_seconds": 0.25})
        server = await load.village.settle(number, tenant, hears=load.hears)
        await server.assistant.settled()


async def _run(reactor: Any, load: Load, seconds: float) -> None:
    """Events at an even pace; the burst after a half; then the good ones get their time."""
    houses = load.village.houses
    watch = LoopingCall(load.look)
    watch.clock = reactor
    watching = watch.start(0.1)
    began, said, burst = time.perf_counter(), 0, 0
    while (now := time.perf_counter() - began) < seconds:
        while said < now * PER_SECOND:
            await load.say(houses[said * 7 % ASSISTANTS])
            said += 1
        if now > seconds / 2 and burst < BURST:
            for _ in range(25):  # as many as a game reads from its sockets in one turn, not all in one callback
                await load.say(houses[burst % ASSISTANTS])
                burst += 1
        await deferLater(reactor, 0.0 if 0 < burst < BURST else 0.01)
    good = [server for server in houses if kind_of(server.number) in GOOD]
    until = time.perf_counter() + GRACE
    while time.perf_counter() < until and any(
        [await server.assistant.context.memory.journal.pending() for server in good]
    ):
        await deferLater(reactor, 0.5)
    watch.stop()
    await watching


def _missing(path: Path, load: Load) -> tuple[int, Counter[str]]:
    """Events that are in no journal, and by the kind of model those that are not settled."""
    lost, unsettled = 0, Counter[str]()
    with closing(sqlite3.connect(path)) as db:
        for number, said in load.said_to.items():
            asked = "SELECT state, count(*) FROM events WHERE assistant = ? AND verdict = 'trigger' GROUP BY state"
            states = dict(db.execute(asked, (f"assistant-{number}",)).fetchall())
            lost += max(0, len(said) - sum(states.values()))
            unsettled[kind_of(number)] += states.get("pending", 0) + states.get("parked", 0)
    return lost, unsettled


def _verdicts(load: Load, blocks: Blocks, lost: int, unsettled: Counter[str]) -> list[Figure]:
    block = f"p99 {blocks.at(0.99):.1f} ms of {len(blocks.seconds):,} blocks, {sum(blocks.seconds):.1f} s of CPU"
    events = f"{len(load.said_at):,} events, {sum(map(len, load.heard_at.values())):,} answers heard"
    good = sum(unsettled[kind] for kind in GOOD)
    return [
        Figure("lag", "load: longest reactor block", blocks.longest, "ms", 50.0, note=block),
        Figure("lag", "load: events lost", lost, "", 0, note=events),
        Figure("lag", "load: events of good models not settled in the end", good, "", 0),
        Figure("lag", "load: utterances repeated", load.repeated(), "", 0),
    ]


def _told(load: Load, unsettled: Counter[str]) -> list[Figure]:
    """What nothing is promised about."""
    figures = []
    for kind in KINDS:
        waits = load.waits(kind)
        shares = "p50 {:.2f} s, p95 {:.2f} s, p99 {:.2f} s".format(*(percentile(waits, at) for at in (0.5, 0.95, 0.99)))
        answered = f"{len(waits)} of {load.words(kind)} words answered, {unsettled[kind]} wait on"
        value, note = (percentile(waits, 0.95), f"{shares}; {answered}") if waits else (None, answered)
        figures.append(Figure("", f"load: word to answer, model {kind}, p95", value, "s", note=note))
    return [
        *figures,
        Figure("", "load: most requests on their way", load.most_in_flight),
        Figure("", "load: most requests waiting for a place", load.most_waiting),
        Figure("", "load: most runs waiting for their turn", load.most_turns),
    ]
