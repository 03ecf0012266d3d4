"""An Ollama server that answers from a script: its native protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256

import orjson
from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.dialects.ollama.rendering import OllamaRenderer, calls_of
from mud_assistant.llm.messages import JSON, Block, JSONObject, Message, Role
from mud_assistant.llm.response import FinishReason, LLMResponse
from mud_assistant.llm.testing.replies import ReplyRenderer
from mud_assistant.llm.testing.script import RecordedRequest, Reply, Script
from mud_assistant.llm.testing.server import FakeServer, estimate_tokens
from mud_assistant.resilience.testing.fake import Answered, Response

_LOAD_NANOSECONDS = 12_345_678
_PROMPT_NANOSECONDS = 1_500_000
_TOKEN_NANOSECONDS = 20_000_000
_GO_ESCAPES = {
    b'"id":"",': b"",
    b"<": rb"\u003c",
    b">": rb"\u003e",
    b"&": rb"\u0026",
    "\u2028".encode(): rb"\u2028",
    "\u2029".encode(): rb"\u2029",
}
DEFAULT_NUM_CTX = 4096
VERSION = "0.13.5"
_PLAIN = {"Content-Type": "text/plain; charset=utf-8"}
_TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the"
    " context length in settings, or use a model with a longer context length"
)


class OllamaModel(Struct, frozen=True):
    """A model that a fake Ollama has. `context_length` is in tokens, `size` in bytes."""

    capabilities: tuple[str, ...] = ("completion", "tools")
    context_length: int = 32768
    family: str = "sage"
    size: int = 4_000_000_000


class OllamaReplies(ReplyRenderer, OllamaRenderer):
    """Replies as Ollama's: with a line for each call, and with durations."""

    finishes: Mapping[FinishReason, str] = {
        FinishReason.STOP: "stop",
        FinishReason.TOOL_CALLS: "stop",
        FinishReason.LENGTH: "length",
    }

    def blocks(self, reply: Reply, number: int) -> Iterator[Block]:
        """Yield the blocks of a reply. The id of a call without one is empty."""
        calls = tuple([replace(call, id=call.id or "") for call in reply.calls])
        return super().blocks(replace(reply, calls=calls), number)

    def _end(self, response: LLMResponse) -> bytes:
        lines = [self._piece({"content": "", "tool_calls": [call]}) for call in calls_of(response.tool_calls)]
        return b"".join(lines) + super()._end(replace(response, message=Message(Role.ASSISTANT, ())))

    def _last(self, message: dict[str, JSON], response: LLMResponse) -> dict[str, JSON]:
        spans = {
            "load_duration": _LOAD_NANOSECONDS,
            "prompt_eval_duration": (response.usage.input_tokens or 0) * _PROMPT_NANOSECONDS,
            "eval_duration": (response.usage.output_tokens or 0) * _TOKEN_NANOSECONDS,
        }
        return {**super()._last(message, response), "total_duration": sum(spans.values()), **spans}


