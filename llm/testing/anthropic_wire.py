"""Renders scripted replies as the content blocks and stream events of Anthropic's Messages API. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from llm.messages import JSON, JSONObject
from llm.testing.script import Call, Reply
from llm.testing.server import pieces


@dataclass(frozen=True, slots=True)
class Search:
    """A web search that the server itself makes before the text of the reply.

    `found` are pairs of title and address. With `error` the search fails with that word. Unless `answered`, its result
    is left for the next request, as in a paused turn and beside a client's call.
    """

    query: str
    found: tuple[tuple[str, str], ...] = ()
    error: str = ""
    answered: bool = True


@dataclass(frozen=True, slots=True)
class AnthropicReply(Reply):
    """A good answer with what only Anthropic has. `resumes` is the id of an open search, answered first of all.

    Each of `sources` (title and address) is cited for the text. Reasoning is sealed with `signature`; without one it
    has no seal, as after an interruption. `raw` are blocks that come first, as they stand.
    """

    searches: tuple[Search, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    signature: str = "c2VhbGVk"
    resumes: str = ""
    raw: tuple[JSONObject, ...] = ()


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
    words = len(pieces(reply.text + reply.reasoning, None)) + 8 * len(reply.calls)
    prompt, output = reply.usage or (prompt_tokens, words)
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
