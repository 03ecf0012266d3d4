"""A stream that grows past its window: the oldest part becomes a summary, and nobody waits for it."""

from __future__ import annotations

import pytest

from mud_assistant.llm.testing import Call, HttpError, RecordedRequest, Reply, Step
from tests.assistant.living import Life, living

pytestmark = pytest.mark.usefixtures("reactor_baseline")
SMALL = {"context_tokens": 3000, "max_answer_tokens": 100, "examples": False}
SUMMARY = "Ann told many tales of the mill, and promised to bring apples."


def is_summary(request: RecordedRequest) -> bool:
    return "You keep the memory of Sage" in request.messages[0]["content"]


def talker(request: RecordedRequest) -> Step:
    """Sums up when it is asked to, and has a short answer to everything else."""
    if is_summary(request):
        return Reply(SUMMARY)
    return Reply(calls=(Call("say", {"text": f"Tale {len(request.messages)} was good."}),))


def forgetful(request: RecordedRequest) -> Step:
    return HttpError(500, "no") if is_summary(request) else talker(request)


async def tell_tales(life: Life, count: int) -> None:
    for number in range(count):
        await life.say(f"Sage, this is tale {number} of the mill: {'the wheel turned and turned ' * 6}")


async def test_old_talk_becomes_a_summary_between_runs_and_the_window_is_kept() -> None:
    async with living(talker, model=SMALL) as life:
        await tell_tales(life, 40)
        history = life.assistant.context.memory.history
        sums = [request for request in life.fake.chats if is_summary(request)]
        talks = [request for request in life.fake.chats if not is_summary(request)]
        assert sums
        assert len(talks) == 40
        assert history.tokens <= history.budget
        (summary,) = [message.text for message in history.messages() if SUMMARY in message.text]
        assert summary == f"[What happened before, in short: {SUMMARY}]"
        # An entry from before is in it, and so is the summary before it.
        assert "this is tale 0 of the mill" in str(sums[0].messages)
        assert SUMMARY in str(sums[-1].messages)
        assert history.min_level() == 1
        assert history.naming("player:1") == len(history)
        assert [heard for heard in life.witness.heard if not heard.startswith("Sage: Tale")] == []


async def test_a_model_that_cannot_sum_up_costs_only_the_oldest_talk() -> None:
    async with living(forgetful, model=SMALL) as life:
        await tell_tales(life, 40)
        history = life.assistant.context.memory.history
        assert history.tokens <= 1.1 * history.budget  # what the last run appended is fitted before the next one
        assert len(life.witness.heard) == 40
        assert life.witness.failures == []
        assert sum(is_summary(request) for request in life.fake.chats) == 1


def recalled(request: RecordedRequest) -> str:
    """What the prompt says is remembered, all of it."""
    texts = [str(message.get("content") or "") for message in request.messages]
    return "\n".join(text for text in texts if text.startswith("[You remember:"))


async def test_what_a_summary_left_out_is_recalled_when_it_is_asked_for_each_time() -> None:
    async with living(talker, model=SMALL) as life:
        await life.say("Sage, my dog is called Rex, and thunder frightens the poor thing.")
        for _ in range(2):
            await tell_tales(life, 30)
            assert "Rex" not in str(life.fake.chats[-1].messages)
            await life.say("Sage, what is my dog called?")
            assert recalled(life.fake.chats[-1]).count("my dog is called Rex") == 1
            await life.say("Sage, does thunder frighten my dog?")
            assert recalled(life.fake.chats[-1]).count("my dog is called Rex") == 1
