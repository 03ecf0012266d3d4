"""The command `python -m mud_assistant.tools.web.testing`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock

from mud_assistant.resilience.testing.fault_server import FaultServer
from mud_assistant.resilience.testing.foreground import parser_of, serve_until_interrupted
from mud_assistant.tools.web.testing import SERVICES
from mud_assistant.tools.web.testing.proxy import MODES, FakeProxy, SearchPages
from mud_assistant.tools.web.testing.service import hits_of, known

_PROXY = "proxy"

_EPILOG = """\
The address that is printed is the provider's url. A fake knows a few invented facts, so that an answer with one of them
was searched for: how tall the Meriden Lighthouse is, how many people live in Tarn Abbey, who invented the steam whisk,
the capital of Velmora, how high Mount Harrow is, who wrote The Glass Orchard. For any other query it finds seven pages
on example.org. With `--hits FILE` it finds the records of that file (a JSON list of title, url, snippet) every time.
example: start `python -m mud_assistant.tools.web.testing brave --port 11600 --key made-up --fault rate-limit`, then
  curl -i -H 'X-Subscription-Token: made-up' 'http://127.0.0.1:11600/web/search?q=well'

`proxy` is for the provider duckduckgo, whose library takes a proxy and no address: it stands for all search engines.
Its certificate is its own, so a client that checks certificates, as ours does, sees a network that fails.

ways to fail:
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a fake until interrupted; return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.fault and options.fault not in _faults(options.name):
        parser.error(f"{options.name} cannot fail with {options.fault!r}: {', '.join(_faults(options.name))}")
    try:
        options.found = hits_of(options.hits.read_text("utf-8")) if options.hits else known
    except (OSError, ValueError) as error:
        parser.error(f"--hits {options.hits}: {error}")
    return serve_until_interrupted(lambda reactor: _server(options, reactor), options.port)


def _parser() -> argparse.ArgumentParser:
    ways = "\n".join(f"  {name}: {', '.join(_faults(name))}" for name in [*SERVICES, _PROXY])
    parser = parser_of(
        "mud_assistant.tools.web.testing",
        "Serve a fake search service on this machine, which needs neither the web nor a key.",
        _EPILOG + ways,
    )
    parser.add_argument("name", choices=[*SERVICES, _PROXY], help="the service to be")
    parser.add_argument("--fault", help="fail like this at every request; the ways are below")
    parser.add_argument("--hits", type=Path, help="find what this JSON file lists")
    parser.add_argument("--key", help="refuse requests without this made-up key")
    return parser


def _faults(name: str) -> list[str]:
    """Return the ways in which a service can fail."""
    if name == _PROXY:
        return sorted(set(MODES) - {"answer"})
    return sorted(SERVICES[name](Clock()).faults())


def _server(options: argparse.Namespace, reactor: IReactorTime) -> FaultServer:
    if options.name == _PROXY:
        return FakeProxy(reactor, SearchPages(mode=options.fault or "answer"))
    service = SERVICES[options.name](reactor, options.found, options.key)
    if options.fault:
        service.fail(options.fault)
    return FaultServer(reactor, service)


if __name__ == "__main__":
    sys.exit(main())
