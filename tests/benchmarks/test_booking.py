"""What the journal and the ledger cost a run in things that can be counted exactly."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType

from benchmarks.village import ENDLESS, House, Tenant, Village, past
from mud_assistant.assistant.journal import StoredJournal, codec
from mud_assistant.llm.testing import Call, FakeChat, Reply, serve
from mud_assistant.resilience import Account, Allowance, Amount, Ledger
from tests.benchmarks.counting import CountingReactor, real

LOOK = Reply(calls=(Call("inspect", {"target": "astrolabe"}),))
SAY = Reply(calls=(Call("say", {"text": "A brass astrolabe."}),))
QUESTION = "What is that on the desk?"
#: What somebody waits for: the event taken, the run opened, the step that looks, the intent of the one that says
#: something, and the run closed. And of the search in the memories what was found: the threads of the journal and of
#: the index pass it to one another.
WAITED_FOR = 1 + 1 + 1 + 1 + 1 + 1
#: What is written meanwhile, and wakes the reactor only when it gets a commit of its own: two answers and a result.
WRITTEN = 2 + 1


class WokenReactor(CountingReactor):
    """The real reactor, with the number of times another thread woke it."""

    def __init__(self) -> None:
        super().__init__()
        self.wakes = 0

    def callFromThread(self, call: Callable[..., object], *args: object) -> None:  # noqa: N802  (Twisted's name)
        self.wakes += 1
        real.callFromThread(call, *args)


@asynccontextmanager
async def journalled(folder: Path, questions: int) -> AsyncIterator[tuple[House, WokenReactor]]:
    """An assistant whose journal is on disk, and the reactor that is woken for it."""
    reactor, fake = WokenReactor(), FakeChat(real, [LOOK, SAY] * questions)
    async with serve(fake, real) as url:
        village = Village(reactor, 1, journal=folder / "journal")
        assert village.file is not None
        await village.file.open()
        house = await village.settle(0, Tenant(url, ENDLESS, stream=past(20)))
        await house.assistant.settled()
        await house.ask(QUESTION)
        try:
            yield house, reactor
        finally:
            await village.close()


@contextmanager
def calls_of(*functions: Callable[..., object]) -> Iterator[Counter[str]]:
    """How often each of these is called on this thread in the block, by name."""
    names = {function.__code__: function.__name__ for function in functions if hasattr(function, "__code__")}
    counted, before = Counter(dict.fromkeys(names.values(), 0)), sys.getprofile()

    def saw(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in names:
            counted[names[frame.f_code]] += 1

    sys.setprofile(saw)
    try:
        yield counted
    finally:
        sys.setprofile(before)


async def test_a_run_wakes_the_reactor_only_for_what_is_waited_for(tmp_path: Path) -> None:
    async with journalled(tmp_path, 4) as (house, reactor):
        for _ in range(3):
            before = reactor.wakes
            await house.ask(QUESTION)
            assert WAITED_FOR <= reactor.wakes - before <= WAITED_FOR + WRITTEN


async def test_a_run_writes_each_record_once_and_looks_at_no_number_in_it(tmp_path: Path) -> None:
    async with journalled(tmp_path, 2) as (house, _):
        journal = house.assistant.context.memory.journal
        assert isinstance(journal, StoredJournal)
        read = journal.lease.store.read
        with calls_of(codec.Codec.encode, codec._is_finite) as calls:
            saw = sys.getprofile()
            await read(lambda _: sys.setprofile(saw))
            await house.ask(QUESTION)
            await read(lambda _: sys.setprofile(None))
        # The event; an answer, an intent and a result for each call; three entries of the stream; the outcome.
        assert calls["encode"] == 1 + 2 * 3 + 3 + 1
        assert calls["_is_finite"] == 0


async def test_a_run_makes_no_record_on_the_reactors_thread(tmp_path: Path) -> None:
    async with journalled(tmp_path, 2) as (house, _):
        with calls_of(codec.Codec.encode) as calls:
            await house.ask(QUESTION)
        assert calls["encode"] == 0


def test_a_call_without_a_limit_makes_no_amounts() -> None:
    ledger = Ledger(lambda: 0.0, lambda: 0.0)
    accounts = [Account(name, Allowance()) for name in ("all", "assistant", "player")]
    estimate, used = Amount(1, 500), Amount(1, 400, 0.01)
    with calls_of(Amount.__post_init__) as calls:
        ledger.reserve(accounts, estimate).settle(used)
        exported = ledger.export()
    assert exported["spent"]["player"] == used.plain()
    assert calls["__post_init__"] == 0


def test_an_export_makes_anew_only_what_has_changed() -> None:
    ledger = Ledger(lambda: 0.0, lambda: 0.0)
    for name in ("anna", "ben"):
        ledger.reserve([Account(name, Allowance())], Amount(1)).settle(Amount(1))
    first = ledger.export()["spent"]
    ledger.reserve([Account("ben", Allowance())], Amount(1)).settle(Amount(1, 7))
    second = ledger.export()["spent"]
    assert second == {"anna": Amount(1).plain(), "ben": Amount(2, 7).plain()}
    assert (second["anna"] is first["anna"], second["ben"] is first["ben"]) == (True, False)
    assert first["ben"] == Amount(1).plain()
