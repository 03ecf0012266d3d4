"""A run that was cut off is taken up where it stood: nothing is asked for again that was paid for, or done again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Answered, NothingToDo, Outcome
from mud_assistant.assistant.events.scheduler import FEW, LULL_SECONDS, Scheduler
from mud_assistant.assistant.journal import (
    NO_CHANGE,
    InterruptedCall,
    InterruptedStep,
    JournalUnwritable,
    MemoryJournal,
    StreamChange,
)
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.loop.recovery import left_of
from mud_assistant.llm import ToolCall, ToolResult
from mud_assistant.llm.testing import Call, Hang, RecordedRequest, Reply, Step
from mud_assistant.tools import Begun, Executed, Status
from tests.assistant.living import ANN, Life, living, reactor
from tests.crash.lives import lives

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
LOOK = Reply(calls=(Call("look"),))


class FullDisk(MemoryJournal):
    """A journal whose disk takes nothing between `fills` and `frees`, by the name of what is to be written."""

    def __init__(self, fills: str) -> None:
        super().__init__()
        self.fills: str | None = fills

    async def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        self._check("result")
        await super().record_result(run_id, step, index, executed)

    async def record_read(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        self._check("result")
        await super().record_read(run_id, step, index, executed)

    async def close_run(
        self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE, goals: Sequence[Goal] = ()
    ) -> tuple[int, ...]:
        self._check("close")
        return await super().close_run(run_id, outcome, change, goals)

    def _check(self, what: str) -> None:
        if self.fills == what:
            raise JournalUnwritable("the disk is full")


async def heard(life: Life, text: str = "Sage, hello") -> None:
    """The assistant has heard something, and leaves it to the test when to think."""
    life.assistant.tick.halt()
    event = Said(id="e1", at=reactor.seconds(), who=ANN, text=text, to_me=True)
    await life.assistant.context.memory.journal.accept(event, Attention(Classification.TRIGGER, 10, addressed=True))


@pytest.mark.parametrize("fills", ["result", "close"])
async def test_a_disk_that_is_full_in_the_middle_of_a_run_repeats_nothing(fills: str) -> None:
    journal = FullDisk(fills)
    async with living([LOOK, HELLO], journal=journal) as life:
        await heard(life)
        for _ in range(3):
            with pytest.raises(JournalUnwritable):
                await react(life.assistant.context)
        journal.fills = None
        await react(life.assistant.context)
        assert await journal.pending() == ()
        assert life.witness.heard == ["Sage: Hello, Ann."]
        assert len(life.fake.chats) == 2
        stream = [message.text for message in life.assistant.context.memory.history.messages()]
        assert sum("Sage, hello" in text for text in stream) == 1


async def test_the_tick_pauses_when_the_disk_is_full_and_goes_on_by_itself() -> None:
    journal = FullDisk("close")
    async with living([HELLO], journal=journal) as life:
        await life.say("Sage, hello")
        (failure,) = life.witness.failures
        assert "the disk is full" in failure.cause
        assert life.assistant.tick.paused
        assert not life.assistant.tick.stopped_by_errors


async def test_a_run_that_is_stopped_on_purpose_is_taken_up_again() -> None:
    async with living([LOOK, Hang("headers"), HELLO]) as life:
        await life.ann.say("Sage, hello")
        await asked(life, 2)
        await life.assistant.stop()
        assert await react(life.assistant.context) == Answered(("say",))
        assert life.witness.heard == ["Sage: Hello, Ann."]
        assert len(life.fake.chats) == 3
        assert [step.step for step in life.witness.steps] == [1, 2]
        assert await react(life.assistant.context) == NothingToDo()


async def test_an_answer_that_waits_for_its_turn_in_a_crowd_is_not_asked_for_again_after_a_stop() -> None:
    clock = Clock()
    crowd = Scheduler(clock)
    for _ in range(FEW):
        crowd.joins()

    def answer_in_a_rush(_: RecordedRequest) -> Step:
        while crowd.turn() is None:
            pass
        return HELLO

    async with living(answer_in_a_rush, {"speak_early": False}, scheduler=crowd) as life:
        await life.ann.say("Sage, hello")
        while crowd.waiting < 2:
            await deferLater(reactor, 0.005)
        assert life.witness.heard == []
        await life.assistant.stop()
        assert crowd.waiting == 1
        clock.pump([2 * LULL_SECONDS] * 2)
        assert await react(life.assistant.context) == Answered(("say",))
        assert life.witness.heard == ["Sage: Hello, Ann."]
        assert len(life.fake.chats) == 1


async def asked(life: Life, requests: int) -> None:
    """Waits until the model was asked so often."""
    while len(life.fake.chats) < requests:
        await deferLater(reactor, 0.005, lambda: None)


async def test_stopping_on_purpose_is_nobodys_fault_and_dying_three_times_parks_the_event(tmp_path: Any) -> None:
    async with lives(tmp_path / "journal.sqlite", [LOOK, HELLO]) as place:
        async with place.one() as (assistant, journal):
            await assistant.inbox.take(Said(id="e1", at=reactor.seconds(), who=ANN, text="Sage, hello", to_me=True))
            run = await journal.open_run(await journal.pending())
        for _ in range(5):  # stopped on purpose, as at a reload
            async with place.one() as (assistant, journal):
                left = await journal.interrupted()
                assert left is not None
                assert not left.poisoned
                await journal.suspend_run(run)
        for poisoned in (False, False, True):  # killed
            async with place.one() as (assistant, journal):
                left = await journal.interrupted()
                assert left is not None
                assert left.poisoned is poisoned
        async with place.one() as (assistant, journal):
            await assistant.inbox.take(Said(id="e2", at=1.0, who=ANN, text="Sage, and now?", to_me=True))
            assert await react(assistant.context) == Answered(("say",))
            assert [parked.event_id for parked in await journal.parked()] == ["e1"]
            assert "killed" in (await journal.parked())[0].reason
            # What woke it is in no prompt.
            assert "Sage, hello" not in str([request.messages for request in place.fake.chats])


@pytest.mark.parametrize("status", list(Status))
def test_what_is_known_of_a_call_is_kept(status: Status) -> None:
    call = ToolCall("c1", "say", {"text": "hello"})
    executed = Executed(call, ToolResult("c1", "say", "done"), status, None, 0.0)
    lost, begun = (
        InterruptedCall(0, None, intended=True, executed=None),
        InterruptedCall(1, call, intended=True, executed=None),
    )
    done = InterruptedCall(2, call, intended=True, executed=executed)
    step = InterruptedStep(1, None, (lost, begun, done))
    answer = left_of(step)
    assert answer.calls == (call, call)
    assert answer.past == {0: Begun(), 1: executed}
