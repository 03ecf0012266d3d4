"""Ollama's native `api/chat`.

The native API is used instead of `v1` because silent truncation can be turned off, and the context length set, only
there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import orjson
from twisted.web.http_headers import Headers

from mud_assistant.llm.errors import LLMError, ProtocolError, StreamBroken
from mud_assistant.llm.messages import JSON, Image, JSONObject, Message, Role, ToolResult, ToolSpec
from mud_assistant.llm.providers.chat import encoded_tool
from mud_assistant.llm.providers.offered import OfferedModel, names_in
from mud_assistant.llm.providers.provider import NAMELESS, LLMProvider
from mud_assistant.llm.request import CallOptions, ToolChoice, merge
from mud_assistant.llm.response import FinishReason, Usage
from mud_assistant.llm.wire.building import AnswerBuilder
from mud_assistant.llm.wire.error_bodies import excerpt, read_error, read_error_body, typed_error
from mud_assistant.llm.wire.lines import LineDecoder
from mud_assistant.llm.wire.parser import RecordParser
from mud_assistant.resilience import Request

_FINISH = {"length": FinishReason.LENGTH}

#: Fields that Ollama has among its options, and other servers beside the messages.
_SAMPLING = frozenset({"top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty"})
#: The `done_reason` of a request that only loads or unloads the model. The model was not asked anything.
_NOT_ASKED = ("load", "unload")


class OllamaProvider(LLMProvider):
    """A local or remote Ollama server. `num_ctx` is the context in tokens.

    Use one `num_ctx` per model, or Ollama reloads it. `keep_alive` is how long the model stays loaded: a duration such
    as "10m", or seconds; -1 keeps it for ever.
    """

    name = "ollama"
    dialect = "ollama"
    usual_url = "http://127.0.0.1:11434"
    server_name = "Ollama"
    about = "an Ollama, here or elsewhere"
    hosted = False
    continues_turns = True
    always_lists = True
    #: Such a server queues any more requests, and in its queue a player cannot go first.
    in_flight = 4
    start_command = "ollama serve"
    pull_command = "ollama pull qwen3:4b"
    settings = MappingProxyType({"keep_alive": "keep_alive"})
    context_option = "num_ctx"
    variety = MappingProxyType({"options": {"min_p": 0.08, "repeat_penalty": 1.2}})

    def __init__(
        self,
        api_url: str = "",
        model: str = "",
        key: str = "",
        *,
        num_ctx: int = 8192,
        keep_alive: str | int = "10m",
    ) -> None:
        base = (api_url or self.usual_url).rstrip("/")
        super().__init__(base.removesuffix("/v1").removesuffix("/api"), model, key)
        self.num_ctx = num_ctx
        self._keep_alive = keep_alive

    def get_api_url(self) -> str:
        """Return the native chat endpoint."""
        return f"{self.api_url}/api/chat"

    def get_models_url(self) -> str:
        """Return the URL that lists the models which were pulled."""
        return f"{self.api_url}/api/tags"

    def parse_models(self, answer: Mapping[str, Any]) -> list[OfferedModel]:
        """Return the models in the list."""
        return [OfferedModel(name) for name in names_in(answer.get("models"), ("name", "model"))]

    def model_request(self, name: str) -> Request:
        """Return the request for the details of one model."""
        return Request("POST", f"{self.api_url}/api/show", self.build_headers(), orjson.dumps({"model": name}))

    def parse_model(self, name: str, answer: Mapping[str, Any]) -> OfferedModel:
        """Return the model with its capabilities and the length of its context."""
        said, info = answer.get("capabilities"), answer.get("model_info")
        fields = info if isinstance(info, Mapping) else {}
        lengths = [value for key, value in fields.items() if key.endswith(".context_length")]
        context = next((length for length in lengths if isinstance(length, int)), None)
        return OfferedModel(name, frozenset(map(str, said)) if isinstance(said, Sequence) else frozenset(), context)

    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Return model, options and tools. Ollama has no tool choice: `none` leaves the tools out."""
        tuning = {
            "num_ctx": self.num_ctx,
            "temperature": options.temperature,
            "num_predict": options.max_tokens,
            "seed": options.seed,
            "stop": list(options.stop) or None,
        }
        head: dict[str, JSON] = {
            "model": self.model,
            "stream": True,
            "truncate": False,
            "shift": False,
            "keep_alive": self._keep_alive,
            "options": {key: value for key, value in tuning.items() if value is not None},
        }
        if options.think is not None:
            head["think"] = options.think
        if (schema := options.json_schema) is not None:
            head["format"] = schema
        elif options.json_object:
            head["format"] = "json"
        if tools and tool_choice != "none":
            head["tools"] = [encoded_tool(tool) for tool in tools]
        return merge(head, _with_sampling_inside(options.extra_params))

    def encode_message(self, message: Message) -> list[JSONObject]:
        """Return one wire message, or one per tool result."""
        if message.role is Role.TOOL:
            return [self.format_tool_result(result) for result in message.tool_results]
        wire: dict[str, JSON] = {"role": message.role.value, "content": message.text}
        if images := [block.data for block in message.blocks if isinstance(block, Image)]:
            wire["images"] = images
        if message.reasoning:
            wire["thinking"] = message.reasoning
        if message.tool_calls:
            wire["tool_calls"] = [
                {"id": call.id, "function": {"name": call.name or NAMELESS, "arguments": call.arguments}}
                for call in message.tool_calls
            ]
        return [wire]

    def format_tool_result(self, result: ToolResult) -> JSONObject:
        """Return the message for one result. Older servers read `tool_name`, newer ones `tool_call_id`."""
        return {"role": "tool", "tool_name": result.name, "tool_call_id": result.call_id, "content": result.text}

    def missing_model(self) -> str:
        """Say how to fetch the model, or to choose another one."""
        return f"run 'ollama pull {self.model}' there, or choose another model"

    def answer_parser(self, answer: AnswerBuilder) -> OllamaStream:
        """Return a parser for NDJSON."""
        return OllamaStream(self, answer)

    def is_whole(self, content_type: str, first: bytes) -> bool:
        """Tell by the content type: a stream and a single answer both begin with a brace here."""
        return first == b"<" or (first == b"{" and "ndjson" not in content_type and "json" in content_type)

    def read_response(self, body: bytes, answer: AnswerBuilder) -> None:
        """Read an answer to `stream: false`."""
        OllamaStream(self, answer).whole(body)

    def parse_error_response(self, status: int, headers: Headers, body: bytes) -> LLMError:
        """Read `{"error": "STRING"}`, or whatever a proxy in front sends."""
        return typed_error(status, read_error_body(body), provider=self.name, model=self.model)


