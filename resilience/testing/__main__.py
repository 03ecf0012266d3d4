"""The command `python -m mud_assistant.resilience.testing`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from random import Random

from twisted.internet.interfaces import IReactorTime

from mud_assistant.resilience.testing.faults import PASS, Record, always, every
from mud_assistant.resilience.testing.foreground import parser_of, serve_until_interrupted, typed
from mud_assistant.resilience.testing.names import describe, fault_named, listing
from mud_assistant.resilience.testing.proxy import FaultProxy, upstream_of

_EPILOG = """examples:
  python -m mud_assistant.resilience.testing http://127.0.0.1:11434 --fault throttled=10 --every 3
      every third request is told to wait 10 seconds, all others reach Ollama
  python -m mud_assistant.resilience.testing http://127.0.0.1:8080/v1 --fault hang --fault reset=2000
      requests hang and are reset in mid-answer, in turn
  python -m mud_assistant.resilience.testing http://127.0.0.1:8080/v1 --fault latency=0.5,0.2+bandwidth=2000
      all answers are late and slow
Then give the game, or `mud-assistant trial --url`, the address that is printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a proxy until interrupted. Return the exit status: 2 when the command line cannot be understood."""
    options = _parser().parse_args(arguments)
    return serve_until_interrupted(lambda reactor: _proxy(options, reactor), options.port)


class _List(argparse.Action):
    """Prints the faults and exits, whatever else is on the command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        sys.stdout.write(listing())
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(
        "mud_assistant.resilience.testing",
        "Stand between a game and its model server, and misbehave. The proxy's address is printed first,"
        " then a line for each request with what befell it. Ctrl-C ends it.",
        _EPILOG,
    )
    parser.add_argument(
        "upstream", metavar="URL", type=typed(upstream_of), help="the model server's address, with http://"
    )
    parser.add_argument(
        "--fault",
        metavar="NAME[=VALUE]",
        type=typed(fault_named),
        action="append",
        default=[],
        help="what goes wrong; several take turns, `+` joins some into one. Without any, all requests pass",
    )
    parser.add_argument("--every", metavar="N", type=_count, default=1, help="only each N-th request (default: each)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another sequence of chance, for jitter")
    parser.add_argument("--list", action=_List, nargs=0, help="name all faults and leave")
    return parser


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"type 1 for each request, 3 for each third one, not {text!r}")
    return int(text)


def _tell(record: Record) -> None:
    """Print what happened to a request."""
    error = f", but {record.error}" if record.error else ""
    sys.stderr.write(f"request {record.index}: {describe(record.fault)}{error}\n")
    sys.stderr.flush()


def _proxy(options: argparse.Namespace, reactor: IReactorTime) -> FaultProxy:
    plan = every(options.every, options.fault) if options.fault else always(PASS)
    chance = Random(options.seed)  # noqa: S311  (no secret)
    host, port, path = options.upstream
    return FaultProxy(reactor, host, port, plan, chance, path=path, on_request=_tell)


if __name__ == "__main__":
    sys.exit(main())
