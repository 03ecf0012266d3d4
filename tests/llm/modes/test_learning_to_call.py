"""The client picks native calls or the fallback by itself, by how a model's calls come out."""

from __future__ import annotations

from mud_assistant.llm.modes.capabilities import MISSES, TRIAL, CallOutcome, CallStyle
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from tests.llm.test_client import ASKED, TOOLS, client_of

JSON_CALL = Reply('{"tool":"look","parameters":{}}')
NATIVE_CALL = Reply(calls=(Call("look"),))


def shy(request: RecordedRequest) -> Step:
    """A model that never calls natively and always does as text."""
    return Reply("I shall look.") if request.tools else JSON_CALL


async def test_a_model_whose_native_calls_do_not_come_is_asked_as_text_and_tried_again_later() -> None:
    async with client_of("local", shy) as (client, fake):
        for _ in range(MISSES + TRIAL):
            await client.chat_completion(ASKED, TOOLS, "required")
        assert [bool(request.tools) for request in fake.chats] == [True] * MISSES + [False] * TRIAL
        await client.chat_completion(ASKED, TOOLS, "required")
        await client.chat_completion(ASKED, TOOLS, "required")
        assert [bool(request.tools) for request in fake.chats[-2:]] == [True, False]
        record = client.record.calls
        assert record.count(CallOutcome.FAILED, CallStyle.NATIVE) == MISSES + 1
        assert record.share_readable(CallStyle.FALLBACK) == 1.0


async def test_answers_without_a_call_where_none_was_required_change_nothing() -> None:
    async with client_of("local", lambda _: Reply("Well.")) as (client, fake):
        for _ in range(3 * MISSES):
            await client.chat_completion(ASKED, TOOLS)
        assert all(request.tools for request in fake.chats)
        assert client.record.calls.count(CallOutcome.NONE) == 3 * MISSES


async def test_valid_and_repaired_calls_are_told_apart() -> None:
    broken = Reply("{'tool': 'look', 'parameters': {},}")
    async with client_of("local", [NATIVE_CALL, JSON_CALL, broken]) as (client, _):
        for _ in range(3):
            await client.chat_completion(ASKED, TOOLS)
        record = client.record.calls
        assert (record.count(CallOutcome.VALID), record.count(CallOutcome.REPAIRED)) == (1, 2)


async def test_an_answer_that_was_cut_off_counts_for_nothing() -> None:
    async with client_of("local", lambda _: Reply("I sh", finish="length")) as (client, fake):
        for _ in range(2 * MISSES):
            await client.chat_completion(ASKED, TOOLS, "required")
        assert all(request.tools for request in fake.chats)
        assert client.record.calls.recent == ()
