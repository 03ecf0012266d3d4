"""OpenAI's legacy completions, which old clients and editors still ask for: the prompt is the user's only turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.chat.reading import read_request
from mud_assistant.llm.dialects.chat.rendering import DONE, FINISHES, ChatRenderer, usage_of
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.messages import JSON, JSONObject
from mud_assistant.llm.response import LLMResponse

#: The fields that a chat has as well, and those of this dialect alone with the values that ask for nothing.
_SHARED = frozenset(
    {
        "model", "stream", "stream_options", "max_tokens", "temperature", "top_p", "top_k", "min_p", "seed", "stop",
        "presence_penalty", "frequency_penalty", "n", "best_of", "logit_bias", "user",
    }
)  # fmt: skip
_REFUSED: Mapping[str, tuple[JSON, ...]] = {"suffix": ("",), "echo": (False,), "logprobs": ()}


class CompletionsDialect(ChatDialect):
    """Completions, always translated: models of today are asked in turns."""

    providers = frozenset()

    def read(self, body: JSONObject, headers: Mapping[str, str]) -> AskedCall:
        """Return what the client asks. Raises RequestRefused."""
        fields = RequestFields(body)
        fields.hints({*_SHARED, *_REFUSED, "prompt"}, ())
        for name, harmless in _REFUSED.items():
            if fields.has(name) and body[name] not in harmless:
                raise fields.unsupported(name)
        prompt = _prompt(fields)
        shared = {name: value for name, value in body.items() if name in _SHARED}
        return read_request({**shared, "messages": [{"role": "user", "content": prompt}]})

    def renderer(self, asked: AskedCall, head: AnswerHead) -> CompletionsRenderer:
        """Return what makes the bytes of one answer."""
        return CompletionsRenderer(asked, head)


class CompletionsRenderer(ChatRenderer):
    """The chunks of one answer, or its one document: text alone, for the dialect has nothing else."""

    def __init__(self, asked: AskedCall, head: AnswerHead) -> None:
        super().__init__(asked, head)
        self._about = {**self._about, "id": f"cmpl-{head.id}", "object": "text_completion"}

    def begin(self) -> bytes:
        """Return nothing: the first piece begins the answer."""
        return b""

    def ping(self) -> bytes:
        """Return a chunk that adds nothing."""
        return self._piece("")

    def whole(self, response: LLMResponse) -> bytes:
        """Return the answer as one JSON document."""
        choice = _choice(response.content, FINISHES[response.finish_reason])
        return orjson.dumps({**self._about, "choices": [choice], "usage": usage_of(response.usage)})

    def _text(self, text: str) -> bytes:
        return self._piece(text)

    def _reasoning(self, text: str, signature: str) -> bytes:
        return b""

    def _call(self, number: int, call_id: str, name: str) -> bytes:
        return b""

    def _arguments(self, number: int, piece: str) -> bytes:
        return b""

    def _end(self, response: LLMResponse) -> bytes:
        last = self._chunk({"choices": [_choice("", FINISHES[response.finish_reason])]})
        if self._counts_usage:
            last += self._chunk({"choices": [], "usage": usage_of(response.usage)})
        return last + DONE

    def _piece(self, text: str) -> bytes:
        return self._chunk({"choices": [_choice(text, None)]})


def _choice(text: str, finish: str | None) -> JSONObject:
    return {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}


def _prompt(fields: RequestFields) -> str:
    """Return the prompt. Several at once, and prompts in tokens, cannot be carried."""
    value = fields.get("prompt")
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 1 or not isinstance(value[0], str):
            raise fields.unsupported("prompt", "one text is supported, not several and no tokens")
        value = value[0]
    if not isinstance(value, str) or not value.strip():
        raise fields.invalid("prompt", "a text is required")
    return value
