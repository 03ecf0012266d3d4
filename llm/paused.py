"""Continues a turn that its provider paused, or whose history it refused, by asking again.

After a pause the same request is sent again with the answer so far at its end. The parts are returned as one answer.
What only its provider can read of a history, and now refuses, is left out once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from mud_assistant.llm.errors import LLMError, UnpairedServerTool, UnreadableReasoning
from mud_assistant.llm.messages import JSON, JSONObject, Message, RawTurn, ServerToolCall
from mud_assistant.llm.response import FinishReason, LLMResponse

#: How often one turn is continued. After that it is returned as it is, still paused.
MAX_CONTINUATIONS = 8
#: The refusals after which a part of the history is left out.
RefusedHistory = (UnpairedServerTool, UnreadableReasoning)


class ContinuedTurn:
    """The answer to some messages, made of as many parts as its provider gives it in.

    `messages` is what to send for the next part, as long as the turn `is_open`; `answer` is what came so far, its parts
    joined and their usage added up.
    """

    __slots__ = ("_asked", "_dropped", "_left", "answer", "messages")

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = self._asked = messages
        self.answer: LLMResponse | None = None
        self._left = 1 + MAX_CONTINUATIONS
        self._dropped: set[type[LLMError]] = set()

    @property
    def is_open(self) -> bool:
        """Whether another part is to be asked for."""
        return self._left > 0

    def add(self, part: LLMResponse) -> None:
        """Add the answer to `messages`."""
        self.answer = part if self.answer is None else _join_parts(self.answer, part)
        self._left = self._left - 1 if part.finish_reason is FinishReason.PAUSED else 0
        if self._left:
            self.messages = [*self._asked, self.answer.message]

    def drop_refused(self, error: LLMError) -> bool:
        """Leave out of the history what this error refuses. Return False when that was done before."""
        if type(error) in self._dropped:
            return False
        self._dropped.add(type(error))
        without = without_unpaired if isinstance(error, UnpairedServerTool) else without_reasoning
        self.messages = kept = without(self.messages)
        self._asked = kept[: len(self._asked)]
        if self.answer is not None:
            self.answer = replace(self.answer, message=kept[-1])
        return True


def without_reasoning(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without the reasoning that only its provider can read."""
    return [_without_reasoning(message) for message in messages]


def _without_reasoning(message: Message) -> Message:
    raw = message.raw
    kept = tuple(block for block in raw.blocks if block.get("type") != "reasoning") if raw else ()
    if raw is None or len(kept) == len(raw.blocks):
        return message
    return Message(message.role, message.blocks, RawTurn(raw.provider, kept))


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
