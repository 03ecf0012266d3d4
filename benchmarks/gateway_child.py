"""The gateway beside assistants, in a process of its own: `python -m benchmarks.gateway_child URL AT_ONCE`.

URL is that of a model server that takes AT_ONCE requests at once. The first line is JSON: the port and the key. Then it
answers each line: `blocks` with ms of CPU since it was asked last (the longest callback of a socket, and the longest
block, in which many of them stand), `memory` with the MB that there are more than with assistants alone, `own COUNT`
with the seconds of so many calls as assistants make them. It ends when its standard input is closed.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.protocol import connectionDone
from twisted.internet.stdio import StandardIO
from twisted.internet.task import deferLater, react
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from benchmarks.blocks import Blocks
from benchmarks.memory_child import resident
from benchmarks.product import messages  # it brings the assistants
from mud_assistant.assistant.starting import loading, settle_heap
from mud_assistant.resilience import Caller

if TYPE_CHECKING:
    from benchmarks.gateway_stand import Standing

#: Assistants that call at the same time, and the seconds between two calls of one.
CALLERS, PAUSE = 2, 0.02


class Callbacks:
    """Meters what the reactor calls for its sockets, from now on: seconds of CPU."""

    def __init__(self, reactor: Any) -> None:
        self.longest = 0.0
        call = reactor._doReadOrWrite  # noqa: SLF001  (there is no other place where all pass)

        def metered(*arguments: Any) -> None:
            began = time.thread_time()
            call(*arguments)
            self.longest = max(self.longest, time.thread_time() - began)

        reactor._doReadOrWrite = metered  # noqa: SLF001


class Answers(LineOnlyReceiver):
    """Answers the lines of standard input."""

    delimiter = b"\n"

    def __init__(self, reactor: Any, stands: Standing, blocks: Blocks, before: float) -> None:
        self._reactor = reactor
        self._stands = stands
        self._blocks = blocks
        self._before = before
        self._callbacks = Callbacks(reactor)
        self.ended: Deferred[None] = Deferred()

    def lineReceived(self, line: bytes) -> None:
        """Answer a line."""
        match line.decode().split():
            case ["blocks"]:
                tell([1000 * self._callbacks.longest, self._blocks.longest])
                self._blocks.seconds.clear()
                self._callbacks.longest = 0.0
            case ["memory"]:
                tell((resident() - self._before) / 2**20)
            case ["own", count]:
                Deferred.fromCoroutine(self._own(int(count))).addCallbacks(tell, self._fail)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End."""
        self.ended.callback(None)

    async def _own(self, count: int) -> list[float]:
        """The seconds of calls for which somebody waits."""
        chain = self._stands.gateway.models.chain(self._stands.gateway.models.find("sage", lambda _: True))
        client = (await chain).links[0].client
        asked = messages(4)
        seconds: list[float] = []

        async def assistant(number: int) -> None:
            for _ in range(count // CALLERS):
                await deferLater(self._reactor, PAUSE)
                began = time.perf_counter()
                await client.chat_completion(asked, caller=Caller(f"assistant {number}"))
                seconds.append(time.perf_counter() - began)

        await gatherResults([Deferred.fromCoroutine(assistant(one)) for one in range(CALLERS)], consumeErrors=True)
        return seconds

    def _fail(self, failure: Failure) -> None:
        failure.printTraceback(sys.stderr)
        self.ended.callback(None)


def tell(what: object) -> None:
    """Write a line."""
    print(json.dumps(what), flush=True)


async def main(reactor: Any) -> None:
    """Open, answer, and close."""
    url, at_once = sys.argv[1:]
    before = resident()
    with loading():  # as the command does
        from benchmarks.gateway_stand import model, standing  # noqa: PLC0415  (it is what is measured)
    settle_heap()

    async with standing(reactor, {"sage": model(url, max_in_flight=int(at_once))}) as stands:
        with Blocks(reactor) as blocks:
            answers = Answers(reactor, stands, blocks, before)
            StandardIO(answers)
            tell([stands.port, stands.key])
            await answers.ended


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor)), ())
