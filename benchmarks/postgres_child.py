"""A process with so many assistants on PostgreSQL: `python -m benchmarks.postgres_child KIND URL NAME FIRST COUNT`.

`KIND` is `assistants` for whole ones in a world of their own, or `journals` for their journals alone.

Each line of standard input is JSON with the name of a work and its arguments, each answer a line of JSON:
`turns SECONDS` takes turns of all assistants, as fast as the journal lets them; `accepts RATE SECONDS` takes events at
a steady rate; `nothing SECONDS` waits.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.stdio import StandardIO
from twisted.internet.task import deferLater, react
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from benchmarks.journal import ANNA, SPEECH, WORDS
from benchmarks.village import ENDLESS, Tenant, Village
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.journal.protocol import StreamChange, StreamEntry
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.assistant.loop.writing import Writes
from mud_assistant.assistant.runtime.sharing.journal import SharedJournal
from mud_assistant.assistant.runtime.storage import JournalFile, KeptJournal
from mud_assistant.llm import FinishReason, LLMResponse, ToolCall, ToolResult, Usage, assistant
from mud_assistant.llm.messages import user
from mud_assistant.tools import Category, Status
from mud_assistant.tools.result import Executed

LOOK, SAY = ToolCall("1", "inspect", {"target": "astrolabe"}), ToolCall("2", "say", {"text": WORDS})
#: How often the clock of a steady rate is looked at, in seconds: an event waits for up to this long, and is measured
#: from when it was due.
BEAT = 0.001
#: A process that was forgotten ends by itself after this many seconds.
LONGEST = 1800.0


def answer(call: ToolCall) -> LLMResponse:
    """What the model says."""
    return LLMResponse(assistant(call), FinishReason.TOOL_CALLS, Usage(1800, 120), "local", "stub")


def executed(call: ToolCall, category: Category) -> Executed:
    """What became of a call."""
    saw = "A brass astrolabe with a cracked rim, mended with silver wire."
    return Executed(call, ToolResult(call.id, call.name, saw), Status.DONE, category, 0.01)


async def take_turn(journal: StoredJournal, number: str) -> None:
    """A turn as the loop writes it, which waits five times: a word is heard, a thing looked at, and something said."""
    await journal.accept(Said(id=number, at=1.0, who=ANNA, text=f"{number}: {WORDS}"), SPEECH)
    run = await journal.open_run(await journal.pending())
    writes = Writes(journal, run)
    writes.answer(1, answer(LOOK))
    writes.result(1, 0, executed(LOOK, Category.SAFE_CHAIN))
    await writes.done()
    writes.answer(2, answer(SAY))
    await writes.intent(2, 0, SAY)
    writes.result(2, 0, executed(SAY, Category.TERMINAL))
    said = (user(WORDS), assistant(LOOK), assistant(SAY))
    entries = tuple(StreamEntry((message,), 5, (), 1, (ANNA.id,)) for message in said)
    await journal.close_run(run, Answered(("say",)), StreamChange(entries))
    await writes.done()


class Works(LineOnlyReceiver):
    """Does what standard input asks for. `ended` fires when that ends."""

    delimiter = b"\n"

    def __init__(self, reactor: Any, store: JournalStore, journals: Sequence[StoredJournal]) -> None:
        self._reactor = reactor
        self._store = store
        self._journals = journals
        self._count = 0
        self.ended: Deferred[None] = Deferred()

    def lineReceived(self, line: bytes) -> None:
        """Begin a work."""
        name, *values = json.loads(line)
        works: dict[str, Callable[..., Coroutine[Any, Any, object]]] = {
            "turns": self._turns,
            "accepts": self._accepts,
            "nothing": self._nothing,
        }
        Deferred.fromCoroutine(works[name](*values)).addCallback(self.tell).addErrback(self._fail)

    def tell(self, what: object) -> None:
        """Write a line; the transport, as standard output does not wait for the reader any more."""
        self.sendLine(json.dumps(what).encode())  # type: ignore[no-untyped-call]  # Twisted has no type for it

    def connectionLost(self, reason: Failure | None = None) -> None:
        """End."""
        if not self.ended.called:
            self.ended.callback(None)

    async def _turns(self, seconds: float) -> tuple[int, list[float], float, int]:
        """How many turns, the wait of each, the CPU of the process, and the commits."""
        waits: list[float] = []
        until, cpu, commits = time.perf_counter() + seconds, time.process_time(), self._store.commits

        async def live(journal: StoredJournal) -> None:
            while (began := time.perf_counter()) < until:
                await take_turn(journal, self._next())
                waits.append(time.perf_counter() - began)

        await gatherResults([Deferred.fromCoroutine(live(one)) for one in self._journals])
        return len(waits), waits, time.process_time() - cpu, self._store.commits - commits

    async def _accepts(self, rate: float, seconds: float) -> tuple[list[float], float]:
        """The seconds until each event was acknowledged, from when it was due; and the CPU seconds of all."""
        cpu = time.process_time()
        waits: list[float] = []
        begun: list[Deferred[None]] = []
        journals, began = self._journals, time.perf_counter()

        async def accept(journal: StoredJournal, at: float) -> None:
            number = self._next()
            await journal.accept(Said(id=number, at=at, who=ANNA, text=f"{number}: {WORDS}"), SPEECH)
            waits.append(time.perf_counter() - at)

        while len(begun) < rate * seconds:
            while (due := began + len(begun) / rate) <= time.perf_counter() and len(begun) < rate * seconds:
                begun.append(Deferred.fromCoroutine(accept(journals[len(begun) % len(journals)], due)))
            await deferLater(self._reactor, BEAT)
        await gatherResults(begun)
        return waits, time.process_time() - cpu

    async def _nothing(self, seconds: float) -> int:
        """Wait. The assistants live on."""
        await deferLater(self._reactor, seconds)
        return 0

    def _next(self) -> str:
        self._count += 1
        return f"{time.monotonic_ns()}-{self._count}"

    def _fail(self, failure: Failure) -> None:
        failure.printTraceback(sys.stderr)
        self.connectionLost()


def journal_at(reactor: Any, where: str, name: str) -> KeptJournal:
    """The journal of this process at a URL, or in a file; not yet open."""
    if where.startswith("postgresql:"):
        return shared_journal(reactor, where, name)
    return JournalFile(Path(where), reactor, time.time, JournalConfig(file=where))  # noqa: TID251  (composition root)


def shared_journal(reactor: Any, url: str, name: str) -> SharedJournal:
    """The journal of this process in PostgreSQL, not yet open."""
    return SharedJournal(JournalConfig(url=url), name, reactor, time.time)  # noqa: TID251  (composition root)


async def main(reactor: Any) -> None:
    """Open, answer, and close."""
    kind, url, name, first, count = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
    reactor.callLater(LONGEST, reactor.stop)
    village = Village(reactor, first + count)
    village.file = journal_at(reactor, url, name)
    await village.file.open()
    journals: list[StoredJournal] = []
    for number in range(first, first + count):
        if kind == "assistants":
            await village.settle(number, Tenant("http://127.0.0.1:9/v1", ENDLESS))
            continue
        storage = await village.file.storage_of(f"assistant-{number}", 5000)
        assert isinstance(storage.journal, StoredJournal)
        journals.append(storage.journal)
    works = Works(reactor, village.file.store, journals)
    StandardIO(works)
    works.tell(count)
    await works.ended
    await village.close()


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor)), ())
