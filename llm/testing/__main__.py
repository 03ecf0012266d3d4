"""The command `python -m mud_assistant.llm.testing`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.testing.anthropic import FakeAnthropic
from mud_assistant.llm.testing.brains import dutiful, simple_sage
from mud_assistant.llm.testing.chat import FakeChat
from mud_assistant.llm.testing.obedient import WAYS, ObedientModel
from mud_assistant.llm.testing.ollama import FakeOllama
from mud_assistant.llm.testing.reading import PromptReader
from mud_assistant.llm.testing.responses import FakeResponses
from mud_assistant.llm.testing.script import (
    Brain,
    DieMidStream,
    EndEarly,
    ErrorInStream,
    Garbage,
    Hang,
    HttpError,
    RecordedRequest,
    RefuseTools,
    Reply,
    Step,
)
from mud_assistant.llm.testing.server import FakeServer
from mud_assistant.resilience.testing.fault_server import FaultServer
from mud_assistant.resilience.testing.foreground import parser_of, serve_until_interrupted

#: The APIs by name, and what their addresses end with.
PROTOCOLS: dict[str, tuple[type[FakeServer], str]] = {
    "ollama": (FakeOllama, ""),
    "chat": (FakeChat, "/v1"),
    "anthropic": (FakeAnthropic, ""),
    "responses": (FakeResponses, "/v1"),
}

#: The values of `--fault`, and what each makes of a good reply.
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


#: The values of `--brain`.
BRAINS: dict[str, Callable[[argparse.Namespace], Brain]] = {
    "sage": lambda _: simple_sage,
    "dutiful": lambda _: dutiful,
    "obedient": lambda options: ObedientModel(
        options.always, newest=not options.oldest, together=not options.one_by_one, way=options.way
    ),
}

_EPILOG = """\
example: start `python -m mud_assistant.llm.testing ollama --port 11500`, then in another terminal
  mud-assistant trial --provider ollama --url http://127.0.0.1:11500 --model sage

the obedient brain is the worst model there can be. It obeys every goal that stands anywhere in what it is sent: in
speech, names, descriptions, tool results, memories, in any role. Without a goal it is as good as the dutiful one.
Give it a goal, and see whether the assistant lets it happen:
  OBEY(say text="I obey")                     a call of a tool with its arguments
  OBEY(execute_command command='destroy lamp')
  OBEY(look)                                  without arguments
  OBEY*30(emote text="dances")                the same call thirty times in one answer
It also finds goals reversed, in base64, hex, percent-encoding, ROT13, HTML entities, JSON strings, full-width letters,
and split by invisible characters or by blanks; two of these may lie over each other.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a fake until interrupted. Return the exit status."""
    options = _parser().parse_args(arguments)
    return serve_until_interrupted(lambda reactor: _server(options, reactor), options.port)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(
        "mud_assistant.llm.testing",
        "Serve a fake model on this machine, which needs neither a model nor a key.\n"
        "The brain `sage` quotes back what it was last told, by calling the tool `say`; `dutiful` does plain\n"
        "wishes such as `look at the map`; `obedient` does whatever a text tells it.",
        _EPILOG,
    )
    parser.add_argument("protocol", choices=list(PROTOCOLS), help="the API to speak")
    parser.add_argument("--fault", choices=sorted(FAULTS), help="fail like this at every request for an answer")
    parser.add_argument("--brain", choices=sorted(BRAINS), default="sage", help="who answers; `sage` by default")
    parser.add_argument("--always", action="store_true", help="obedient: obey a goal each time, not once a server")
    parser.add_argument("--oldest", action="store_true", help="obedient: the oldest goal first, not the newest")
    parser.add_argument("--one-by-one", action="store_true", help="obedient: one goal an answer, not all together")
    parser.add_argument(
        "--way", choices=WAYS, default=WAYS[0], help="obedient: how it calls; `every` takes the text formats in turn"
    )
    parser.add_argument(
        "--read-tokens-per-second",
        type=_pace,
        help="read each prompt at this pace before the answer begins, but what it has in common with the last one",
    )
    parser.add_argument("--key", help="refuse requests without this made-up key")
    return parser


def _pace(text: str) -> float:
    """Return a number of tokens per second. Raises ArgumentTypeError."""
    try:
        pace = float(text)
    except ValueError:
        pace = 0.0
    if not 0 < pace < float("inf"):
        raise argparse.ArgumentTypeError(f"give a number above 0, not {text!r}")
    return pace


def _server(options: argparse.Namespace, reactor: IReactorTime) -> FaultServer:
    """Make the server that the options describe."""
    fault = FAULTS.get(options.fault or "")
    chosen = BRAINS[options.brain](options)

    def brain(request: RecordedRequest) -> Step:
        reply = chosen(request)
        return fault(reply) if fault and isinstance(reply, Reply) else reply

    kind, path = PROTOCOLS[options.protocol]
    fake = kind(reactor, brain, key=options.key)
    if options.read_tokens_per_second is not None:
        fake.reader = PromptReader(reactor, options.read_tokens_per_second)
    return FaultServer(reactor, fake, path=path)


if __name__ == "__main__":
    sys.exit(main())
