"""What the gateway keeps of requests with every fault: nothing, it is hoped, and each of them has an answer.

Requests in four dialects, streamed and whole, some of whose clients leave, come to a gateway before a proxy that lays
a fault on one request in four. The same is done twice, first with a few to warm up, and everything is closed both
times. What is there more the second time has grown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from benchmarks.children import stub
from benchmarks.endurance import FAULTS
from benchmarks.figures import Figure
from benchmarks.gateway import body_of
from benchmarks.gateway_load import Wire, connected, hang_up, post
from benchmarks.gateway_stand import Standing, model, standing
from benchmarks.held import Held, grown, held
from mud_assistant.resilience.testing import every, proxied

CALLS = {True: 100_000, False: 1_500}
WARM, CALLERS = 300, 32
#: One client in so many leaves, after one of these seconds; all of them give up after the longest.
LEAVING, SOON, LONGEST = 7, (0.0, 0.004, 0.02), 20.0
PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat")
_LIMITS = {"first_byte_seconds": 0.5, "idle_seconds": 0.5, "connect_seconds": 2.0, "max_attempts": 2}
_FAULTY = 4
#: How a request ends while a circuit is open, and the seconds after which its client asks again.
_REFUSED, LATER = {"status 503", "status 529"}, 0.25


@dataclass(frozen=True, slots=True)
class Kept:
    """What an idle gateway still has of requests that are over."""

    requests: int
    bytes: int
    permits: int
    in_flight: int
    places: int

    @property
    def total(self) -> int:
        """Everything counted together: 0 is wanted."""
        return self.requests + self.bytes + self.permits + self.in_flight + self.places


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """What has grown, what was kept, and who got no answer."""
    count = CALLS[full]
    threads = reactor.getThreadPool()
    threads.adjustPoolsize(threads.max)  # the reactor's own are there from the beginning, as many as it may have
    async with stub(reactor) as (url,):
        before, _, _ = await endured(reactor, WARM, url)
        after, ended, kept = await endured(reactor, count, url)
    behind = f" after {count:,} requests of the gateway with faults"
    note = ", ".join(f"{number:,} {how}" for how, number in ended.most_common())
    memory = (after.bytes - before.bytes) / 2**20
    return [
        Figure("gateway", f"requests without an answer{behind}", ended["unanswered"], "", 0, note=note),
        Figure("gateway", f"permits, places, bytes and requests kept{behind}", kept.total, "", 0, note=str(kept)),
        *grown("gateway", before, after, behind),
        Figure("", f"memory more{behind}", memory, "MB"),
    ]


async def endured(reactor: Any, count: int, url: str) -> tuple[Held, Counter[str], Kept]:
    """What is held after so many requests when all is closed, how many of them ended how, and what was kept."""
    ended: Counter[str] = Counter()
    async with (
        proxied(f"{url}/plain/v1", reactor, every(_FAULTY, FAULTS)) as streamed,
        proxied(f"{url}/whole/plain/v1", reactor, every(_FAULTY, FAULTS)) as whole,
        standing(
            reactor,
            {
                "stream": model(streamed.url, max_in_flight=CALLERS, **_LIMITS),
                "whole": model(whole.url, max_in_flight=CALLERS, **_LIMITS),
            },
        ) as stands,
    ):
        numbers = iter(range(count))
        clients = [_Client(reactor, stands) for _ in range(CALLERS)]

        async def caller(client: _Client) -> None:
            for number in numbers:
                ended[await client.ask(number)] += 1

        await gatherResults([Deferred.fromCoroutine(caller(client)) for client in clients], consumeErrors=True)
        await deferLater(reactor, 0.3)
        kept = _kept(stands)
        for client in clients:
            client.close()
    await deferLater(reactor, 0.3)
    assert ended.total() == count, ended
    return held(reactor), ended, kept


class _Client:
    """One client with one connection, which it opens anew after it left or was cut off."""

    def __init__(self, reactor: Any, stands: Standing) -> None:
        self._reactor = reactor
        self._stands = stands
        self._wire: Wire | None = None

    async def ask(self, number: int) -> str:
        """Send a request and say how it ended."""
        path = PATHS[number % len(PATHS)]
        name = "stream" if number // len(PATHS) % 2 else "whole"
        if self._wire is None:
            (self._wire,) = await connected(self._reactor, self._stands.port, 1, is_whole)
        wire, leaves = self._wire, number % LEAVING == 0
        request = post(self._stands.port, path, body_of(path, name, streams=name == "stream"), self._stands.key)
        late = self._reactor.callLater(SOON[number % len(SOON)] if leaves else LONGEST, self._leave, wire)
        try:
            answer = await wire.ask(request)
        except ConnectionError:
            self._wire = None
            if not late.active():
                return "left" if leaves else "unanswered"
            return "cut off"
        finally:
            if late.active():
                late.cancel()
        if b"\r\nConnection: close" in answer[: answer.index(b"\r\n\r\n")]:
            self.close()
        ending = _ending(answer)
        if ending in _REFUSED:
            await deferLater(self._reactor, LATER)
        return ending

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            hang_up([self._wire])
            self._wire = None

    def _leave(self, wire: Wire) -> None:
        assert wire.transport is not None
        wire.transport.abortConnection()  # type: ignore[attr-defined]  # a TCP connection


def is_whole(answer: bytes) -> bool:
    """Whether an answer of any status is there to its end."""
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = answer[:end].lower()
    at = head.find(b"content-length:")
    if at < 0:
        return answer.endswith(b"0\r\n\r\n")
    return len(answer) - end - 4 >= int(head[at + 15 :].split(b"\r\n", 1)[0])


def _ending(answer: bytes) -> str:
    """Tell an answer from a refusal, and from an error in a stream."""
    status = answer.split(b" ", 2)[1].decode()
    if status != "200":
        return f"status {status}"
    return "an error in the stream" if b'"error":{' in answer or b"event: error" in answer else "answered"


def _kept(stands: Standing) -> Kept:
    gateway, service = stands.gateway, stands.service
    upstreams = service.parts.pipeline.snapshot().upstreams
    offered = [gateway.models.find(name, lambda _: True) for name in ("stream", "whole")]
    return Kept(
        gateway.answering,
        gateway.held_bytes,
        sum(one.permits_out for one in upstreams),
        sum(one.in_flight + one.waiting for one in upstreams),
        sum(one.places.limit - one.places.tokens for one in offered),
    )
