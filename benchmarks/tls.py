"""Goal 10: TLS contexts per origin, HTTPS against plain HTTP, and the cold start of 100 callers over HTTPS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from OpenSSL import SSL
from twisted.internet.ssl import Certificate, optionsForClientTLS, trustRootFromCertificates

from benchmarks.blocks import Blocks
from benchmarks.calls import PATHS
from benchmarks.children import https_stub, stub
from benchmarks.figures import Figure, ratio
from benchmarks.paired import ROUNDS, compare, over
from benchmarks.product import Calls
from mud_assistant.assistant.starting import settle_heap

CALLERS = 100
#: How the cold start is asked for: answers after half a second.
SLOW = "/whole/plain/wait=500/v1"


@contextmanager
def contexts_used() -> Iterator[list[SSL.Context]]:
    """The TLS contexts that connections begun in the block were made with, each once.

    Twisted asks OpenSSL for its ciphers once in a process by a connection of its own, which is got over with before.
    """
    optionsForClientTLS("localhost")
    used: list[SSL.Context] = []
    plain = SSL.Connection.__init__

    def counting(connection: SSL.Connection, context: SSL.Context, *arguments: Any) -> None:
        if not any(context is one for one in used):
            used.append(context)
        plain(connection, context, *arguments)

    SSL.Connection.__init__ = counting  # type: ignore[method-assign,assignment]
    try:
        yield used
    finally:
        SSL.Connection.__init__ = plain  # type: ignore[method-assign]


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Contexts are counted over all that is done here."""
    async with stub(reactor) as (plain,), https_stub(reactor) as (secure, made):
        roots = trustRootFromCertificates([Certificate.loadPEM(made.public)])
        with contexts_used() as contexts:
            https = Calls(reactor, secure + PATHS["json"], "json", trust_root=roots)
            http = Calls(reactor, plain + PATHS["json"], "json")
            judged = [over("https", "http")]
            rounds = await compare({"https": https, "http": http}, ROUNDS if full else 12, judged=judged)
        cold = Calls(reactor, secure + SLOW, "json", callers=CALLERS, trust_root=roots)
        settle_heap()
        with Blocks(reactor) as blocks:
            await cold.volley()
        with Blocks(reactor) as warm:
            await cold.volley()
        await cold.close()
    more = f"p99 {blocks.at(0.99):.1f} ms; with connections there already {warm.longest:.1f} ms"
    return [
        Figure("10", "TLS contexts of the connections to an origin", len(contexts), "", 1),
        ratio("10", "HTTPS call / plain call", rounds.ratios("https", "http"), 1.6, note=rounds.told()),
        Figure("lag", "100 callers over HTTPS, cold: longest block", blocks.longest, "ms", 50.0, note=more),
    ]
