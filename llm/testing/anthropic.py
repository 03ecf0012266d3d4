"""A server for Anthropic's Messages API that answers from a script."""

from __future__ import annotations

from collections.abc import Mapping

from llm.messages import JSON, JSONObject
from llm.testing.answer import Answer
from llm.testing.anthropic_wire import content_blocks, error_record, stop_reason, stream_records, usage
from llm.testing.script import RecordedRequest, Reply
from llm.testing.server import FakeServer, estimate_tokens

MESSAGES_PATH = "/v1/messages"
MODELS_PATH = "/v1/models"
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_LISTED: JSONObject = {"type": "model", "id": "sage", "display_name": "Sage", "created_at": "2026-01-01T00:00:00Z"}
_REQUIRED = ("model", "max_tokens", "messages")


class FakeAnthropic(FakeServer):
    """A server for any model. Like the real one, it refuses messages that break the order of calls and results.

    A key may come as `x-api-key`, which wins, or as a bearer token.
    """

    stream_type = "text/event-stream; charset=utf-8"

    @property
    def chats(self) -> list[RecordedRequest]:
        """The requests for a message."""
        return [request for request in self.requests if request.path == MESSAGES_PATH]

    def route(self, request: RecordedRequest) -> Answer:
        """Return the answer of the handler for this method and path."""
        if (request.method, request.path) == ("GET", MODELS_PATH):
            return self.json({"data": [_LISTED], "has_more": False, "first_id": "sage", "last_id": "sage"})
        if (request.method, request.path) != ("POST", MESSAGES_PATH):
            return self.error(404, "Not found")
        if "anthropic-version" not in request.headers:
            return self.error(400, "anthropic-version: header is required")
        for name in _REQUIRED:
            if not request.body.get(name):
                return self.error(400, f"{name}: Field required")
        if wrong := wrong_messages(request.messages):
            return self.error(400, wrong)
        return self.scripted(request)

    def unauthorized(self) -> Answer:
        """Return what Anthropic says to a wrong or missing key."""
        return self.error(401, "invalid x-api-key")

    def error_record(self, status: int, message: str) -> JSON:
        """Return an error in Anthropic's shape. Its type follows from the status."""
        return error_record(_ERROR_TYPES.get(status, "api_error"), message)

    def error_chunk(self, message: str) -> bytes:
        """Return the same record as an event of the stream."""
        return b"event: error\ndata: " + self.encode(error_record("overloaded_error", message)) + b"\n\n"

    def refusal(self, request: RecordedRequest) -> str:
        """Return the words for a model without tools."""
        return f"{request.model} does not support tools"

    def streams(self, request: RecordedRequest) -> bool:
        """Tell whether to stream: messages stream only when the request says so."""
        return request.body.get("stream") is True

    def stream(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        """Return the events of the answer, the last one `message_stop`, padded with blanks as the real ones are."""
        records = stream_records(self._message(reply, request), reply)
        return [
            b"event: %s\ndata: %s  }\n\n" % (str(record["type"]).encode(), self.encode(record)[:-1])
            for record in records
        ]

    def whole(self, reply: Reply, request: RecordedRequest) -> JSON:
        """Return the answer to a request that does not stream."""
        return self._message(reply, request)

    def _message(self, reply: Reply, request: RecordedRequest) -> JSONObject:
        number = len(self.chats)
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": content_blocks(reply, number),
            "stop_reason": stop_reason(reply),
            "stop_sequence": None,
            "usage": usage(reply, estimate_tokens(request)),
        }

    def _is_locked(self, request: RecordedRequest) -> bool:
        if self._key is None:
            return False
        given = request.headers.get("x-api-key") or request.authorization.removeprefix("Bearer ")
        return given != self._key


def wrong_messages(messages: list[Mapping[str, JSON]]) -> str:
    """Return the real API's refusal of these messages, in its words. Empty when they are right."""
    asked: list[str] = []
    for at, message in enumerate(messages):
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
        if not content or any(block.get("type") == "text" and not block.get("text") for block in blocks):
            return f"messages.{at}: text content blocks must be non-empty"
        answered = [str(block["tool_use_id"]) for block in blocks if block.get("type") == "tool_result"]
        if sorted(answered) != sorted(asked):
            return f"messages.{at}: `tool_use` ids {asked} were answered by `tool_result` blocks for {answered}"
        if [block.get("type") for block in blocks[: len(answered)]] != ["tool_result"] * len(answered):
            return f"messages.{at}: `tool_result` blocks must come first"
        asked = [str(block["id"]) for block in blocks if block.get("type") == "tool_use"]
    return ""
