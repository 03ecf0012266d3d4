"""Renders scripted replies as the records of Chat Completions. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from llm.messages import JSON, JSONObject
from llm.testing.script import Call, Reply
from llm.testing.server import pieces


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all records of one answer repeat. `created` is in clock seconds."""

    id: str
    created: int
    model: str
    prompt_tokens: int


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
        {"index": index, "function": {"arguments": piece}} for piece in pieces(_arguments(call), size)
    ]
    return [{"tool_calls": [fragment]} for fragment in [opening, *fragments]]


def _call_id(index: int, call: Call, answer_id: str) -> str:
    return f"call_{answer_id.rpartition('-')[2]}_{index}" if call.id is None else call.id


def _function(call: Call) -> JSONObject:
    return {"name": call.name, "arguments": _arguments(call)}


def _arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else orjson.dumps(call.arguments).decode()


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _usage(reply: Reply, envelope: Envelope) -> JSONObject:
    words = len(pieces(reply.text + reply.reasoning, None)) + 8 * len(reply.calls)
    prompt, output = reply.usage or (envelope.prompt_tokens, words)
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
