"""Renders an answer as Ollama's `/api/chat`: one JSON object in a line for each piece, the last one with `done`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count

import orjson

from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.messages import JSON, Citation, ServerToolCall, ServerToolResult, ToolCall
from mud_assistant.llm.response import FinishReason, LLMResponse

_NANOSECONDS = 1_000_000_000


class OllamaRenderer(AnswerRenderer):
    """The bytes of one answer. Calls are told at the end, for here their arguments are whole objects.

    `now` gives clock seconds, by which an answer says how long it took. Without it nothing is said of that.
    """

    def __init__(self, asked: AskedCall, head: AnswerHead, now: Callable[[], float] | None) -> None:
        numbers = count()
        super().__init__([tool.name for tool in asked.tools], lambda: f"call_{head.id}_{next(numbers)}")
        moment = datetime.fromtimestamp(head.created, UTC)
        self._model = asked.model
        self._created = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        self._shows_thinking = asked.options.think is not False
        self._now = now
        self._began = now() if now is not None else 0.0
        self._first: float | None = None

    def begin(self) -> bytes:
        """Return nothing: the first piece begins the answer."""
        return b""

    def ping(self) -> bytes:
        """Return nothing: this dialect has no sign of life."""
        return b""

    def fail(self, failure: Failure) -> bytes:
        """Return the line that says why the stream is not finished."""
        return orjson.dumps({"error": failure.message}) + b"\n"

    def whole(self, response: LLMResponse) -> bytes:
        """Return the answer as one object."""
        message: dict[str, JSON] = {"content": response.content}
        if response.reasoning and self._shows_thinking:
            message["thinking"] = response.reasoning
        if response.has_tool_calls:
            message["tool_calls"] = calls_of(response.tool_calls)
        return orjson.dumps(self._last(message, response))

    def _text(self, text: str) -> bytes:
        return self._piece({"content": text})

    def _reasoning(self, text: str, signature: str) -> bytes:
        return self._piece({"content": "", "thinking": text}) if text and self._shows_thinking else b""

    def _call(self, number: int, call_id: str, name: str) -> bytes:
        return b""

    def _arguments(self, number: int, piece: str) -> bytes:
        return b""

    def _block(self, block: ServerToolCall | ServerToolResult | Citation) -> bytes:
        """Render nothing: this dialect has no tools of a provider's own."""
        return b""

    def _end(self, response: LLMResponse) -> bytes:
        calls = b""
        if response.has_tool_calls:
            calls = self._piece({"content": "", "tool_calls": calls_of(response.tool_calls)})
        return calls + orjson.dumps(self._last({"content": ""}, response)) + b"\n"

    def _piece(self, message: dict[str, JSON]) -> bytes:
        if self._first is None and self._now is not None:
            self._first = self._now()
        return orjson.dumps(self._record(message, done=False)) + b"\n"

    def _record(self, message: dict[str, JSON], *, done: bool) -> dict[str, JSON]:
        said: JSON = {"role": "assistant", **message}
        return {"model": self._model, "created_at": self._created, "message": said, "done": done}

    def _last(self, message: dict[str, JSON], response: LLMResponse) -> dict[str, JSON]:
        """Return the record that ends the answer. A count that is not known is 0 in this dialect."""
        return {
            **self._record(message, done=True),
            "done_reason": "length" if response.finish_reason is FinishReason.LENGTH else "stop",
            "prompt_eval_count": response.usage.input_tokens or 0,
            "eval_count": response.usage.output_tokens or 0,
            **self._durations(),
        }

    def _durations(self) -> dict[str, JSON]:
        """Return the durations in nanoseconds: until the first piece the prompt was read, then the answer written."""
        if self._now is None:
            return {}
        end = self._now()
        first = end if self._first is None else self._first
        spans = {
            "total_duration": end - self._began,
            "load_duration": 0.0,
            "prompt_eval_duration": first - self._began,
            "eval_duration": end - first,
        }
        return {name: max(0, int(seconds * _NANOSECONDS)) for name, seconds in spans.items()}


def calls_of(calls: tuple[ToolCall, ...]) -> list[JSON]:
    """Return calls as this dialect has them."""
    return [
        {"id": call.id, "function": {"index": number, "name": call.name, "arguments": call.arguments}}
        for number, call in enumerate(calls)
    ]