class FakeOllama(FakeServer):
    """An Ollama server with the given models, by default one named `sage`. A name without a tag means its `latest`."""

    json_type = "application/json; charset=utf-8"
    stream_type = "application/x-ndjson"
    between = b"\n"
    chat_path = "/api/chat"

    def __init__(
        self,
        clock: IReactorTime,
        script: Script,
        models: Mapping[str, OllamaModel] | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(clock, script, key)
        given = {"sage": OllamaModel()} if models is None else models
        self.models = {_with_tag(name): model for name, model in given.items()}
        #: The models in memory, with the context length each was loaded with, as `/api/ps` reports them.
        self.loaded: dict[str, int] = {}

    def answer(self, request: RecordedRequest) -> Answered:
        """Return the answer of the handler for this method and path."""
        match request.method, request.path:
            case "GET" | "HEAD", "/":
                return Response(200, _PLAIN, (b"Ollama is running",))
            case "GET" | "HEAD", "/api/version":
                return self.json({"version": VERSION})
            case "GET" | "HEAD", "/api/tags":
                return self.json({"models": [self._list_entry(name) for name in self.models]})
            case "GET", "/api/ps":
                return self.json({"models": [self._running(name) for name in self.loaded]})
            case "POST", "/api/show" | "/api/chat":
                return self._answer_post(request)
            case _:
                return Response(404, _PLAIN, (b"404 page not found",))

    def encode(self, record: JSON) -> bytes:
        """Return the record as Go writes JSON."""
        return as_go(super().encode(record))

    def unauthorized(self) -> Response:
        """Return what ollama.com says to a wrong key."""
        return self.error(401, "unauthorized")

    def error_record(self, status: int, message: str) -> JSON:
        """Return an error in Ollama's only shape."""
        return {"error": message}

    def error_chunk(self, message: str) -> bytes:
        """Return the same record as a line of the stream."""
        return self.encode({"error": message}) + b"\n"

    def refusal(self, request: RecordedRequest) -> str:
        """Return Ollama's words for a model without tools."""
        return f"registry.ollama.ai/library/{_with_tag(request.model)} does not support tools"

    def streams(self, request: RecordedRequest) -> bool:
        """Tell whether to stream: Ollama streams unless the request says not to."""
        return request.body.get("stream") is not False

    def renderer(self, asked: AskedCall, head: AnswerHead) -> OllamaReplies:
        """Return what renders a reply."""
        return OllamaReplies(asked, head, None)

    def stream(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        """Return one line for each piece, one for each call, and a last one with the counts."""
        return [as_go(line) for line in super().stream(reply, request)]

    def whole(self, reply: Reply, request: RecordedRequest) -> bytes:
        """Return the answer to `stream: false`."""
        return as_go(super().whole(reply, request))

    def prompt_tokens(self, request: RecordedRequest) -> int:
        """Return the size of the prompt in tokens, after silent truncation to the context of the loaded model."""
        return min(estimate_tokens(request), self.loaded[_with_tag(request.model)])

    def _answer_post(self, request: RecordedRequest) -> Answered:
        if (problem := _body_problem(request.raw)) is not None:
            return self.error(400, problem)
        if not request.model:
            return self.error(400, "model is required")
        model = self.models.get(_with_tag(request.model))
        if model is None:
            return self.error(404, f"model '{request.model}' not found")
        return self.json(self._shown(model)) if request.path == "/api/show" else self._chat(request, model)

    def _chat(self, request: RecordedRequest, model: OllamaModel) -> Answered:
        if request.tools and "tools" not in model.capabilities:
            return self.error(400, self.refusal(request))
        if request.body.get("think") and "thinking" not in model.capabilities:
            return self.error(400, f'"{request.model}" does not support thinking')
        num_ctx = min(_num_ctx(request), model.context_length)
        self.loaded[_with_tag(request.model)] = num_ctx
        if not request.messages:
            return self.json(self._load_record(request.model))
        if request.body.get("truncate") is False and estimate_tokens(request) > num_ctx:
            return self.error(400, _TOO_LONG)
        return self.scripted(request)

    def _load_record(self, model: str) -> JSONObject:
        message = {"role": "assistant", "content": ""}
        return {"model": model, "created_at": self._now(), "message": message, "done": True, "done_reason": "load"}

    def _list_entry(self, name: str) -> JSONObject:
        model = self.models[name]
        return {
            "name": name,
            "model": name,
            "modified_at": self._now(),
            "size": model.size,
            "digest": sha256(name.encode()).hexdigest(),
            "details": _details(model),
        }

    def _running(self, name: str) -> JSONObject:
        listed = {key: value for key, value in self._list_entry(name).items() if key != "modified_at"}
        expires = _rfc3339(self.clock.seconds() + 300)
        return {**listed, "expires_at": expires, "size_vram": 0, "context_length": self.loaded[name]}

    def _shown(self, model: OllamaModel) -> JSONObject:
        return {
            "modelfile": f"FROM {model.family}",
            "parameters": "",
            "template": "{{ .Prompt }}",
            "details": _details(model),
            "model_info": {
                "general.architecture": model.family,
                f"{model.family}.context_length": model.context_length,
            },
            "capabilities": list(model.capabilities),
            "modified_at": self._now(),
        }

    def _now(self) -> str:
        return _rfc3339(self.clock.seconds())


def _with_tag(name: str) -> str:
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _details(model: OllamaModel) -> JSONObject:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": model.family,
        "families": [model.family],
        "parameter_size": "7.6B",
        "quantization_level": "Q4_K_M",
    }


def _num_ctx(request: RecordedRequest) -> int:
    options = request.body.get("options")
    asked = options.get("num_ctx") if isinstance(options, Mapping) else None
    return asked if isinstance(asked, int) else DEFAULT_NUM_CTX


def _body_problem(raw: bytes) -> str | None:
    """Return what Go says of a body that is not a JSON object, or None for one that is."""
    if not raw.strip():
        return "missing request body"
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return f"invalid character {chr(raw.strip()[0])!r} looking for beginning of value"
    if isinstance(record, dict):
        return None
    kind = {list: "array", str: "string", bool: "bool"}.get(type(record), "number")
    return f"json: cannot unmarshal {kind} into Go value of type api.ChatRequest"


def _rfc3339(seconds: float) -> str:
    """Return the time as Go writes it: UTC, no trailing zeros."""
    moment = datetime.fromtimestamp(seconds, UTC)
    fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def as_go(encoded: bytes) -> bytes:
    """Return a record as Go's encoder writes it, which escapes HTML characters and leaves an empty id out."""
    for character, escape in _GO_ESCAPES.items():
        encoded = encoded.replace(character, escape)
    return encoded
