"""Scripted replies in the words of a dialect: by what makes the gateway's answers, without what it cleans up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.messages import (
    Block,
    Citation,
    JSONObject,
    Message,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from mud_assistant.llm.response import FinishReason, LLMResponse, Usage
from mud_assistant.llm.testing.script import Call, Reply, pieces


class ReplyRenderer(AnswerRenderer):
    """A renderer that is given whole replies. Mix it in before a dialect's own."""

    #: The dialect's word for why an answer ends, by the reason.
    finishes: Mapping[FinishReason, str]
    #: What the ids of calls begin with.
    call_prefix = "call"

    def response(self, reply: Reply, number: int, prompt_tokens: int) -> LLMResponse:
        """Return the `number`th reply of a server as one response. Raises ValueError for an unknown `finish`."""
        word = reply.finish or self.finishes[FinishReason.TOOL_CALLS if reply.calls else FinishReason.STOP]
        finish = next((reason for reason, known in self.finishes.items() if known == word), None)
        message = Message(Role.ASSISTANT, tuple(self.blocks(reply, number)))
        return LLMResponse(message, finish or FinishReason(word), self.counted(reply, prompt_tokens), "fake", "")

    def blocks(self, reply: Reply, number: int) -> Iterator[Block]:
        """Yield the blocks of a reply, the `number`th of its server."""
        if reply.reasoning:
            yield Reasoning(reply.reasoning)
        if reply.text:
            yield Text(reply.text)
        for place, call in enumerate(reply.calls):
            call_id = f"{self.call_prefix}_{number}_{place}" if call.id is None else call.id
            yield ToolCall(call_id, call.name, self.arguments(call))

    def arguments(self, call: Call) -> JSONObject:
        """Return the arguments of a call as the whole answer has them, even when they are no object."""
        return call.arguments  # type: ignore[return-value]  # a fake may send what no server should

    def counted(self, reply: Reply, prompt_tokens: int) -> Usage:
        """Return what a reply costs."""
        return Usage(*reply.counted(prompt_tokens))

    def stream(self, reply: Reply, response: LLMResponse) -> Iterator[bytes]:
        """Yield the reply in its pieces, as broken as it is."""
        size, calls = reply.chunk_size, iter(enumerate(reply.calls))
        yield self.begin()
        for block in response.message.blocks:
            match block:
                case Reasoning(text, seal):
                    yield from [self._reasoning(piece, "") for piece in pieces(text, size)]
                    yield self._reasoning("", seal) if seal else b""
                case Text(text):
                    yield from map(self._text, pieces(text, size))
                case ToolCall():
                    number, call = next(calls)
                    yield self._call(number, block.id, block.name)
                    yield from [self._arguments(number, piece) for piece in pieces(call.written, size)]
                case ServerToolCall() | ServerToolResult() | Citation():
                    yield self._block(block)
        yield self._end(response)
