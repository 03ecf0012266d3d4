"""One asyncio peer in a process of its own, which takes turns when told to.

    python -m benchmarks.peer NAME KIND URL HISTORY CALLERS

Each line of standard input is the CPU seconds of a turn; the answer is a line of JSON: CPU seconds used, work done.
Which peers there are, and what they are asked to do, is in `peer_work.py`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from benchmarks.peer_work import Work, made


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
    """Take turns until standard input ends."""
    name, kind, url, count, callers = sys.argv[1:]
    work, close = await made(name, kind, url, int(count))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await turn(work, int(callers), json.loads(line))), flush=True)
    await close()


if __name__ == "__main__":
    asyncio.run(main())
