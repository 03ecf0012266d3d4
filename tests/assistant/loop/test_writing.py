"""A run waits for the journal before it acts, before it asks again, and at its end, and nowhere else."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Answered, Cancelled, Outcome
from mud_assistant.assistant.journal import JournalUnwritable, MemoryJournal
from mud_assistant.assistant.journal.protocol import Write
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.loop.writing import Writes
from mud_assistant.llm import FinishReason, LLMResponse, ToolCall, Usage, assistant
from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools import Executed
from tests.assistant.living import ANN, Life, living, reactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")
LOOK = Reply(calls=(Call("look"),))
SAY = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
SAID = ["Sage: Hello, Ann."]


class SlowDisk(MemoryJournal):
    """A journal on a disk that takes each write when the test says so, in the order in which they came."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: deque[tuple[str, Deferred[None]]] = deque()

    @property
    def asked(self) -> list[str]:
        """What is to be written and is not."""
        return [name for name, _ in self.waiting]

    def take(self, name: str, error: Exception | None = None) -> None:
        """The disk takes the oldest write, which is this one, or refuses it."""
        written, write = self.waiting.popleft()
        assert written == name
        if error is None:
            write.callback(None)
        else:
            write.errback(error)

    def record_response(self, run_id: str, step: int, response: LLMResponse) -> Write:
        super().record_response(run_id, step, response)
        return self._wait(f"answer {step}")

    def record_intent(
        self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool, goals: Sequence[Goal] = ()
    ) -> Write:
        super().record_intent(run_id, step, index, call, effect=effect, goals=goals)
        return self._wait(f"intent {call.name}")

    def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> Write:
        super().record_result(run_id, step, index, executed)
        return self._wait(f"result {executed.call.name}")

    def record_read(self, run_id: str, step: int, index: int, executed: Executed) -> Write:
        super().record_read(run_id, step, index, executed)
        return self._wait(f"read {executed.call.name}")

    def _wait(self, name: str) -> Deferred[None]:
        write: Deferred[None] = Deferred()
        self.waiting.append((name, write))
        return write


async def begin(life: Life) -> Deferred[Outcome]:
    """A run over one line that is under way."""
    life.assistant.tick.halt()
    event = Said(id="e1", at=reactor.seconds(), who=ANN, text="Sage, hello", to_me=True)
    await life.assistant.context.memory.journal.accept(event, Attention(Classification.TRIGGER, 10, addressed=True))
    return Deferred.fromCoroutine(react(life.assistant.context))


async def until(journal: SlowDisk, *asked: str) -> None:
    """Waits until just these writes wait for the disk."""
    while journal.asked != list(asked):
        await deferLater(reactor, 0.002)


async def test_it_reads_and_decides_while_its_answers_are_written() -> None:
    journal = SlowDisk()
    async with living([LOOK, SAY], {"speak_early": False}, journal=journal) as life:
        run = await begin(life)
        await until(journal, "answer 1", "read look")
        await deferLater(reactor, 0.05)
        assert len(life.fake.chats) == 1  # nothing more is paid for until it is safe
        journal.take("answer 1")
        await deferLater(reactor, 0.05)
        assert len(life.fake.chats) == 1
        journal.take("read look")
        await until(journal, "answer 2", "intent say")
        journal.take("answer 2")
        assert life.witness.heard == []
        journal.take("intent say")
        await until(journal, "result say")
        assert life.witness.heard == SAID
        assert not run.called
        journal.take("result say")
        assert await run == Answered(("say",))


async def test_an_answer_that_could_not_be_written_down_is_not_acted_on() -> None:
    journal = SlowDisk()
    async with living([SAY], {"speak_early": False}, journal=journal) as life:
        run = await begin(life)
        await until(journal, "answer 1", "intent say")
        journal.take("answer 1", JournalUnwritable("the disk is full"))
        journal.take("intent say")
        with pytest.raises(JournalUnwritable):
            await run
        assert life.witness.heard == []
        assert journal.asked == []
        assert await journal.interrupted() is not None


async def test_nothing_is_paid_for_after_a_read_that_could_not_be_written_down() -> None:
    journal = SlowDisk()
    async with living([LOOK, SAY], {"speak_early": False}, journal=journal) as life:
        run = await begin(life)
        await until(journal, "answer 1", "read look")
        journal.take("answer 1")
        journal.take("read look", JournalUnwritable("the disk is full"))
        with pytest.raises(JournalUnwritable):
            await run
        assert len(life.fake.chats) == 1


async def test_an_end_that_comes_before_a_refused_write_is_told_as_an_error() -> None:
    journal = SlowDisk()
    async with living([SAY], {"speak_early": False}, journal=journal) as life:
        run = await begin(life)
        await until(journal, "answer 1", "intent say")
        journal.take("answer 1")
        journal.take("intent say")
        await until(journal, "result say")
        journal.take("result say", JournalUnwritable("the disk is full"))
        with pytest.raises(JournalUnwritable):
            await run
        assert life.witness.heard == SAID
        assert await journal.interrupted() is None


async def test_a_run_that_is_stopped_while_it_waits_is_suspended_and_loses_nothing() -> None:
    journal = SlowDisk()
    async with living([SAY], {"speak_early": False}, journal=journal) as life:
        run = await begin(life)
        await until(journal, "answer 1", "intent say")
        over: list[object] = []
        run.addBoth(over.append)
        run.cancel()
        assert over == []  # what it began to write is waited for
        journal.take("answer 1")
        journal.take("intent say")
        assert over == [Cancelled()]
        assert life.witness.heard == []
        left = await journal.interrupted()
        assert left is not None
        assert [step.number for step in left.steps] == [1]


async def test_everybody_who_waits_is_told_of_the_error() -> None:
    journal = SlowDisk()
    run_id = await journal.open_run([])
    writes = Writes(journal, run_id)
    writes.answer(1, LLMResponse(assistant(), FinishReason.STOP, Usage(), "", ""))
    ends: list[object] = []
    for _ in range(2):
        Deferred.fromCoroutine(writes.done()).addBoth(
            lambda end: ends.append(type(end.value) if isinstance(end, Failure) else end)
        )
    journal.take("answer 1", JournalUnwritable("the disk is full"))
    assert ends == [JournalUnwritable, JournalUnwritable]
    await writes.done()
