"""A model server of canned bytes, in its own process and cheap enough not to be what is measured.

    python -m benchmarks.stub PORTS SECONDS [CERTIFICATE KEY]     prints its ports as a line of JSON

Chat Completions, Anthropic and Ollama, told apart by the end of the path. What comes before it says how to answer:

    /whole        one document; without it what the dialect calls a stream, all in one write
    /drip=5       a stream with so many milliseconds between its events; more than one event at a time with /join=4
    /wait=500     so many milliseconds before anything
    /call         a call of `inspect`, until the last message is a tool's result; /plain never calls
    /talk=N       a call of `say` that repeats the N-th last "#token" of the request
    /shape/NAME   one of the answers of `canned_shapes.py`
    /hang         nothing, ever;   /fail  503;   /throttle=N  429 for all but one in N, with Retry-After
    /arrivals     (GET) the monotonic times at which requests arrived, and forgets them
    /prompts      (GET) the bodies since `/prompts` was asked last, for a look at their prefixes

A "~" stands for "=" where an address may not hold one. It
ends by itself after SECONDS, and when its parent closes its standard input.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from benchmarks.canned import MODEL, call_deltas, chat_document, chat_stream, chunk, head, telling
from benchmarks.canned_others import anthropic_document, anthropic_stream, ollama_document, ollama_stream
from benchmarks.canned_shapes import Shape, shape_of

_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_TOKEN = re.compile(rb"#\w+")
#: Request bodies kept for `/prompts`.
KEPT = 64
#: Seconds between two writes of an answer that comes event by event, so that each is read by itself.
EACH_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Wish:
    """How a path asks to be answered."""

    dialect: str
    words: frozenset[str]
    numbers: dict[str, float]

    @property
    def kind(self) -> str:
        """The content type of the answer."""
        if "whole" in self.words:
            return "application/json"
        return "application/x-ndjson" if self.dialect == "ollama" else "text/event-stream"


@dataclass(slots=True)
class Seen:
    """What the server remembers of its requests."""

    arrivals: list[float] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    keeps: bool = False
    throttled: int = 0


@lru_cache(maxsize=256)
def wish_of(path: str) -> Wish:
    """The wish in a path."""
    dialect = "anthropic" if path.endswith("/messages") else "ollama" if path.endswith("/api/chat") else "chat"
    parts = path.replace("~", "=").split("/")
    numbers = {name: float(value) for name, _, value in (part.partition("=") for part in parts) if value}
    return Wish(dialect, frozenset(part for part in parts if "=" not in part), numbers)


@lru_cache(maxsize=64)
def answer(dialect: str, *, whole: bool, calls: bool) -> tuple[bytes, ...]:
    """The pieces of an answer."""
    documents = {"chat": chat_document, "anthropic": anthropic_document, "ollama": ollama_document}
    streams = {"chat": chat_stream, "anthropic": anthropic_stream, "ollama": ollama_stream}
    return (documents[dialect](calls=calls),) if whole else tuple(streams[dialect](calls=calls))


def talk(body: bytes, back: int) -> tuple[bytes, ...]:
    """A streamed call of `say` that names a token of the request, told in a first and a second sentence."""
    tokens = _TOKEN.findall(body[body.rfind(b'"messages"') :])
    token = tokens[-back].decode() if len(tokens) >= back else "#none"
    said = json.dumps({"text": telling(token)})
    deltas = call_deltas("say", said, 40)
    last = [chunk({}, finish="tool_calls"), b"data: [DONE]\n\n"]
    return (chunk({"role": "assistant", "content": None}), *(chunk(delta) for delta in deltas), *last)


def is_answered(body: bytes) -> bool:
    """Whether the last message of the request is a tool's result."""
    at = body.rfind(b'"role"')
    return b"tool" in body[at + 6 : at + 20] or b"tool_result" in body[at:]


