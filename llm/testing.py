"""Fake model servers for tests, benches and people: `python -m llm.testing --help` serves one.

A fake speaks its protocol over real HTTP, takes its answers from a script, records what it is asked, and can fail in
every way a real server was seen to fail.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from llm.fakes.anthropic import FakeAnthropic
from llm.fakes.anthropic_wire import AnthropicReply, Search
from llm.fakes.chat import FakeChat
from llm.fakes.ollama import FakeOllama, OllamaModel
from llm.fakes.sage import simple_sage
from llm.fakes.script import (
    Brain,
    Call,
    DieMidStream,
    EndEarly,
    ErrorInStream,
    Garbage,
    Hang,
    HttpError,
    Raw,
    RecordedRequest,
    RefuseTools,
    Reply,
    Script,
    Step,
)
from llm.fakes.server import FakeServer
from llm.fakes.serving import serve
from resilience.foreground import serve_until_interrupted

__all__ = [
    "AnthropicReply",
    "Brain",
    "Call",
    "DieMidStream",
    "EndEarly",
    "ErrorInStream",
    "FakeAnthropic",
    "FakeChat",
    "FakeOllama",
    "FakeServer",
    "Garbage",
    "Hang",
    "HttpError",
    "OllamaModel",
    "Raw",
    "RecordedRequest",
    "RefuseTools",
    "Reply",
    "Script",
    "Search",
    "Step",
    "main",
    "serve",
    "simple_sage",
]

#: What `--fault` can be, and what it makes of a good reply.
FAULTS: dict[str, Callable[[Reply], Step]] = {
    "die": lambda reply: DieMidStream(2, reply),
    "end-early": lambda reply: EndEarly(2, reply),
    "error-in-stream": lambda reply: ErrorInStream(reply=reply),
    "garbage": lambda _reply: Garbage(),
    "hang-body": lambda reply: Hang("body", reply=reply),
    "hang-headers": lambda reply: Hang("headers", reply=reply),
    "hang-mid": lambda reply: Hang("mid", reply=reply),
    "overloaded": lambda _reply: HttpError(503, "server overloaded, please try again", {"Retry-After": "2"}),
    "rate-limit": lambda _reply: HttpError(429, "too many requests", {"Retry-After": "5"}),
    "refuse-tools": RefuseTools,
    "server-error": lambda _reply: HttpError(500),
    "slow": lambda reply: replace(reply, delay_seconds=3.0, piece_seconds=0.5),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a fake until interrupted; the exit status."""
    options = _parser().parse_args(arguments)
    return serve_until_interrupted(lambda reactor: _serve_for_ever(options, reactor))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m llm.testing",
        description="Serve a fake model on this machine. It quotes back what it was last told, by calling the tool"
        " `say`, and needs neither a model nor a key.",
        epilog="Example: start `python -m llm.testing ollama --port 11500`, then in another terminal"
        " `mud-assistant trial --provider ollama --url http://127.0.0.1:11500 --model sage`.",
    )
    parser.add_argument("protocol", choices=["ollama", "chat", "anthropic"], help="the API to speak")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on; 0, the default, takes a free one")
    parser.add_argument("--fault", choices=sorted(FAULTS), help="fail like this at every request for an answer")
    parser.add_argument("--key", help="refuse requests without this made-up key")
    return parser


def _fake(options: argparse.Namespace, clock: IReactorTime) -> FakeServer:
    """The server that the options ask for."""
    fault = FAULTS.get(options.fault or "")

    def brain(request: RecordedRequest) -> Step:
        reply = simple_sage(request)
        return fault(reply) if fault else reply

    if options.protocol == "ollama":
        return FakeOllama(clock, brain, key=options.key)
    if options.protocol == "anthropic":
        return FakeAnthropic(clock, brain, options.key)
    return FakeChat(clock, brain, options.key)


async def _serve_for_ever(options: argparse.Namespace, reactor: IReactorTime) -> None:
    async with serve(_fake(options, reactor), reactor, options.port) as url:
        base = f"{url}/v1" if options.protocol == "chat" else url
        sys.stdout.write(f"{base}\n")
        sys.stdout.flush()
        await Deferred()


if __name__ == "__main__":
    sys.exit(main())
