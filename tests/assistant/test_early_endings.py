"""What becomes of a run that spoke early and whose answer then broke off, was cut off, or was stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import JournalUnwritable, MemoryJournal
from mud_assistant.assistant.loop.react import react
from mud_assistant.llm.testing import Call, EndEarly, Hang, HttpError, Reply, Step
from mud_assistant.tools import Executed, Registry, ToolContext
from mud_assistant.tools.verbs import WORLD_TOOLS
from mud_assistant.tools.verbs.speaking import SAY
from tests.assistant.living import living, reactor
from tests.assistant.test_early import EARLY, FIRST, NATIVE, SAID, WHOLE, whole
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("reactor_baseline")


@NATIVE
async def test_a_stream_that_breaks_after_it_is_not_asked_for_again(provider: str) -> None:
    broken = EndEarly(11, EARLY)
    async with living([broken, EARLY, EARLY], model={"max_attempts": 3}, provider=provider) as life:
        await whole(life)
        assert life.witness.heard == SAID[:1]
        assert life.witness.outcomes == [Answered(("say",))]
        assert life.witness.failures == []
        assert await life.journal.pending() == ()
        assert len(life.fake.chats) == 1
        *_, acted, result = life.assistant.context.memory.history.messages()
        assert acted.tool_calls[0].arguments == {"text": FIRST}
        assert result.tool_results[0].call_id == acted.tool_calls[0].id
        await whole(life)
        assert life.witness.heard[1:] == SAID


@pytest.mark.parametrize("fault", [EndEarly(4, EARLY), HttpError(500)])
async def test_a_stream_that_breaks_before_it_is_asked_for_again(fault: Step) -> None:
    async with living([fault, EARLY], model={"max_attempts": 2}, provider="local") as life:
        await whole(life)
        assert life.witness.heard == SAID
        assert len(life.fake.chats) == 2


async def test_an_answer_that_was_cut_off_ends_with_what_was_said() -> None:
    cut = Reply(calls=(Call("say", f'{{"text": "{FIRST} Past the o'),), finish="length", chunk_size=7)
    async with living([cut, EARLY], provider="local") as life:
        await whole(life)
        assert life.witness.heard == SAID[:1]
        assert life.witness.outcomes == [Answered(("say",))]
        assert len(life.fake.chats) == 1


async def test_an_answer_that_never_ends_runs_out_of_time_having_answered() -> None:
    async with living([Hang("mid", 11, EARLY)], {"run_seconds": 0.4}, provider="local") as life:
        await whole(life)
        assert life.witness.heard == SAID[:1]
        assert life.witness.outcomes == [Answered(("say",))]
        assert life.witness.limits == []


@pytest.mark.parametrize("after", [4, 11])
async def test_a_run_that_is_stopped_after_it_is_not_begun_anew(after: int) -> None:
    async with living([Hang("mid", after, EARLY), EARLY], provider="local") as life:
        await life.ann.say("Sage, where is the well?")
        while not life.fake.chats or (after > 4 and not life.witness.heard):
            await deferLater(reactor, 0.005)
        await deferLater(reactor, 0.02)
        await life.assistant.stop()
        assert await react(life.assistant.context) == Answered(("say",))
        assert life.witness.heard == (SAID[:1] if after > 4 else SAID)
        assert len(life.fake.chats) == (1 if after > 4 else 2)
        told = [message.text for message in life.assistant.context.memory.history.messages()]
        assert sum("where is the well" in text for text in told) == 1
        assert await life.journal.pending() == ()


class Unwritable(MemoryJournal):
    """A journal that takes no result of an early sentence as long as it is full."""

    full = True

    async def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        if self.full:
            raise JournalUnwritable("the disk is full")
        await super().record_result(run_id, step, index, executed)

    async def record_read(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        if self.full:
            raise JournalUnwritable("the disk is full")
        await super().record_read(run_id, step, index, executed)


async def test_a_disk_that_is_full_when_it_was_said_repeats_nothing() -> None:
    journal = Unwritable()
    async with living([EARLY, EARLY], provider="local", journal=journal) as life:
        await whole(life)
        assert life.witness.heard[:1] == SAID[:1]
        [failure] = life.witness.failures
        assert "full" in failure.cause
        journal.full = False
        assert await react(life.assistant.context) == Answered(("say",))
        assert [line for line in life.witness.heard if line.startswith("Sage: ")] == SAID[:1]
        assert len(life.fake.chats) == 1
        [effect] = await journal.unknown_effects()
        assert effect.call is not None
        assert effect.call.arguments == {"text": FIRST}


@pytest.mark.parametrize("end", ["times out", "crashes"])
async def test_the_rest_is_not_spoken_when_nobody_knows_whether_the_beginning_was(
    end: str, flush_failures: FlushFailures
) -> None:
    spoken: list[str] = []

    async def execute(arguments: Any, context: ToolContext) -> str:
        spoken.append(arguments.text)
        if end == "crashes":
            raise ZeroDivisionError
        return await Deferred()

    tools = [replace(tool, execute=execute, timeout_seconds=0.05) if tool is SAY else tool for tool in WORLD_TOOLS]
    async with living([EARLY, EARLY], provider="local", registry=Registry(tools)) as life:
        await whole(life)
        assert spoken == [FIRST]
        assert life.witness.outcomes == [Answered(("say",))]
        assert len(life.fake.chats) == 1
        *_, acted, result = life.assistant.context.memory.history.messages()
        assert acted.tool_calls[0].arguments == {"text": WHOLE}
        assert len(result.tool_results) == 1
    flush_failures(ZeroDivisionError)
