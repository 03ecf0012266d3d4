"""The same answers as `canned.py`, in the dialects of Anthropic and Ollama."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.canned import ANSWER, ARGUMENTS, MODEL, TEXT_PIECES

_USAGE = {"input_tokens": 1800, "output_tokens": 120}


def anthropic_document(*, calls: bool) -> bytes:
    """A whole message of Anthropic's."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "inspect", "input": ARGUMENTS}
    message = {**_message(), "content": [call if calls else {"type": "text", "text": ANSWER}], "usage": _USAGE}
    return json.dumps({**message, "stop_reason": "tool_use" if calls else "end_turn"}).encode()


def anthropic_stream(*, calls: bool) -> list[bytes]:
    """A streamed message of Anthropic's: text, and a call in pieces if `calls`."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**_message(), "usage": _USAGE}}]
    events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    events += [_delta(0, {"type": "text_delta", "text": piece}) for piece in TEXT_PIECES]
    events.append({"type": "content_block_stop", "index": 0})
    if calls:
        block = {"type": "tool_use", "id": "toolu_1", "name": "inspect", "input": {}}
        events.append({"type": "content_block_start", "index": 1, "content_block": block})
        text = json.dumps(ARGUMENTS)
        cut = [text[at : at + 12] for at in range(0, len(text), 12)]
        events += [_delta(1, {"type": "input_json_delta", "partial_json": piece}) for piece in cut]
        events.append({"type": "content_block_stop", "index": 1})
    reason = "tool_use" if calls else "end_turn"
    events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 120}})
    events.append({"type": "message_stop"})
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


def ollama_document(*, calls: bool) -> bytes:
    """A whole answer of Ollama's."""
    return json.dumps({**_record("" if calls else ANSWER, calls=calls), **_done()}).encode()


def ollama_stream(*, calls: bool) -> list[bytes]:
    """A streamed answer of Ollama's, a record a line."""
    records = [_record(piece, calls=False) for piece in TEXT_PIECES]
    records += [_record("", calls=True)] if calls else []
    records.append({**_record("", calls=False), **_done()})
    return [json.dumps(record).encode() + b"\n" for record in records]


def _message() -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _record(text: str, *, calls: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [{"function": {"name": "inspect", "arguments": ARGUMENTS}}]
    return {"model": MODEL, "created_at": "2026-11-21T10:00:00Z", "message": message, "done": False}


def _done() -> dict[str, Any]:
    return {"done": True, "done_reason": "stop", "prompt_eval_count": 1800, "eval_count": 120, "total_duration": 1}
