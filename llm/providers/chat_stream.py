"""Reads answers of the Chat Completions dialect, in chunks and in whole documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from mud_assistant.llm.errors import LLMError, ProtocolError, StreamBroken
from mud_assistant.llm.messages import JSONObject, RawTurn
from mud_assistant.llm.providers.chat_reasoning import REASONING_NAMES, ReasoningKept
from mud_assistant.llm.providers.chat_usage import read_usage
from mud_assistant.llm.response import FinishReason
from mud_assistant.llm.wire.building import AnswerBuilder
from mud_assistant.llm.wire.error_bodies import excerpt, read_error, typed_error
from mud_assistant.llm.wire.lines import ServerSentEvent
from mud_assistant.llm.wire.parser import SSEParser
from mud_assistant.llm.wire.template import Template, template_of

_FINISH = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.FILTERED,
}


class ChatStream(SSEParser):
    """A reader of one answer. A streamed one is complete with `[DONE]` or a finish reason."""

    def __init__(self, provider: str, model: str, answer: AnswerBuilder) -> None:
        super().__init__(answer)
        self._provider = provider
        self._model = model
        self._finished = False
        self._has_choice = False
        self._refused = False
        self._has_deltas = False
        self._kept = ReasoningKept()
        self._named: object = None
        #: For the chunks that continue the text, and those that continue the arguments of the call `_continued`.
        self._text: Template | None = None
        self._arguments: Template | None = None
        #: The same for a read that is such a chunk and nothing else.
        self._text_event: Template | None = None
        self._arguments_event: Template | None = None
        self._continued: tuple[int | None, str | None, str | None] = (None, None, None)

    def whole(self, body: bytes) -> None:
        """Read an answer in one document. It needs no finish reason to be complete.

        Raises the error it carries, or ProtocolError if it is no answer.
        """
        self._document(_loads(body), body, whole=True)
        if not self._finished:
            raise ProtocolError(f"an answer without a choice: {excerpt(body)}", self._provider, self._model)
        self._set_raw()

    def feed(self, data: bytes) -> bool:
        """Read bytes as any parser does. One chunk like an earlier one is taken at once: most reads are of one."""
        if self._is_between and not self._held and not self.complete and data.find(b"\n") == len(data) - 2:
            if (event := self._text_event) is not None and (text := event.string(data)):
                self._answer.add_text(text)
                return True
            if (event := self._arguments_event) is not None and (text := event.string(data)):
                self._answer.add_call(*self._continued, text)
                return True
        return super().feed(data)

    def _read(self, records: list[bytes]) -> None:
        for record in records:
            if (template := self._text) is not None and (text := template.string(record)):
                self._has_grown = True
                self._answer.add_text(text)
            elif (template := self._arguments) is not None and (text := template.string(record)):
                self._has_grown = True
                self._answer.add_call(*self._continued, text)
            else:
                self._read_whole(record)
                if self.complete:
                    return

    def _read_whole(self, record: bytes) -> None:
        """Read a record that is not like an earlier one."""
        try:
            chunk = orjson.loads(record)
        except orjson.JSONDecodeError:  # the end mark, or what no one can read
            self._take(ServerSentEvent("", record.decode("utf-8", "replace")))
            return
        try:
            [choice] = chunk["choices"]
            delta = choice["delta"]
            is_usual = (  # nothing new but the delta, as in nearly all chunks
                choice["finish_reason"] is None
                and choice["index"] == 0
                and chunk.get("model") == self._named
                and chunk.get("usage") is None
                and chunk.get("object") != "error"
                and "error" not in chunk
                and "x_groq" not in chunk
                and "error" not in choice
                and type(delta) is dict
            )
        except (KeyError, TypeError, ValueError):  # such as usage alone
            delta, is_usual = None, False
        if not is_usual:
            self._document(chunk, record, whole=False)
            return
        self._has_deltas = True
        self._piece(delta)
        if len(delta) == 1:
            self._expect_alike(record, delta)

    def _expect_alike(self, record: bytes, delta: Mapping[str, Any]) -> None:
        """Make a template of a chunk that only continues a text or a call. The last one stays if it was of no use."""
        if type(text := delta.get("content")) is str:
            if text and _is_spent(self._text, self._text_event):
                self._text = template_of(record, text, _text_of)
                self._text_event = self._text.in_event() if self._text is not None else None
            return
        calls = delta.get("tool_calls")
        if type(calls) is list and len(calls) == 1 and type(calls[0]) is dict:
            index, call_id, name, text = _parts_of(calls[0])
            if type(text) is str and text and _is_spent(self._arguments, self._arguments_event):
                self._continued = (index, call_id, name)
                self._arguments = template_of(record, text, _arguments_of)
                self._arguments_event = self._arguments.in_event() if self._arguments is not None else None

    def _take(self, part: ServerSentEvent) -> None:
        if not part.data:
            return
        if part.data.strip() == "[DONE]":
            self.complete = self._finished = True
        elif part.field == "error" or part.event == "error":
            raise self._error(_loads(part.data.encode()))
        else:
            data = part.data.encode()
            self._document(_loads(data), data, whole=False)

    def _finish(self) -> None:
        """Raise StreamBroken without a finish reason and `[DONE]`, ProtocolError for a stream without an answer."""
        if not self._finished:
            raise StreamBroken("the answer ended before it was done", self._provider, self._model)
        if not self._has_choice:
            raise ProtocolError("a stream without an answer", self._provider, self._model)
        self._set_raw()

    def _document(self, chunk: object, said: bytes, *, whole: bool) -> None:
        """Read a chunk or document. Raises the error it carries, or ProtocolError if it is neither."""
        if isinstance(chunk, dict) and "choices" not in chunk:
            chunk = _unwrap(chunk)
        if not isinstance(chunk, dict):
            raise ProtocolError(f"not an answer: {excerpt(said)}", self._provider, self._model)
        if chunk.get("error") or chunk.get("object") == "error":
            raise self._error(chunk)
        if isinstance(model := chunk.get("model"), str) and model and model != self._named:
            self._named = model
            self._text = self._arguments = None  # their chunks name the model before
            self._text_event = self._arguments_event = None
            self._has_grown = True
            self._answer.set_model(model)
        if (chunk.get("usage") is not None or "x_groq" in chunk) and (usage := read_usage(chunk)) is not None:
            self._has_grown = True
            self._answer.set_usage(usage)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._choice(choice, whole=whole)

    def _choice(self, choice: Mapping[str, Any], *, whole: bool) -> None:
        reason = choice.get("finish_reason")
        if reason == "error" or choice.get("error"):
            raise self._error(choice)
        piece = choice.get("message" if whole else "delta")
        if not whole:
            if isinstance(piece, dict):
                self._has_deltas = True
            elif not self._has_deltas:  # a whole message in a stream repeats its deltas
                piece = choice.get("message")
        if isinstance(piece, dict):
            self._piece(piece)
        if isinstance(reason, str) and reason:
            self._finished = self._has_choice = self._has_grown = True
            self._answer.set_finish(FinishReason.FILTERED if self._refused else _FINISH.get(reason, FinishReason.STOP))
        elif whole and isinstance(piece, dict):
            self._finished = True

    def _piece(self, piece: Mapping[str, Any]) -> None:
        """Read a delta or message."""
        if not piece:
            return
        self._has_choice = True
        if not REASONING_NAMES.isdisjoint(piece) and (thought := self._kept.take(piece)):
            self._has_grown = True
            self._answer.add_reasoning(thought)
        if content := piece.get("content"):
            self._content(content)
        if isinstance(refusal := piece.get("refusal"), str) and refusal:
            self._refused = self._has_grown = True
            self._answer.add_text(refusal)
        if isinstance(calls := piece.get("tool_calls"), list):
            for call in calls:
                if isinstance(call, dict):
                    self._call(call)
        if isinstance(old := piece.get("function_call"), dict):
            self._call({"index": 0, "function": old}, is_legacy=True)

    def _content(self, content: object) -> None:
        """Read content that is a text, or a list of parts. Mistral sends `thinking` and `text` parts in one list."""
        if isinstance(content, str):
            self._has_grown = True
            self._answer.add_text(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict):
                self._has_grown = True
                if part.get("type") == "thinking":
                    self._answer.add_reasoning(_thinking(part))
                else:
                    self._answer.add_text(str(part.get("text") or ""))

    def _call(self, call: Mapping[str, Any], *, is_legacy: bool = False) -> None:
        """Read a call or a piece of one."""
        self._has_grown = True
        self._answer.add_call(*_parts_of(call), is_legacy=is_legacy)

    def _set_raw(self) -> None:
        """Set the turn's own reasoning, to be sent back as it came."""
        if fields := self._kept.fields():
            self._answer.set_raw(RawTurn(self._provider, (fields,)))

    def _error(self, data: object) -> LLMError:
        body = read_error(data)
        return typed_error(body.implied_status, body, provider=self._provider, model=self._model)


