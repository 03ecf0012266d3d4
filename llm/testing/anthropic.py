"""A server for Anthropic's Messages API that answers from a script: replies as content blocks and stream events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.dialects.messages.rendering import REASONS, MessagesRenderer
from mud_assistant.llm.messages import (
    JSON,
    Block,
    Citation,
    JSONObject,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
)
from mud_assistant.llm.response import Usage
from mud_assistant.llm.testing.replies import ReplyRenderer
from mud_assistant.llm.testing.script import RecordedRequest, Reply
from mud_assistant.llm.testing.server import FakeServer
from mud_assistant.resilience.testing.fake import Answered, Response

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
#: The seal of all reasoning.
SEAL = "c2VhbGVk"
_REQUIRED = ("model", "max_tokens", "messages")


class Search(Struct, frozen=True):
    """A web search that the server itself makes before the text of the reply.

    `found` are pairs of title and address. With `error` the search fails with that word. Unless `answered`, its result
    is left for the next request, as in a paused turn and beside a client's call.
    """

    query: str
    found: tuple[tuple[str, str], ...] = ()
    error: str = ""
    answered: bool = True


class AnthropicReply(Reply, frozen=True):
    """A good answer with what only Anthropic has. `resumes` is the id of an open search, answered first of all.

    Each of `sources` (title and address) is cited for the text.
    """

    searches: tuple[Search, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    resumes: str = ""


class AnthropicReplies(ReplyRenderer, MessagesRenderer):
    """Replies as messages. Reasoning is sealed."""

    finishes = REASONS
    call_prefix = "toolu"

    def blocks(self, reply: Reply, number: int) -> Iterator[Block]:
        """Yield the blocks of a reply, with the searches that the server made for it."""
        extra = reply if isinstance(reply, AnthropicReply) else AnthropicReply()
        if reply.reasoning:
            yield Reasoning(reply.reasoning, SEAL)
        if extra.resumes:
            yield ServerToolResult(extra.resumes, "web_search", "Found https://found.example")
        for place, search in enumerate(extra.searches):
            call_id = f"srvtoolu_{number}_{place}"
            yield ServerToolCall(call_id, "web_search", {"query": search.query})
            if search.answered:
                found = search.error or "\n".join(f"{title} {url}" for title, url in search.found)
                yield ServerToolResult(call_id, "web_search", found, failed=bool(search.error))
        for block in super().blocks(reply, number):
            if not isinstance(block, Reasoning):
                yield block
            if isinstance(block, Text):
                yield from [Citation(f"From {title}.", url, title) for title, url in extra.sources]

    def counted(self, reply: Reply, prompt_tokens: int) -> Usage:
        """Return what a reply costs, with the searches made for it."""
        prompt, output = reply.counted(prompt_tokens)
        searches = len(reply.searches) if isinstance(reply, AnthropicReply) else 0
        made = {"web_search": searches, "web_fetch": 0} if searches else None
        return Usage(prompt, output, cached_tokens=0, cache_write_tokens=0, server_tools=made)


class FakeAnthropic(FakeServer):
    """A server for any model. Like the real one, it refuses messages that break the order of calls and results.

    A key may come as `x-api-key`, which wins, or as a bearer token.
    """

    chat_path = MESSAGES_PATH

    def answer(self, request: RecordedRequest) -> Answered:
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

    def unauthorized(self) -> Response:
        """Return what Anthropic says to a wrong or missing key."""
        return self.error(401, "invalid x-api-key")

    def error_record(self, status: int, message: str) -> JSON:
        """Return an error in Anthropic's shape. Its type follows from the status."""
        return error_record(_ERROR_TYPES.get(status, "api_error"), message)

    def error_chunk(self, message: str) -> bytes:
        """Return the same record as an event of the stream."""
        return b"event: error\ndata: " + self.encode(error_record("overloaded_error", message)) + b"\n\n"

    def renderer(self, asked: AskedCall, head: AnswerHead) -> AnthropicReplies:
        """Return what renders a reply."""
        return AnthropicReplies(asked, head)

    def stream(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        """Return the events of the answer, the last one `message_stop`, padded with blanks as the real ones are."""
        return [event[:-1] + b"  }" for event in super().stream(reply, request)]

    def credential(self, request: RecordedRequest) -> str:
        """Return the key of either header."""
        return request.headers.get("x-api-key") or request.bearer


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


def error_record(kind: str, message: str) -> JSONObject:
    """Return an error in Anthropic's shape."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}
