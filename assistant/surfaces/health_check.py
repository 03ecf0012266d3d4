"""Runs `mud-assistant health`: asks the programs on this machine whether they work. For containers and monitors.

It reads no settings and loads nothing else of ours, since a container starts it twice a minute.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

HEALTH_EXAMPLES = """  mud-assistant health
      does the page of serve or a worker, or the gateway, answer on its usual port?
  mud-assistant health --port 8411 --ready
      can the worker whose page is at 8411 write its journal and reach a model?
  mud-assistant health --port 4001 --path /assistants
      the same for a game of Evennia"""

#: The usual ports of the page and of the gateway.
USUAL_PORTS = (8410, 8420)
_HOST = "127.0.0.1"
#: Seconds for the connection, and for each read of the answer.
_SECONDS = 5.0
#: The first line of an answer is no longer.
_LINE_BYTES = 256
_OK, _WRONG = 0, 1
_HTTP_OK = 200


# Any: argparse has no public name for the class.
def add_health(commands: Any, port: Callable[[str], int]) -> None:
    """Add the command to the parsers of commands. `port` reads the number of a port."""
    health = commands.add_parser(
        "health",
        help="say whether a program that runs on this machine is well, for containers and monitors",
        description="Asks the page of `serve` or `worker` and the gateway for /healthz, at 127.0.0.1. Of the usual "
        "ports one must answer, and each that does must be well; of the ports that are named, all must.",
        epilog=f"examples:\n{HEALTH_EXAMPLES}\n\nExit status: 0 when all is well, else 1.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    health.add_argument(
        "--port",
        dest="ports",
        action="append",
        type=port,
        metavar="N",
        help="ask there; may be repeated (default: 8410 and 8420)",
    )
    health.add_argument(
        "--path", default="", metavar="PATH", help="what comes before /healthz; /assistants in a game of Evennia"
    )
    health.add_argument(
        "--ready",
        action="store_true",
        help="ask for /readyz: whether the journal can be written and a model be reached, and not only whether it runs",
    )


def run_health(tell: Callable[[str], object], options: argparse.Namespace, _: object) -> int:
    """Tell what each port answers, and return the exit status. Blocks, for some seconds a port at most."""
    path = f"{options.path.rstrip('/')}/{'readyz' if options.ready else 'healthz'}"
    statuses = {port: _status(port, path) for port in options.ports or USUAL_PORTS}
    answered = {port: status for port, status in statuses.items() if status is not None}
    asked = statuses if options.ports or not answered else answered
    for port, status in asked.items():
        tell(f"http://{_HOST}:{port}{path} {'does not answer' if status is None else f'answers {status}'}")
    return _OK if all(status == _HTTP_OK for status in asked.values()) else _WRONG


def _status(port: int, path: str) -> int | None:
    """Return the status with which a port answers, or None when it does not."""
    request = f"GET {path} HTTP/1.1\r\nHost: {_HOST}:{port}\r\nConnection: close\r\n\r\n"
    with suppress(OSError), socket.create_connection((_HOST, port), _SECONDS) as connection:
        connection.sendall(request.encode())
        with connection.makefile("rb") as answer:
            _, status, *_ = [*answer.readline(_LINE_BYTES).split(), b"", b""]
            return int(status) if status.isdigit() else None
    return None