def _parts_of(call: Mapping[str, Any]) -> tuple[int | None, str | None, str | None, str | JSONObject | None]:
    """Return the index, the ID, the name and the arguments of a call. What is not of its type counts as missing."""
    function = call.get("function")
    if not isinstance(function, dict):
        function = {}
    index, call_id = call.get("index"), call.get("id")
    name, arguments = function.get("name"), function.get("arguments")
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    return (
        index if isinstance(index, int) else None,
        call_id if isinstance(call_id, str) else None,
        name if isinstance(name, str) else None,
        arguments if isinstance(arguments, str | dict) else None,
    )


def _text_of(chunk: Any) -> object:
    return chunk["choices"][0]["delta"]["content"]


def _arguments_of(chunk: Any) -> object:
    return chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]


def _unwrap(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return the completion that some gateways nest under `provider`."""
    inner = chunk.get("provider")
    return inner if isinstance(inner, dict) and "choices" in inner else chunk


def _is_spent(*templates: Template | None) -> bool:
    """Tell whether there may be a new template in place of these: there is none, or it was of use."""
    return None in templates or any(template is not None and template.has_matched for template in templates)


def _loads(data: bytes) -> object:
    """Return the JSON value, else the text itself. Bytes that are not UTF-8 become U+FFFD."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8", "replace")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _thinking(part: Mapping[str, Any]) -> str:
    inner = part.get("thinking")
    pieces = inner if isinstance(inner, list) else [{"text": inner}]
    return "".join(str(piece.get("text") or "") for piece in pieces if isinstance(piece, dict))
