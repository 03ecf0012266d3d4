"""The one command line of the test servers: each command serves in a terminal until it is interrupted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from mud_assistant.resilience.testing.fault_server import FaultServer, serving

_MAX_PORT = 65535


def parser_of(module: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """Return the parser of `python -m module`, with what every test server takes."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=_port, default=0, help="the port to listen on; 0, the default, takes a free one")
    return parser


def typed(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a type of an argument. The sentence of a ValueError is shown as it is."""

    def read_typed(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read_typed


def serve_until_interrupted(make: Callable[[IReactorTime], FaultServer], port: int) -> int:
    """Serve, print the address, and return the exit status: 0 after an interruption, 1 with a cause on stderr.

    Starts the reactor: for the main functions of commands only.
    """
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (a composition root)

    failures: list[str] = []

    async def work() -> None:
        async with serving(make(reactor), port) as server:
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            await Deferred()

    def ended(failure: Failure) -> None:
        if failure.check(CancelledError) is None:
            failures.append(failure.getErrorMessage())
            reactor.callWhenRunning(reactor.stop)

    def stop() -> Deferred[None]:
        working.cancel()
        return working

    working = Deferred.fromCoroutine(work()).addErrback(ended)
    reactor.addSystemEventTrigger("before", "shutdown", stop)
    reactor.run()
    sys.stderr.writelines(f"cannot serve: {failure}\n" for failure in failures)
    return 1 if failures else 0


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > _MAX_PORT:
        raise argparse.ArgumentTypeError(f"type a port from 0 to {_MAX_PORT}, not {text!r}")
    return int(text)
