"""Continues a turn that its provider paused, by asking again.

The same request is sent again with the answer so far at its end. The parts are returned as one answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace

from llm.errors import UnpairedServerTool
from llm.messages import JSON, JSONObject, Message, RawTurn, ServerToolCall
from llm.response import FinishReason, LLMResponse

#: How often one turn is continued. After that it is returned as it is, still paused.
MAX_CONTINUATIONS = 8

AskAgain = Callable[[Sequence[Message]], Awaitable[LLMResponse]]


async def complete_turn(ask: AskAgain, messages: Sequence[Message]) -> LLMResponse:
    """Return the answer to these messages, its parts joined and their usage added up.

    If the provider refuses because a server tool's call has no result, such calls are left out and it is asked once
    more. Raises what `ask` raises.
    """
    answer: LLMResponse | None = None
    may_drop = True
    for _ in range(1 + MAX_CONTINUATIONS):
        sent = messages if answer is None else [*messages, answer.message]
        try:
            part = await ask(sent)
        except UnpairedServerTool:
            if not may_drop:
                raise
            may_drop = False
            paired = without_unpaired(sent)
            part = await ask(paired)
            messages = paired[: len(messages)]
            answer = answer and replace(answer, message=paired[-1])
        answer = part if answer is None else _join_parts(answer, part)
        if part.finish_reason is not FinishReason.PAUSED:
            break
    assert answer is not None
    return answer


def without_unpaired(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without calls of server tools that no result in them answers."""
    raw = [block for message in messages if message.raw for block in message.raw.blocks]
    answered = [block["tool_use_id"] for block in raw if "tool_use_id" in block]
    return [_without_unpaired(message, answered) for message in messages]


def _without_unpaired(message: Message, answered: Collection[JSON]) -> Message:
    if message.raw is None or not any(_is_unpaired(block, answered) for block in message.raw.blocks):
        return message
    kept = tuple(block for block in message.raw.blocks if not _is_unpaired(block, answered))
    blocks = tuple(block for block in message.blocks if not isinstance(block, ServerToolCall) or block.id in answered)
    return Message(message.role, blocks, RawTurn(message.raw.provider, kept))


def _is_unpaired(block: JSONObject, answered: Collection[JSON]) -> bool:
    kind = str(block.get("type"))
    return kind.endswith("_tool_use") and block.get("id") not in answered


def _join_parts(one: LLMResponse, other: LLMResponse) -> LLMResponse:
    """Join two parts of a turn into one answer: the blocks of both, the finish of the second."""
    first, second = one.message, other.message
    raw = None
    if first.raw and second.raw and first.raw.provider == second.raw.provider:
        raw = RawTurn(first.raw.provider, (*first.raw.blocks, *second.raw.blocks))
    message = Message(first.role, (*first.blocks, *second.blocks), raw)
    return replace(other, message=message, usage=one.usage + other.usage)
