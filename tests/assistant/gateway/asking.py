"""Asks a standing gateway in raw bytes: for what a vendor's client would hide."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol

from tests.assistant.gateway.http.reached import WireClient, request, turns, until
from tests.assistant.gateway.standing import Standing, reactor
from tests.assistant.page.http.visiting import Got, parse

#: Where each dialect is asked.
PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "ollama": "/api/chat",
}
QUESTION = "Where is the well?"
#: The provider that speaks each dialect; a request is forwarded to it. Those before another provider are translated.
SPEAKERS = {"chat": "local", "messages": "anthropic", "ollama": "ollama"}
OTHERS = {"chat": "anthropic", "responses": "local", "messages": "local", "ollama": "local"}
#: Dialects and providers, in both lanes.
LANES = [*SPEAKERS.items(), *OTHERS.items()]
#: The words in one event of a stream, what ends a stream that is whole, and the words of a whole answer.
_IN_EVENT: Mapping[str, Callable[[Any], str]] = {
    "chat": lambda event: "".join(one["delta"].get("content") or "" for one in event.get("choices", ())),
    "responses": lambda event: event["delta"] if event["type"] == "response.output_text.delta" else "",
    "messages": lambda event: event.get("delta", {}).get("text", ""),
    "ollama": lambda event: event.get("message", {}).get("content", ""),
}
#: What begins a stream, in the dialects that say so.
_BEGINS = {"responses": rb"event: response\.created", "messages": rb"event: message_start"}
_ENDS = {
    "chat": rb"data: \[DONE\]",
    "responses": rb"event: response\.completed",
    "messages": rb"event: message_stop",
    "ollama": rb'"done": ?true',
}
_IN_WHOLE: Mapping[str, Callable[[Any], str]] = {
    "chat": lambda said: said["choices"][0]["message"]["content"],
    "responses": lambda said: "".join(part["text"] for one in said["output"] for part in one["content"]),
    "messages": lambda said: "".join(one["text"] for one in said["content"]),
    "ollama": lambda said: said["message"]["content"],
}
#: How a dialect calls the tokens that were read and written.
_COUNTS = {"chat": ("prompt_tokens", "completion_tokens"), "ollama": ("prompt_eval_count", "eval_count")}


def body_of(dialect: str, *, streams: bool = True, **more: Any) -> dict[str, Any]:
    """A plain request of a dialect."""
    said: dict[str, Any] = {"model": "wise", "stream": streams}
    if dialect == "responses":
        said["input"] = QUESTION
    else:
        said["messages"] = [{"role": "user", "content": QUESTION}]
    if dialect == "messages":
        said["max_tokens"] = 100
    return {**said, **more}


def post(path: str, body: Mapping[str, Any] | bytes, **headers: str) -> bytes:
    """The bytes of a request, on a connection that stays open."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return request("POST", path, {"content-type": "application/json", **named}, raw)


async def connect(standing: Standing, data: bytes = b"") -> WireClient:
    """Connect to the gateway and send these bytes."""
    endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", int(standing.address.rpartition(":")[2]))
    client: WireClient = await connectProtocol(endpoint, WireClient(reactor))
    client.send(data)
    return client


async def ask(standing: Standing, path: str, body: Mapping[str, Any] | bytes, **headers: str) -> Got:
    """Send one request and return the whole answer, of which the body is without its chunks."""
    client = await connect(standing, post(path, body, connection="close", **headers))
    return whole(await client.closed())


async def get(standing: Standing, path: str, **headers: str) -> Got:
    """Ask for what is at a path."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    client = await connect(standing, request("GET", path, {"connection": "close", **named}))
    return whole(await client.closed())


def whole(raw: bytes) -> Got:
    """Return an answer, of which the body is without its chunks."""
    got = parse(raw)
    if got.headers.get("transfer-encoding") != "chunked":
        return got
    return Got(got.status, got.headers, unchunked(got.body))


def unchunked(body: bytes) -> bytes:
    """Return a body without its chunks; the last one may be missing."""
    pieces, rest = [], body
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        pieces.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return b"".join(pieces)


def events(got: Got) -> list[dict[str, Any]]:
    """Return the records of a stream, of server-sent events or of lines."""
    lines = [line.removeprefix(b"data: ") for line in got.body.split(b"\n") if line.startswith((b"data: {", b"{"))]
    return [orjson.loads(line) for line in lines]


def said_in_stream(dialect: str, got: Got) -> tuple[str, int, int]:
    """Return the words of a stream, and how often it says that it begins and that it is whole."""
    begins = len(re.findall(_BEGINS[dialect], got.body)) if dialect in _BEGINS else 1
    return "".join(map(_IN_EVENT[dialect], events(got))), begins, len(re.findall(_ENDS[dialect], got.body))


def said_in_whole(dialect: str, got: Got) -> tuple[str, tuple[int, int]]:
    """Return the words of a whole answer, and the tokens that were read and written."""
    said = orjson.loads(got.body)
    usage = said if dialect == "ollama" else said["usage"]
    read, written = _COUNTS.get(dialect, ("input_tokens", "output_tokens"))
    return _IN_WHOLE[dialect](said), (usage[read], usage[written])


async def settle(standing: Standing) -> None:
    """Wait until nothing is answered any more."""
    await until(reactor, lambda: not len(standing.gateway._listener))
    await turns(reactor, 3)
