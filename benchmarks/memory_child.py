"""Resident memory, in a process that has nothing else in it.

python -m benchmarks.memory_child idle ASSISTANTS MESSAGES         KiB for each
python -m benchmarks.memory_child busy ASSISTANTS MESSAGES URL     MB over bare Twisted, and that
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater, react
from twisted.web import client

assert client is not None  # what bare Twisted has is there before anything is measured


def resident() -> float:
    """Bytes of this process in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


async def main(reactor: Any) -> None:
    """Measure and tell."""
    what, count, messages, *url = sys.argv[1:]
    bare = resident()
    from benchmarks.village import ENDLESS, Tenant, Village, past  # noqa: PLC0415  (it is what is measured)

    village = Village(reactor, int(count))
    before = resident()
    for number in range(int(count)):
        server = await village.settle(number, Tenant(url[0] if url else "", ENDLESS, stream=past(int(messages))))
        await server.assistant.settled()
    after = resident()
    told = [(after - before) / int(count) / 1024, 0.0]
    if what == "busy":
        for server in village.houses:
            await server.player.say("Sage, are you there?")
        # Looked at and not asked for: the first to ask decides how many may be in flight.
        while sum(server.in_flight for server in village.process.pipeline.snapshot().upstreams) < int(count):
            await deferLater(reactor, 0.05)
        told = [(resident() - bare) / 2**20, bare / 2**20]
    print(json.dumps(told), flush=True)
    await village.close()


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor)), ())
