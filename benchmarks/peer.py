"""One asyncio peer in a process of its own, which takes turns when told to: `python -m benchmarks.peer NAME`.

Each line of standard input is JSON: the kind of work, the base URL, the messages of the history, the callers at once,
and the CPU seconds of the turn. The answer is a line of JSON: CPU seconds used, pieces of work done. Which peers there
are is in `peers.py`, what they do in `peer_work.py` and `peer_frameworks.py`.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time

from benchmarks.peer_work import Made, Making, Work
from benchmarks.peers import PEERS


async def turn(work: Work, callers: int, seconds: float) -> tuple[float, int]:
    """CPU seconds used, and pieces of work done."""
    used, done = 0.0, 0
    while used < seconds:
        began = time.process_time()
        await asyncio.gather(*(work() for _ in range(callers)))
        used += time.process_time() - began
        done += callers
    return used, done


async def main() -> None:
    """Take turns until standard input ends. What was made for one kind of work is kept until another is asked for."""
    where, maker = PEERS[sys.argv[1]].maker
    make: Making = getattr(importlib.import_module(where), maker)
    made: Made | None = None
    made_for: tuple[str, str, int] | None = None
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        kind, url, count, callers, seconds = json.loads(line)
        if made is None or made_for != (kind, url, count):
            if made is not None:
                await made.close()
            made, made_for = await make(kind, url, count), (kind, url, count)
        print(json.dumps(await turn(made.work, callers, seconds)), flush=True)
    if made is not None:
        await made.close()


if __name__ == "__main__":
    asyncio.run(main())
