"""A Chat Completions server that answers from a script."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import orjson
from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.dialects.chat.rendering import FINISHES, ChatRenderer
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.messages import JSON, JSONObject
from mud_assistant.llm.testing.replies import ReplyRenderer
from mud_assistant.llm.testing.script import Call, RecordedRequest, Reply, Script
from mud_assistant.llm.testing.server import FakeServer
from mud_assistant.resilience.testing.fake import Answered, Response

CHAT_PATH = "/v1/chat/completions"
_MISSING = "missing_required_parameter"
_ERROR_TYPES = {429: "rate_limit_error", 500: "server_error", 502: "server_error", 503: "server_error"}


class ChatReplies(ReplyRenderer, ChatRenderer):
    """Replies as Chat Completions."""

    finishes = FINISHES

    def arguments(self, call: Call) -> Any:
        """Return what is written as it is, for here it is text."""
        return orjson.Fragment(call.written)


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

    def renderer(self, asked: AskedCall, head: AnswerHead) -> ChatReplies:
        """Return what renders a reply."""
        return ChatReplies(asked, head)

    def stream(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        """Return the events of the answer, the last one `[DONE]`."""
        return [self._comment + event for event in super().stream(reply, request)]

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


def _list_entry(name: str) -> Mapping[str, JSON]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "mud-assistant"}


def error_record(
    message: str, kind: str = "invalid_request_error", param: str | None = None, code: str | None = None
) -> JSONObject:
    """Return an error in OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
