"""What calls leave behind when every way to fail is among them: descriptors, timers and threads grown, TLS contexts.

Each call goes through the product's client: over plain HTTP past a proxy that lays a fault on every second request,
and some over HTTPS. Some are cancelled by their caller, and some have a deadline that is too near. The same is done
twice, first with a few to warm up, and everything is closed both times. What is there more the second time has grown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.internet.ssl import Certificate, trustRootFromCertificates
from twisted.internet.task import deferLater

from benchmarks.canned import KEY, MODEL
from benchmarks.children import https_stub, stub
from benchmarks.figures import Figure
from benchmarks.held import Held, grown, held
from benchmarks.product import messages, specs
from benchmarks.tls import contexts_used
from mud_assistant.llm import Capabilities, LLMError, LLMResponse, UnifiedLLMClient, get_provider
from mud_assistant.resilience import (
    BreakerConfig,
    Deadline,
    HttpExchange,
    InFlightConfig,
    Ledger,
    Limits,
    Pipeline,
    RetryConfig,
    UpstreamConfig,
)
from mud_assistant.resilience.testing import (
    HalfEvent,
    Hang,
    HangAfter,
    HtmlPage,
    HugeHeader,
    Refuse,
    Reset,
    Slicer,
    Truncate,
    every,
    overloaded,
    proxied,
    server_error,
    throttled,
)

CALLS = {True: 100_000, False: 2_000}
WARM = 400
CALLERS = 40
#: One call in so many goes over HTTPS, is cancelled by its caller, has a deadline that is too near.
SECURE, CANCELLED, HASTY = 10, 7, 11
#: Seconds after which those are cancelled or out of time: some before the head, some within the body.
SOON = (0.0, 0.004, 0.02)
#: A stream that takes a moment, so that cancelling finds it on its way.
PATH = "/drip=1/join=12/v1"
#: Faults of the connection act on an answer of 24 KiB: before it, in its head, in its body.
FAULTS = (
    throttled(0),
    server_error(),
    overloaded(),
    Truncate(100),
    Truncate(6000),
    Reset(),
    Reset(6000),
    Refuse(),
    Hang(),
    HangAfter(6000),
    HalfEvent(),
    HtmlPage(),
    HugeHeader(200_000),
    Slicer(700),
)
LIMITS = Limits(connect_seconds=2.0, first_byte_seconds=0.5, idle_seconds=0.5)
RETRY = RetryConfig(max_attempts=2, base_delay=0.001, max_delay=0.002)
#: The circuit stays closed and the cap wide: it is the calls that shall fail, not their admission.
UPSTREAM = UpstreamConfig(BreakerConfig(failure_threshold=10**9), InFlightConfig(CALLERS, CALLERS, CALLERS))


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """What has grown."""
    count = CALLS[full]
    threads = reactor.getThreadPool()
    threads.adjustPoolsize(threads.max)  # the reactor's own are there from the beginning, as many as it may have
    async with stub(reactor) as (plain,), https_stub(reactor) as (secure, made):
        roots = trustRootFromCertificates([Certificate.loadPEM(made.public)])
        with contexts_used() as contexts:
            before, _ = await endured(reactor, WARM, plain, secure, roots)
            contexts.clear()
            after, ended = await endured(reactor, count, plain, secure, roots)
    note = ", ".join(f"{number:,} {how}" for how, number in ended.most_common())
    memory = (after.bytes - before.bytes) / 2**20
    return [
        *grown("", before, after, f" after {count:,} calls with faults"),
        Figure("10", "TLS contexts of the calls among them over HTTPS", len(contexts), "", 1),
        Figure("", f"memory after {count:,} calls with faults", memory, "MB", note=note),
    ]


async def endured(reactor: Any, count: int, plain: str, secure: str, roots: Any) -> tuple[Held, Counter[str]]:
    """What is held after so many calls when all is closed, and how many of them ended how."""
    ended: Counter[str] = Counter()
    async with (
        proxied(plain + PATH, reactor, every(2, FAULTS)) as proxy,
        _client(reactor, proxy.url) as unsure,
        _client(reactor, secure + PATH, roots) as safe,
    ):
        numbers = iter(range(count))

        async def caller() -> None:
            for number in numbers:
                ended[await _call(reactor, unsure if number % SECURE else safe, number)] += 1

        await gatherResults([Deferred.fromCoroutine(caller()) for _ in range(CALLERS)], consumeErrors=True)
    await deferLater(reactor, 0.3)
    assert ended.total() == count, ended
    return held(reactor), ended


@asynccontextmanager
async def _client(reactor: Any, url: str, roots: Any = None) -> AsyncIterator[UnifiedLLMClient]:
    """A client with an exchange of its own, for as long as the block lasts."""
    exchange = HttpExchange(reactor, trust_root=roots)
    try:
        yield UnifiedLLMClient(
            get_provider("local", url, MODEL, key=KEY),
            exchange,
            reactor,
            capabilities=Capabilities(),
            limits=LIMITS,
            pipeline=Pipeline(reactor, Random(1), Ledger(reactor.seconds, lambda: 0.0)),  # noqa: S311  (jitter)
            retry=RETRY,
            upstream=UPSTREAM,
        )
    finally:
        await exchange.close()


async def _call(reactor: Any, client: UnifiedLLMClient, number: int) -> str:
    """Make a call and say how it ended."""
    soon = SOON[number % len(SOON)]
    deadline = Deadline.after(reactor, soon if number % HASTY == 0 else 5.0)
    call = client.chat_completion(_ASKED, _TOOLS, deadline=deadline)
    timer = reactor.callLater(soon, call.cancel) if number % CANCELLED == 0 else None
    try:
        response: LLMResponse = await call
    except CancelledError:
        return "cancelled"
    except LLMError as error:
        return type(error).__name__
    finally:
        if timer is not None and timer.active():
            timer.cancel()
    assert response.tool_calls, response
    return "answered"


_ASKED, _TOOLS = messages(4), specs()
