"""An Ollama server that answers from a script: its native protocol, each field in the order of Ollama's own types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256

import orjson
from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime

from llm.messages import JSON, JSONObject
from llm.testing.script import Call, RecordedRequest, Reply, Script, pieces
from llm.testing.server import FakeServer, estimate_tokens
from resilience.testing.fake import Answered, Response

_LOAD_NANOSECONDS = 12_345_678
_PROMPT_NANOSECONDS = 1_500_000
_TOKEN_NANOSECONDS = 20_000_000
_GO_ESCAPES = {
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


class FakeOllama(FakeServer):
    """An Ollama server with the given models, by default one named `sage`. A name without a tag means its `latest`."""

    json_type = "application/json; charset=utf-8"
    stream_type = "application/x-ndjson"
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
        return go_json(record)

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

    def stream(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        """Return one line for each piece, one for each call, and a last one with the counts."""
        lines = chat_lines(
            self._hide_thinking(reply, request), request.model, self._now(), self._prompt_tokens(request)
        )
        return [self.encode(line) + b"\n" for line in lines]

    def whole(self, reply: Reply, request: RecordedRequest) -> JSON:
        """Return the answer to `stream: false`."""
        return chat_record(
            self._hide_thinking(reply, request), request.model, self._now(), self._prompt_tokens(request)
        )

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

    def _prompt_tokens(self, request: RecordedRequest) -> int:
        """Return the size of the prompt in tokens, after silent truncation to the context of the loaded model."""
        return min(estimate_tokens(request), self.loaded[_with_tag(request.model)])

    def _hide_thinking(self, reply: Reply, request: RecordedRequest) -> Reply:
        """Return the reply, without its reasoning when the request forbids thinking."""
        return replace(reply, reasoning="") if request.body.get("think") is False else reply

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


def chat_lines(reply: Reply, model: str, created_at: str, prompt_tokens: int) -> list[JSONObject]:
    """Return the records of a streamed answer: thinking, text, one for each whole call, and the final one."""
    head = {"model": model, "created_at": created_at}
    messages: list[JSONObject] = [
        *(_message(thinking=piece) for piece in pieces(reply.reasoning, reply.chunk_size)),
        *(_message(content=piece) for piece in pieces(reply.text, reply.chunk_size)),
        *(_message(calls=[_call(index, call)]) for index, call in enumerate(reply.calls)),
    ]
    lines: list[JSONObject] = [{**head, "message": message, "done": False} for message in messages]
    return [*lines, {**head, "message": _message(), **_end(reply, prompt_tokens)}]


def chat_record(reply: Reply, model: str, created_at: str, prompt_tokens: int) -> JSONObject:
    """Return the one record of an answer that does not stream."""
    calls = [_call(index, call) for index, call in enumerate(reply.calls)]
    message = _message(reply.text, reply.reasoning, calls)
    return {"model": model, "created_at": created_at, "message": message, **_end(reply, prompt_tokens)}


def go_json(record: JSON) -> bytes:
    """Return the record as Go's encoder writes it, which escapes HTML characters."""
    encoded = orjson.dumps(record)
    for character, escape in _GO_ESCAPES.items():
        encoded = encoded.replace(character, escape)
    return encoded


def _message(content: str = "", thinking: str = "", calls: list[JSONObject] | None = None) -> JSONObject:
    message: dict[str, JSON] = {"role": "assistant", "content": content}
    if thinking:
        message["thinking"] = thinking
    if calls:
        message["tool_calls"] = calls
    return message


def _call(index: int, call: Call) -> JSONObject:
    function: JSONObject = {"index": index, "name": call.name, "arguments": call.arguments}
    return {"function": function} if call.id is None else {"id": call.id, "function": function}


def _end(reply: Reply, prompt_tokens: int) -> JSONObject:
    """Return the members of the last record. Ollama leaves out those that are 0."""
    prompt, output = reply.counted(prompt_tokens)
    counts = {
        "load_duration": _LOAD_NANOSECONDS,
        "prompt_eval_count": prompt,
        "prompt_eval_duration": prompt * _PROMPT_NANOSECONDS,
        "eval_count": output,
        "eval_duration": output * _TOKEN_NANOSECONDS,
    }
    total = sum(value for name, value in counts.items() if name.endswith("_duration"))
    told = {name: value for name, value in counts.items() if value}
    return {"done": True, "done_reason": reply.finish or "stop", "total_duration": total, **told}
