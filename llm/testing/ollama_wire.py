"""Renders scripted replies as Ollama's records, with the fields in the order of its own types. Pure."""

from __future__ import annotations

import orjson

from llm.messages import JSON, JSONObject
from llm.testing.script import Call, Reply
from llm.testing.server import pieces

_LOAD_NANOSECONDS = 12_345_678
_PROMPT_NANOSECONDS = 1_500_000
_TOKEN_NANOSECONDS = 20_000_000


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


_GO_ESCAPES = {
    b"<": rb"\u003c",
    b">": rb"\u003e",
    b"&": rb"\u0026",
    "\u2028".encode(): rb"\u2028",
    "\u2029".encode(): rb"\u2029",
}


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
    words = len(pieces(reply.text + reply.reasoning, None)) + 8 * len(reply.calls)
    prompt, output = reply.usage or (prompt_tokens, words)
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
