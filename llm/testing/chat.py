"""A Chat Completions server that answers from a script."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from twisted.internet.interfaces import IReactorTime

from llm.messages import JSON
from llm.testing.answer import Answer
from llm.testing.chat_wire import Envelope, chat_chunks, chat_record, error_record
from llm.testing.script import RecordedRequest, Reply, Script
from llm.testing.server import FakeServer, estimate_tokens

CHAT_PATH = "/v1/chat/completions"


class FakeChat(FakeServer):
    """A server for any model, or for `models` only.

    Without `formats` it refuses `response_format`, as servers without constrained output do. `comment` is sent as an
    SSE comment before every event, as OpenRouter does to keep the connection alive.
    """

    stream_type = "text/event-stream; charset=utf-8"

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

    @property
    def chats(self) -> list[RecordedRequest]:
        """The requests for a completion."""
        return self._requests_to(CHAT_PATH)

    def route(self, request: RecordedRequest) -> Answer:
        """Return the answer of the handler for this method and path."""
        match request.method, request.path:
            case "GET", "/v1/models":
                return self.json({"object": "list", "data": [_list_entry(name) for name in self._models or ("sage",)]})
            case "POST", path if path == CHAT_PATH:
                return self._chat(request)
            case _:
                return self.error(404, f"Invalid URL ({request.method} {request.path})")

    def unauthorized(self) -> Answer:
        """Return what OpenAI says to a wrong or missing key."""
        return self.json(error_record("Incorrect API key provided.", code="invalid_api_key"), 401)

    def error_record(self, status: int, message: str) -> JSON:
        """Return an error in OpenAI's shape. Its type follows from the status."""
        return error_record(message, _ERROR_TYPES.get(status, "invalid_request_error"))

    def error_chunk(self, message: str) -> bytes:
        """Return the same record as an event of the stream."""
        return b"data: " + self.encode(error_record(message, "server_error")) + b"\n\n"

    def refusal(self, request: RecordedRequest) -> str:
        """Return the words for a model without tools."""
        return f"{request.model} does not support tools"

    def streams(self, request: RecordedRequest) -> bool:
        """Tell whether to stream: Chat Completions streams only when the request says so."""
        return request.body.get("stream") is True

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

    def _chat(self, request: RecordedRequest) -> Answer:
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


_MISSING = "missing_required_parameter"
_ERROR_TYPES = {429: "rate_limit_error", 500: "server_error", 502: "server_error", 503: "server_error"}


def _list_entry(name: str) -> Mapping[str, JSON]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "mud-assistant"}
