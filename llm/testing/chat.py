"""A Chat Completions server that answers from a script, and the records it renders replies as."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct
from twisted.internet.interfaces import IReactorTime

from llm.messages import JSON, JSONObject
from llm.testing.script import Call, RecordedRequest, Reply, Script, pieces
from llm.testing.server import FakeServer, estimate_tokens
from resilience.testing.fake import Answered, Response

CHAT_PATH = "/v1/chat/completions"
_MISSING = "missing_required_parameter"
_ERROR_TYPES = {429: "rate_limit_error", 500: "server_error", 502: "server_error", 503: "server_error"}


class Envelope(Struct, frozen=True):
    """What all records of one answer repeat. `created` is in clock seconds."""

    id: str
    created: int
    model: str
    prompt_tokens: int


class FakeChat(FakeServer):
    """A server for any model, or for `models` only.

    Without `formats` it refuses `response_format`, as servers without constrained output do. `comment` is sent as an
    SSE comment before every event, as OpenRouter does to keep the connection alive.
    """

    chat_path = CHAT_PATH

    def __init__(
        self,
        clock: IReactorTime,
        script: Script,
        key: str | None = None,
        *,
        models: Collection[str] | None = None,
        formats: bool = True,
        comment: str = "",
    ) -> None:
        super().__init__(clock, script, key)
        self._models = models
        self._formats = formats
        self._comment = f": {comment}\n\n".encode() if comment else b""

    def answer(self, request: RecordedRequest) -> Answered:
        """Return the answer of the handler for this method and path."""
        match request.method, request.path:
            case "GET", "/v1/models":
                return self.json({"object": "list", "data": [_list_entry(name) for name in self._models or ("sage",)]})
            case "POST", path if path == CHAT_PATH:
                return self._chat(request)
            case _:
                return self.error(404, f"Invalid URL ({request.method} {request.path})")

    def unauthorized(self) -> Response:
        """Return what OpenAI says to a wrong or missing key."""
        return self.json(error_record("Incorrect API key provided.", code="invalid_api_key"), 401)

    def error_record(self, status: int, message: str) -> JSON:
        """Return an error in OpenAI's shape. Its type follows from the status."""
        return error_record(message, _ERROR_TYPES.get(status, "invalid_request_error"))

    def error_chunk(self, message: str) -> bytes:
        """Return the same record as an event of the stream."""
        return b"data: " + self.encode(error_record(message, "server_error")) + b"\n\n"

    def stream(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        """Return the events of the answer, the last one `[DONE]`."""
        options = request.body.get("stream_options")
        tells_usage = isinstance(options, Mapping) and options.get("include_usage") is True
        chunks = chat_chunks(reply, self._envelope(request), tells_usage=tells_usage)
        datas = [*(self.encode(chunk) for chunk in chunks), b"[DONE]"]
        return [self._comment + b"data: " + data + b"\n\n" for data in datas]

    def whole(self, reply: Reply, request: RecordedRequest) -> JSON:
        """Return the answer to a request that does not stream."""
        return chat_record(reply, self._envelope(request))

    def _chat(self, request: RecordedRequest) -> Answered:
        if not request.body:
            return self.error(400, "We could not parse the JSON body of your request.")
        for name in ("model", "messages"):
            if not request.body.get(name):
                record = error_record(f"Missing required parameter: '{name}'.", param=name, code=_MISSING)
                return self.json(record, 400)
        if self._models is not None and request.model not in self._models:
            message = f"The model `{request.model}` does not exist or you do not have access to it."
            return self.json(error_record(message, code="model_not_found"), 404)
        if not self._formats and request.body.get("response_format"):
            message = "Invalid parameter: 'response_format' is not supported with this model."
            return self.json(error_record(message, param="response_format"), 400)
        return self.scripted(request)

    def _envelope(self, request: RecordedRequest) -> Envelope:
        number = len(self.chats)
        return Envelope(f"chatcmpl-{number}", int(self.clock.seconds()), request.model, estimate_tokens(request))


def _list_entry(name: str) -> Mapping[str, JSON]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "mud-assistant"}


def chat_chunks(reply: Reply, envelope: Envelope, *, tells_usage: bool) -> list[JSONObject]:
    """Return the events of a stream: role, reasoning, text, pieces of calls, finish, and usage when requested."""
    head = _head(envelope, "chat.completion.chunk")
    deltas: list[JSONObject] = [
        {"role": "assistant", "content": "", "refusal": None},
        *({"reasoning_content": piece} for piece in pieces(reply.reasoning, reply.chunk_size)),
        *({"content": piece} for piece in pieces(reply.text, reply.chunk_size)),
    ]
    for index, call in enumerate(reply.calls):
        deltas += _call_deltas(index, call, envelope.id, reply.chunk_size)
    no_usage: JSONObject = {"usage": None} if tells_usage else {}
    chunks: list[JSONObject] = [{**head, "choices": [_choice(delta)], **no_usage} for delta in deltas]
    chunks.append({**head, "choices": [_choice({}, _finish(reply))], **no_usage})
    if tells_usage:
        chunks.append({**head, "choices": [], "usage": _usage(reply, envelope)})
    return chunks


def chat_record(reply: Reply, envelope: Envelope) -> JSONObject:
    """Return the one record of an answer that does not stream."""
    message: dict[str, JSON] = {
        "role": "assistant",
        "content": reply.text if reply.text or not reply.calls else None,
        "refusal": None,
        "annotations": [],
    }
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {"id": _call_id(index, call, envelope.id), "type": "function", "function": _function(call)}
            for index, call in enumerate(reply.calls)
        ]
    choice: JSONObject = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    return {**_head(envelope, "chat.completion"), "choices": [choice], "usage": _usage(reply, envelope)}


def error_record(
    message: str, kind: str = "invalid_request_error", param: str | None = None, code: str | None = None
) -> JSONObject:
    """Return an error in OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _head(envelope: Envelope, kind: str) -> JSONObject:
    return {"id": envelope.id, "object": kind, "created": envelope.created, "model": envelope.model}


def _choice(delta: JSONObject, finish: str | None = None) -> JSONObject:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _call_deltas(index: int, call: Call, answer_id: str, size: int | None) -> list[JSONObject]:
    """Return the call's name with empty arguments, then the arguments in pieces that only the index identifies."""
    opening: JSONObject = {
        "index": index,
        "id": _call_id(index, call, answer_id),
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    fragments: list[JSONObject] = [
        {"index": index, "function": {"arguments": piece}} for piece in pieces(call.written, size)
    ]
    return [{"tool_calls": [fragment]} for fragment in [opening, *fragments]]


def _call_id(index: int, call: Call, answer_id: str) -> str:
    return f"call_{answer_id.rpartition('-')[2]}_{index}" if call.id is None else call.id


def _function(call: Call) -> JSONObject:
    return {"name": call.name, "arguments": call.written}


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _usage(reply: Reply, envelope: Envelope) -> JSONObject:
    prompt, output = reply.counted(envelope.prompt_tokens)
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
