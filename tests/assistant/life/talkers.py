"""Models that never tire of talking with another assistant, in place of the model of one that lives on a `Clock`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred, succeed

from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.llm import FinishReason, LLMResponse, Message, ToolCall, Usage
from mud_assistant.llm import assistant as assistant_message
from tests.assistant.living import give_client


class Chatterbox:
    """Says something new to one other assistant, whatever it is asked."""

    def __init__(self, other: str) -> None:
        self.other = other
        self.lines = 0

    def answer(self, messages: Sequence[Message]) -> Sequence[tuple[str, dict[str, Any]]]:
        """Return the calls that it makes, each with the name of its tool."""
        assert messages
        self.lines += 1
        n = self.lines
        return [
            ("say", {"text": f"{self.other}, {self.other[0]}apple{n} {self.other[0]}pear{n} {self.other[0]}plum{n}."})
        ]


class Talker:
    """The client of a model that answers at once, by a `Chatterbox` or another that has `answer`."""

    def __init__(self, mind: Any, real: Any) -> None:
        self.mind = mind
        self.provider, self.links, self.record = real.provider, real.links, real.record
        self.asked = 0

    def chat_completion(self, messages: Sequence[Message], *_: object, **__: object) -> Deferred[LLMResponse]:
        """Answer with the calls of the mind."""
        self.asked += 1
        made = self.mind.answer(messages)
        calls = [ToolCall(f"call.{self.asked}.{at}", name, given) for at, (name, given) in enumerate(made)]
        answer = LLMResponse(assistant_message(*calls), FinishReason.TOOL_CALLS, Usage(10, 10), "", "")
        return succeed(answer)


def give_model(assistant: Assistant, mind: Any) -> Talker:
    """Let an assistant think with this mind from now on, and return its client."""
    talker = Talker(mind, assistant.context.model.client)
    give_client(assistant, talker)
    return talker
