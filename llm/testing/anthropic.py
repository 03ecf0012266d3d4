"""A server for Anthropic's Messages API that answers from a script: replies as content blocks and stream events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson
from msgspec import Struct

from llm.messages import JSON, JSONObject
from llm.testing.script import Call, RecordedRequest, Reply, pieces
from llm.testing.server import FakeServer, estimate_tokens
from resilience.testing.fake import Answered, Response

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

    Each of `sources` (title and address) is cited for the text. Reasoning is sealed with `signature`; without one it
    has no seal, as after an interruption. `raw` are blocks that come first, as they stand.
    """

    searches: tuple[Search, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    signature: str = "c2VhbGVk"
    resumes: str = ""
    raw: tuple[JSONObject, ...] = ()


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


def content_blocks(reply: Reply, number: int) -> list[JSONObject]:
    """Return the blocks of a reply, the `number`th of its server."""
    extra = reply if isinstance(reply, AnthropicReply) else AnthropicReply()
    blocks: list[JSONObject] = [*extra.raw]
    if reply.reasoning:
        seal: JSONObject = {"signature": extra.signature} if extra.signature else {}
        blocks.append({"type": "thinking", "thinking": reply.reasoning, **seal})
    if extra.resumes:
        blocks.append(_result(extra.resumes, Search("", (("Found", "https://found.example"),))))
    for place, search in enumerate(extra.searches):
        call_id = f"srvtoolu_{number}_{place}"
        blocks.append(
            {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": search.query}}
        )
        if search.answered:
            blocks.append(_result(call_id, search))
    if reply.text:
        cited: JSONObject = {"citations": [_citation(*source) for source in extra.sources]} if extra.sources else {}
        blocks.append({**cited, "type": "text", "text": reply.text})
    blocks += [_tool_use(call, f"toolu_{number}_{place}") for place, call in enumerate(reply.calls)]
    return blocks


def stop_reason(reply: Reply) -> str:
    """Return the wire's word for why the reply ends."""
    return reply.finish or ("tool_use" if reply.calls else "end_turn")


def usage(reply: Reply, prompt_tokens: int) -> dict[str, JSON]:
    """Return the counts of a whole answer."""
    prompt, output = reply.counted(prompt_tokens)
    counts: dict[str, JSON] = {
        "input_tokens": prompt,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
    }
    if isinstance(reply, AnthropicReply) and reply.searches:
        counts["server_tool_use"] = {"web_search_requests": len(reply.searches), "web_fetch_requests": 0}
    return counts


def stream_records(message: JSONObject, reply: Reply) -> Iterator[JSONObject]:
    """Yield the events of a stream that adds up to `message`, with a ping after the start."""
    told = message["usage"]
    assert isinstance(told, dict)
    start = {**told, "output_tokens": 1}
    start.pop("server_tool_use", None)
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": start},
    }
    yield {"type": "ping"}
    content = message["content"]
    assert isinstance(content, list)
    for index, block in enumerate(content):
        opening, deltas = _parts(block, reply)
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended: JSONObject = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": told}
    yield {"type": "message_stop"}


def error_record(kind: str, message: str) -> JSONObject:
    """Return an error in Anthropic's shape."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}


def _parts(block: JSONObject, reply: Reply) -> tuple[JSONObject, list[JSONObject]]:
    """Return a block as its opening and its pieces. A result of a server tool opens whole."""
    size = reply.chunk_size
    match block.get("type"):
        case "text":
            cited = block.get("citations")
            deltas: list[JSONObject] = [
                {"type": "citations_delta", "citation": citation}
                for citation in (cited if isinstance(cited, list) else ())
            ]
            deltas += [{"type": "text_delta", "text": piece} for piece in pieces(str(block["text"]), size)]
            empty: JSONObject = {"citations": []} if cited else {}
            return {**empty, "type": "text", "text": ""}, deltas
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(str(block["thinking"]), size)]
            if "signature" in block:
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use":
            given = block["input"]
            text = given if isinstance(given, str) else orjson.dumps(given).decode() if given else ""
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(text, size)]]
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def _tool_use(call: Call, call_id: str) -> JSONObject:
    return {"type": "tool_use", "id": call.id or call_id, "name": call.name, "input": call.arguments}


def _result(call_id: str, search: Search) -> JSONObject:
    content: JSON = [
        {
            "type": "web_search_result",
            "title": title,
            "url": url,
            "encrypted_content": f"sealed:{url}",
            "page_age": None,
        }
        for title, url in search.found
    ]
    if search.error:
        content = {"type": "web_search_tool_result_error", "error_code": search.error}
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": content}


def _citation(title: str, url: str) -> JSONObject:
    return {
        "type": "web_search_result_location",
        "cited_text": f"From {title}.",
        "url": url,
        "title": title,
        "encrypted_index": f"sealed:{url}",
    }
