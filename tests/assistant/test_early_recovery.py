"""A write that fails at any moment of a run that speaks early: the run is taken up, and nothing is said twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Answered, Outcome
from mud_assistant.assistant.journal import NO_CHANGE, JournalUnwritable, MemoryJournal, StreamChange
from mud_assistant.assistant.loop.react import react
from mud_assistant.llm import LLMResponse, ToolCall
from mud_assistant.llm.testing import Call, EndEarly, Reply
from mud_assistant.tools import Executed
from tests.assistant.living import living

pytestmark = pytest.mark.usefixtures("reactor_baseline")
T = TypeVar("T")

FIRST, REST = "The well lies north of the mill, Ann.", "Past the old oak. Mind the wolves!"
WHOLE = f"{FIRST} {REST}"
HELLO = Reply("Hello.")
ANSWERS = {
    "call": Reply(calls=(Call("say", {"text": WHOLE}),), chunk_size=7),
    "text": Reply(WHOLE, chunk_size=7),
    "nothing-left": Reply(calls=(Call("say", {"text": f"{FIRST} "}),), chunk_size=7),
    "text-and-call": Reply(f"{FIRST} So.", calls=(Call("say", {"text": REST}),), chunk_size=7),
}
#: Answer, intent and result of the beginning, the same of the rest, and the end.
WRITES = 7


class Tearing(MemoryJournal):
    """A journal that fails at one of its writes, before or after it is made, and is well again."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.is_made = False

    async def record_response(self, run_id: str, step: int, response: LLMResponse) -> None:
        await self._write(lambda: super(Tearing, self).record_response(run_id, step, response))

    async def record_intent(
        self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool, goals: Sequence[Goal] = ()
    ) -> None:
        intent = super().record_intent
        await self._write(lambda: intent(run_id, step, index, call, effect=effect, goals=goals))

    async def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        await self._write(lambda: super(Tearing, self).record_result(run_id, step, index, executed))

    async def record_read(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        await self._write(lambda: super(Tearing, self).record_read(run_id, step, index, executed))

    async def close_run(
        self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE, goals: Sequence[Goal] = ()
    ) -> tuple[int, ...]:
        return await self._write(lambda: super(Tearing, self).close_run(run_id, outcome, change, goals))

    async def _write(self, write: Callable[[], Awaitable[T]]) -> T:
        if self.left is None:
            return await write()
        self.left -= 1
        if self.left >= 0:
            return await write()
        self.left = None
        if self.is_made:
            await write()
        raise JournalUnwritable("torn")


@pytest.mark.parametrize("kind", ["call", "text", "nothing-left", "text-and-call"])
@pytest.mark.parametrize("is_made", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("write", range(WRITES - 1))
async def test_a_failed_write_repeats_nothing(write: int, kind: str, *, is_made: bool) -> None:
    journal = Tearing()
    answer = ANSWERS[kind]
    async with living([HELLO, answer, answer, answer], provider="local", journal=journal) as life:
        await life.say("Sage, hello")
        life.assistant.tick.halt()
        journal.left, journal.is_made = write, is_made
        await life.ann.say("Sage, where is the well?")
        for _ in range(3):
            try:
                await react(life.assistant.context)
            except JournalUnwritable:
                continue
        assert await journal.pending() == ()
        said = [line for line in life.witness.heard if line.startswith("Sage: ")][1:]
        unknown = len(await journal.unknown_effects())
        assert said in ([f"Sage: {FIRST}", f"Sage: {REST}"], [f"Sage: {FIRST}"], [f"Sage: {REST}"], [])
        # What stands beside a call is only ever said when it is taken for the answer.
        assert f"Sage: {FIRST}" in said or unknown or kind == "text-and-call"
        assert len(said) + unknown >= 1
        assert life.witness.outcomes[-1] == Answered(("say",))
        assert len(life.fake.chats) <= 3
        acts = [message for message in life.assistant.context.memory.history.messages() if message.tool_calls][1:]
        told = [str(call.arguments.get("text")) for message in acts for call in message.tool_calls]
        beside = [message.text for message in acts]
        assert sum(FIRST in text for text in [*told, *beside]) == 1


async def test_what_was_said_of_a_text_whose_end_never_came_is_in_the_stream() -> None:
    broken = EndEarly(9, ANSWERS["text"])
    async with living([HELLO, broken, ANSWERS["text"]], provider="local") as life:
        await life.say("Sage, hello")
        await life.say("Sage, where is the well?")
        assert life.witness.heard[1:] == [f"Sage: {FIRST}"]
        assert life.witness.outcomes[1] == Answered(("say",))
        *_, acted, _ = life.assistant.context.memory.history.messages()
        assert [call.arguments for call in acted.tool_calls] == [{"text": FIRST}]
