"""The gateway: CPU of its process for a request, forwarded and translated, beside the gateways that can be started."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from benchmarks.children import stub
from benchmarks.figures import Figure, percentile, ratio, short
from benchmarks.gateway_load import Asked, connected, hang_up, post, whole_json, whole_stream
from benchmarks.gateways import PATHS, Running, present, running
from benchmarks.paired import compare

PROMPT = "The rain has not stopped since noon, and the road to the mill is under water. " * 25
#: CPU seconds of a turn, and rounds: what a turn of nginx is made of are hundreds of requests.
TURN, ROUNDS = 0.06, {True: 15, False: 5}
#: What is judged: the figure's name, the path and the model, and the limit in ms of CPU.
JUDGED = (
    ("forwarded, JSON", "/v1/chat/completions", "whole", 1.0),
    ("forwarded, stream of 63 events", "/v1/chat/completions", "stream", 2.0),
    ("messages to chat, JSON", "/v1/messages", "whole", 2.5),
    ("messages to chat, stream of 63 events", "/v1/messages", "stream", 6.0),
    ("responses to chat, JSON", "/v1/responses", "whole", 2.5),
    ("responses to chat, stream of 63 events", "/v1/responses", "stream", 6.0),
)
#: Those that speak only the dialect of the server behind them.
_PASSING = ("nginx", "bare Twisted")


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """CPU for each kind of request, by turns; then memory, the time until it is ready, and the first byte."""
    found: list[Figure] = []
    async with stub(reactor) as (url,), AsyncExitStack() as stack:
        compiled = Path(stack.enter_context(TemporaryDirectory()))
        async with running(reactor, "ours", url, compiled):
            pass  # the byte code is there now
        gateways = {name: await stack.enter_async_context(running(reactor, name, url, compiled)) for name in present()}
        ours = gateways["ours"]
        note = f"{ours.ready_seconds:.2g} s of time"
        found.append(Figure("gateway", "CPU until it is ready", ours.ready_cpu_seconds, "s", 1.0, note=note))
        for name, path, model, limit in JUDGED:
            asked = {
                each: _asked(reactor, gateway, path, model)
                for each, gateway in gateways.items()
                if path == "/v1/chat/completions" or each not in _PASSING
            }
            asked = {each: one for each, one in asked.items() if each == "ours" or await one.answers()}
            rounds = await compare(asked, ROUNDS[full], TURN)
            found.append(ratio("gateway", name, rounds.each["ours"], limit, unit="ms CPU", note=rounds.told()))
        found.append(await _first_byte(reactor, gateways, url, 200 if full else 60))
        memory = {name: gateway.resident() / 2**20 for name, gateway in gateways.items()}
    note = ", ".join(f"{name} {short(size)} MB" for name, size in memory.items())
    return [*found, Figure("", "memory of the gateway's process after that", memory["ours"], "MB", note=note)]


def body_of(path: str, model: str, *, streams: bool) -> bytes:
    """A request of 2 KiB in the dialect of the path."""
    asked: dict[str, Any] = {"model": model, "stream": streams}
    talk = [{"role": "user", "content": PROMPT}]
    match path:
        case "/v1/messages":
            asked |= {"max_tokens": 500, "system": "You are Sage.", "messages": talk}
        case "/v1/responses":
            asked |= {"input": talk, "instructions": "You are Sage.", "store": False}
        case _:
            asked |= {"messages": [{"role": "system", "content": "You are Sage."}, *talk]}
            if streams and path.endswith("/completions"):
                asked |= {"stream_options": {"include_usage": True}}
    return orjson.dumps(asked)


def _asked(reactor: Any, gateway: Running, path: str, model: str) -> Asked:
    streams = model != "whole"
    where = PATHS[model] + path.removeprefix("/v1") if gateway.name in _PASSING else path
    request = post(gateway.port, where, body_of(path, model, streams=streams), gateway.key)
    return Asked(reactor, gateway, request, whole_stream if streams else whole_json)


async def _first_byte(reactor: Any, gateways: Mapping[str, Running], url: str, count: int) -> Figure:
    """The milliseconds by which the first byte of a stream is later than without a gateway, the medians."""
    body, direct = body_of("/v1/chat/completions", "soon", streams=True), int(url.rpartition(":")[2])
    straight = f"{PATHS['soon']}/chat/completions"
    asked = {"direct": (direct, post(direct, straight, body))}
    for name, gateway in gateways.items():
        path = straight if name in _PASSING else "/v1/chat/completions"
        asked[name] = (gateway.port, post(gateway.port, path, body, gateway.key))
    waits: Mapping[str, list[float]] = {name: [] for name in asked}
    wires = {name: (await connected(reactor, port, 1, whole_stream))[0] for name, (port, _) in asked.items()}
    for _ in range(count):
        for name, (_, request) in asked.items():
            began = time.perf_counter()
            await wires[name].ask(request)
            waits[name].append(1000 * (wires[name].first_byte_at - began))
    hang_up(list(wires.values()))
    base = percentile(waits["direct"], 0.5)
    later = {name: percentile(waits[name], 0.5) - base for name in gateways}
    note = ", ".join(f"{name} {short(wait)}" for name, wait in later.items())
    note += f"; p95 {short(percentile(waits['ours'], 0.95) - base)}; the way of the request is in it"
    return Figure("gateway", "first byte after the server's, median", later["ours"], "ms", 5.0, note=note)