def _with_sampling_inside(extra: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return further fields of a request, with those of sampling among its options, where Ollama reads them.

    It has no setting for parallel calls.
    """
    sampling = {name: value for name, value in extra.items() if name in _SAMPLING}
    if not sampling and "parallel_tool_calls" not in extra:
        return extra
    rest = {name: value for name, value in extra.items() if name not in sampling and name != "parallel_tool_calls"}
    return merge({"options": sampling}, rest)


class OllamaStream(RecordParser[str]):
    """A reader of one NDJSON answer: objects with pieces of the message, the last one with `done: true`."""

    separator = b"\n"

    def __init__(self, provider: OllamaProvider, answer: AnswerBuilder) -> None:
        super().__init__(answer)
        self._provider = provider
        self._named = ""
        self._has_message = False

    def whole(self, body: bytes) -> None:
        """Read an answer in one document, or a stream that came as one. Raises as `end` does."""
        try:
            record = orjson.loads(body)
        except orjson.JSONDecodeError:
            self.feed(body)
        else:
            self._record(record, body)
        self.end()

    def _split(self, data: bytes) -> list[bytes] | None:
        return data[:-1].split(b"\n") if self._is_usual(data) else None

    def _is_usual(self, data: bytes) -> bool:
        return data.startswith(b"{") and b"\r" not in data

    def _read(self, records: list[bytes]) -> None:
        for record in records:
            try:
                value = orjson.loads(record)
            except orjson.JSONDecodeError:
                self._take(record.decode("utf-8", "replace"))
            else:
                self._record(value, record)
            if self.complete:
                return

    def _new_decoder(self, *, has_begun: bool) -> LineDecoder:
        return LineDecoder(has_begun=has_begun)

    def _take(self, part: str) -> None:
        if not part.strip():
            return
        said = part.encode()
        try:
            record = orjson.loads(said)
        except orjson.JSONDecodeError as error:
            raise self._not_an_answer(said) from error
        self._record(record, said)

    def _finish(self) -> None:
        """Raise StreamBroken when `done` never came, ProtocolError when there was no message."""
        if not self.complete:
            raise StreamBroken("the answer ended before it was done", self._provider.name, self._provider.model)
        if not self._has_message:
            raise ProtocolError("a stream without an answer", self._provider.name, self._provider.model)

    def _record(self, record: object, said: bytes) -> None:
        """Read one record. Raises the error it carries, or ProtocolError if it is not a record."""
        if not isinstance(record, dict):
            raise self._not_an_answer(said)
        if "error" in record:
            body = read_error(record)
            raise typed_error(body.implied_status, body, provider=self._provider.name, model=self._provider.model)
        if isinstance(message := record.get("message"), dict) and record.get("done_reason") not in _NOT_ASKED:
            self._has_message = True
            self._message(message)
        if isinstance(model := record.get("model"), str) and model and model != self._named:
            self._named = model
            self._has_grown = True
            self._answer.set_model(model)
        if record.get("done") is True:
            self.complete = self._has_grown = True
            self._answer.set_usage(Usage(_count(record, "prompt_eval_count"), _count(record, "eval_count")))
            self._answer.set_finish(_FINISH.get(str(record.get("done_reason")), FinishReason.STOP))

    def _message(self, message: Mapping[str, Any]) -> None:
        if isinstance(thinking := message.get("thinking"), str) and thinking:
            self._has_grown = True
            self._answer.add_reasoning(thinking)
        if isinstance(content := message.get("content"), str) and content:
            self._has_grown = True
            self._answer.add_text(content)
        if isinstance(calls := message.get("tool_calls"), list):
            for call in calls:
                if isinstance(call, Mapping):
                    self._call(call)

    def _call(self, call: Mapping[str, Any]) -> None:
        """Add a whole call. It has a slot of its own, because the index that servers send is often wrongly 0."""
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        arguments = function.get("arguments")
        call_id = call.get("id")
        self._has_grown = True
        self._answer.add_call(
            None,
            call_id if isinstance(call_id, str) and call_id else None,
            str(function.get("name") or ""),
            arguments if isinstance(arguments, str | Mapping) else {},
        )

    def _not_an_answer(self, said: bytes) -> ProtocolError:
        return ProtocolError(f"not an answer: {excerpt(said)}", self._provider.name, self._provider.model)


def _count(record: Mapping[str, Any], key: str) -> int | None:
    value = record.get(key)
    return value if isinstance(value, int) else None
