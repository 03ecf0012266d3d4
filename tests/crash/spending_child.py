"""Processes that spend one budget, each killed with SIGKILL at a random moment, until it is used up.

`python spending_child.py PATH URL LIMIT KILLS SEED`: KILLS lives are killed, but for those that find nothing left to
spend; then one lives to the end. Prints how many kills there were, and how the last one ended. What a life asks says
which life it is and what it believed to be spent at its start.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.resilience import Allowance, Keep
from tests.assistant.paying import paying

RUNS = 50
#: How long a slow disk takes, in seconds.
SLOW_SECONDS = 0.01
#: How long a life lasts at most, after it has begun to ask, in seconds.
LIFE_SECONDS = 0.2


async def live(reactor: Any, path: Path, url: str, *, limit: int, life: int, begun: int) -> None:
    """Spend until nothing is left. Every third life has one run only; every second a slow disk."""

    def slow(keep: Keep) -> Keep:
        async def keep_slowly(exported: Mapping[str, Any]) -> None:
            await deferLater(reactor, SLOW_SECONDS)
            await keep(exported)

        return keep_slowly if life % 2 else keep

    async with paying(path, reactor, url, Allowance(calls=limit), slow=slow) as payer:
        words = f"life {life} believes {payer.calls()}"
        os.write(begun, b".")
        await payer.all_ask_until_spent(1 if life % 3 == 0 else RUNS, words)


def main_live(path: Path, url: str, limit: int, life: int, begun: int) -> None:
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (this process's composition root)
    from twisted.internet.task import react  # noqa: PLC0415

    react(
        lambda clock: Deferred.fromCoroutine(live(clock, path, url, limit=limit, life=life, begun=begun)), (), reactor
    )


def life_of(path: Path, url: str, limit: int, life: int, seconds: float | None) -> int:
    """How it ended: the exit status, negative when it was killed, that many seconds after it had begun to ask."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        main_live(path, url, limit, life, writing)
        os._exit(1)  # react has left already
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    if seconds is not None:
        time.sleep(seconds)  # noqa: TID251  (a kill comes at any time)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(path: Path, url: str, limit: int, kills: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    ends = [life_of(path, url, limit, life, chance.uniform(0, LIFE_SECONDS)) for life in range(1, kills + 1)]
    last = life_of(path, url, limit, kills + 1, None)
    print(ends.count(-signal.SIGKILL), last)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:6]))
