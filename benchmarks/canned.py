"""The fixed work that every subject does: what is asked, and the bytes that come back.

A request has 12 tools and a history; a JSON answer 1.5 KiB and 18 response headers, as OpenAI sends them; a stream 60
pieces of text, a tool call in 9, a finish, usage and an end mark: 72 events.
"""

from __future__ import annotations

import json
from typing import Any

MODEL = "stub-1"
KEY = "sk-benchmark"
QUESTION = "Anna says: What is that on the desk?"
#: What the tool of a step returns, and what the final answer says.
FOUND = "A brass astrolabe with a cracked rim. It has been mended with silver wire, long ago."
ANSWER = "It is a brass astrolabe, Anna. Somebody mended its rim with silver wire, and did it well."
ARGUMENTS = {"target": "astrolabe", "note": "the brass one on the desk, which Anna asked about"}
TEXT_PIECES = [f"word{number} of it, " for number in range(60)]
TEXT = "".join(TEXT_PIECES)
#: Bytes between which the arguments of the streamed call are cut.
_ARGUMENT_PIECES = 9
_HEADERS = [
    ("date", "Sat, 21 Nov 2026 10:00:00 GMT"), ("server", "cloudflare"), ("connection", "keep-alive"),
    ("openai-organization", "benchmark"), ("openai-processing-ms", "412"), ("openai-version", "2020-10-01"),
    ("x-request-id", "req_0123456789abcdef0123456789abcdef"), ("x-ratelimit-limit-requests", "1000000"),
    ("x-ratelimit-limit-tokens", "2000000000"), ("x-ratelimit-remaining-requests", "999999"),
    ("x-ratelimit-remaining-tokens", "1999990000"), ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "1ms"), ("strict-transport-security", "max-age=31536000; includeSubDomains"),
    ("x-content-type-options", "nosniff"), ("cf-ray", "8f0123456789abcd-FRA"), ("cf-cache-status", "DYNAMIC"),
]  # fmt: skip
_VERBS = ("inspect", "look", "who", "say", "emote", "whisper", "move", "recall", "remember", "wait", "give", "noop")


def tool(name: str) -> dict[str, Any]:
    """One tool as Chat Completions has it."""
    properties = {
        "target": {"type": "string", "description": "The thing or person meant, by the name the game shows."},
        "note": {"type": "string", "description": "Why, in a few words. Only you read it."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["target"], "additionalProperties": False}
    description = f"{name.capitalize()}: one verb of the game, done as your character would. It shows what came of it."
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [tool(name) for name in _VERBS]


def history(count: int) -> list[dict[str, Any]]:
    """So many messages: a system message, then talk in turns, the last one the question."""
    said = [
        {
            "role": "assistant" if number % 2 else "user",
            "content": f"Turn {number}: the rain has not stopped since noon, and the road to the mill is under water. "
            f"Nobody has come by for {number} hours, not even the miller's boy.",
        }
        for number in range(count - 2)
    ]
    front = {"role": "system", "content": "You are Sage, an old and kind scholar in a text game. You act by tools."}
    return [front, *said, {"role": "user", "content": QUESTION}]


def telling(token: str) -> str:
    """What is said where an answer has to name something: a first sentence, and six more."""
    return f"I heard you say {token} just now. " + "And this is the rest of a longer story. " * 6


def usage() -> dict[str, Any]:
    """The usage of every answer."""
    return {"prompt_tokens": 1800, "completion_tokens": 120, "total_tokens": 1920}


def chat_document(*, calls: bool) -> bytes:
    """A whole answer of Chat Completions: a call of `inspect`, or the final text, in 1.5 KiB."""
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else ANSWER, "refusal": None}
    if calls:
        function = {"name": "inspect", "arguments": json.dumps(ARGUMENTS)}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if calls else "stop"}
    document = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]}
    document |= {"usage": usage(), "service_tier": "default", "system_fingerprint": "fp_1"}
    return json.dumps({**document, "x_padding": "." * 900}).encode()


def chat_stream(*, calls: bool, pieces: list[str] | None = None) -> list[bytes]:
    """The events of a streamed answer: text, a call in pieces if `calls`, finish, usage, end mark."""
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in (TEXT_PIECES if pieces is None else pieces)]
    deltas[:1] = [{"role": "assistant", **deltas[0]}] if deltas else [{"role": "assistant", "content": ""}]
    if calls:
        deltas += call_deltas("inspect", json.dumps(ARGUMENTS), _ARGUMENT_PIECES)
    events = [chunk(delta) for delta in deltas]
    events.append(chunk({}, finish="tool_calls" if calls else "stop"))
    last = {**_chunk([]), "usage": usage()}
    return [*events, f"data: {json.dumps(last)}\n\n".encode(), b"data: [DONE]\n\n"]


def call_deltas(name: str, arguments: str, pieces: int) -> list[dict[str, Any]]:
    """A call in pieces: its name first, then its arguments."""
    size = -(-len(arguments) // (pieces - 1))
    cut = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    head = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [{"index": 0, "function": {"arguments": piece}} for piece in cut]
    return [{"tool_calls": [one]} for one in (head, *rest)]


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return f"data: {json.dumps(_chunk([choice]))}\n\n".encode()


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    one: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return {**one, "service_tier": "default", "system_fingerprint": "fp_1", "choices": choices}


def head(status: int, kind: str, length: int | None, more: tuple[tuple[str, str], ...] = ()) -> bytes:
    """A response head; without a length the body is chunked."""
    framing = ("transfer-encoding", "chunked") if length is None else ("content-length", str(length))
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in (*_HEADERS, ("content-type", kind)))]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in (framing, *more)), "", ""]).encode()