class Stub(asyncio.Protocol):
    """One connection."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._held = b""
        self._need = 0
        self._work: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop what still goes on for it."""
        for task in self._work:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._held += data
        while len(self._held) >= self._need:
            end = self._held.find(b"\r\n\r\n")
            if end < 0:
                return
            found = _LENGTH.search(self._held, 0, end)
            self._need = end + 4 + (int(found[1]) if found else 0)
            if len(self._held) < self._need:
                return
            request, self._held = self._held[: self._need], self._held[self._need :]
            self._need = 0
            self._answer(request[: request.find(b" HTTP")].decode().split()[-1], request[end + 4 :])
            if not self._held:
                return

    def _answer(self, path: str, body: bytes) -> None:
        wish = wish_of(path)
        if path.endswith("/models"):
            return self._tell({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        if "arrivals" in wish.words or "prompts" in wish.words:
            return self._told(wish)
        self._seen.arrivals.append(time.monotonic())  # noqa: TID251  (composition root)
        if self._seen.keeps and len(self._seen.bodies) < KEPT:
            self._seen.bodies.append(body)
        if "hang" in wish.words:
            return None
        if "shape" in wish.words:
            shape = shape_of(path.split("/shape/")[1].split("/", maxsplit=1)[0])
            return self._work_on(self._shaped(shape))
        if "wait" in wish.numbers or "drip" in wish.numbers:
            return self._work_on(self._slowly(wish, body))
        self._transport.write(self._whole_response(wish, body))
        return None

    def _work_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Go on with it until the connection is lost."""
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _shaped(self, shape: Shape) -> None:
        for write in shape.writes:
            self._transport.write(write)
            if shape.drips:
                await asyncio.sleep(EACH_SECONDS)
        if shape.closes:
            self._transport.close()

    def _told(self, wish: Wish) -> None:
        """What the server saw, for the benchmark itself."""
        if "prompts" in wish.words:
            self._seen.keeps = True
            told: object = [body.decode("utf-8", "replace") for body in self._seen.bodies]
            self._seen.bodies = []
        else:
            told, self._seen.arrivals = self._seen.arrivals, []
        self._tell(told)

    def _tell(self, told: object) -> None:
        data = json.dumps(told).encode()
        self._transport.write(head(200, "application/json", len(data)) + data)

    def _refusal(self, wish: Wish) -> bytes:
        """A refusal if one is wished for, else nothing."""
        if "fail" in wish.words:
            return _small(503, "overloaded")
        if "throttle" in wish.numbers:
            self._seen.throttled += 1
            if self._seen.throttled % int(wish.numbers["throttle"]):
                return _small(429, "slow down", (("retry-after", "1"),))
        return b""

    def _whole_response(self, wish: Wish, body: bytes) -> bytes:
        if refusal := self._refusal(wish):
            return refusal
        pieces = self._pieces(wish, body)
        if "whole" in wish.words:
            return head(200, wish.kind, len(pieces[0])) + pieces[0]
        return head(200, wish.kind, None) + b"".join(map(_chunked, pieces)) + b"0\r\n\r\n"

    async def _slowly(self, wish: Wish, body: bytes) -> None:
        await asyncio.sleep(wish.numbers.get("wait", 0) / 1000)
        if "drip" not in wish.numbers or (refusal := self._refusal(wish)):
            self._transport.write(self._whole_response(wish, body) if "drip" not in wish.numbers else refusal)
            return
        pause, join = wish.numbers["drip"] / 1000, int(wish.numbers.get("join", 1))
        pieces = self._pieces(wish, body)
        self._transport.write(head(200, wish.kind, None))
        for at in range(0, len(pieces), join):
            await asyncio.sleep(pause)
            self._transport.write(_chunked(b"".join(pieces[at : at + join])))
        self._transport.write(b"0\r\n\r\n")

    def _pieces(self, wish: Wish, body: bytes) -> tuple[bytes, ...]:
        if "talk" in wish.numbers:
            return talk(body, int(wish.numbers["talk"]))
        calls = "plain" not in wish.words and ("call" not in wish.words or not is_answered(body)) and b'"tools"' in body
        return answer(wish.dialect, whole="whole" in wish.words, calls=calls)


def _chunked(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _small(status: int, why: str, more: tuple[tuple[str, str], ...] = ()) -> bytes:
    data = json.dumps({"error": {"message": why, "type": why, "code": None}}).encode()
    return head(status, "application/json", len(data), more) + data


async def main() -> None:
    """Serve until the time is over or the parent is gone."""
    count, seconds, *secret = sys.argv[1:]
    context = None
    if secret:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*secret)
    loop = asyncio.get_running_loop()
    ports = []
    for _ in range(int(count)):
        seen = Seen()
        server = await loop.create_server(lambda seen=seen: Stub(seen), "127.0.0.1", 0, ssl=context, backlog=1024)
        ports.append(server.sockets[0].getsockname()[1])
    print(json.dumps(ports), flush=True)
    over = asyncio.Event()
    loop.add_reader(sys.stdin, over.set)
    try:
        await asyncio.wait_for(over.wait(), float(seconds))
    except TimeoutError:
        return


if __name__ == "__main__":
    asyncio.run(main())
