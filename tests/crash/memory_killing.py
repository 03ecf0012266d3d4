"""The kill harness of the memory: lives on one journal and its index, each killed with SIGKILL at some moment.

`python -m tests.crash.memory_killing FOLDER KILLS SEED` prints a JSON object: what is wrong, and what was counted.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred

from tests.crash.forked import now, print_report
from tests.crash.memory_evidence import Deed
from tests.crash.memory_life import MemoryLife

#: A life that was not killed by its own plan is killed after so many seconds, the last one is given up.
LONGEST, LAST = 6.0, 60.0
WHAT = ("ready", "keep", "supersede", "drop", "forget", "night")


def main_live(folder: Path, number: int, known: list[Deed], told: int, *, is_last: bool) -> None:
    """Live in this process, which has no reactor yet."""
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (this process's composition root)
    from twisted.internet.task import react  # noqa: PLC0415

    def begin(clock: Any) -> Deferred[None]:
        return Deferred.fromCoroutine(MemoryLife(folder, number, known, told, clock, is_last).live())

    react(begin, (), reactor)


class Harness:
    """All lives, and what they told."""

    def __init__(self, folder: Path, kills: int, seed: int) -> None:
        self._folder = folder
        self._kills = kills
        self._chance = Random(seed)  # noqa: S311
        self._deeds: list[Deed] = []
        self._wrong: list[str] = []
        self._counted: Counter[str] = Counter()
        self._most: dict[str, int] = {}

    def run(self) -> dict[str, Any]:
        """Return what is wrong and what was counted."""
        began = now()
        for number in range(1, self._kills + 1):
            self._one(number)
        self._one(self._kills + 1, is_last=True)
        counted = {**self._counted, "most": self._most, "seconds": round(now() - began, 1)}
        return {"wrong": self._wrong[:20], "counted": counted}

    def _one(self, number: int, *, is_last: bool = False) -> None:
        """One life, to its sudden end."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            try:
                main_live(self._folder, number, self._deeds, writing, is_last=is_last)
            except SystemExit as ended:
                os._exit(int(ended.code or 0))
            finally:
                os._exit(1)
        os.close(writing)
        what = self._chance.choices((*WHAT, "opening"), (2, 4, 4, 4, 5, 5, 2))[0]
        left, ends = self._chance.randint(1, 4), now() + (LAST if is_last else LONGEST)
        if what == "opening" and not is_last:
            ends = now() + self._chance.uniform(0, 0.15)
        rest, met = b"", is_last
        while (seconds := ends - now()) > 0:
            if not select.select([reading], [], [], seconds)[0]:
                break
            if not (data := os.read(reading, 65_536)):
                break
            rest = self._learn(number, rest + data)
            left -= 0 if met else sum(f'"{what}"'.encode() in line for line in data.split(b"\n"))
            if not met and left <= 0:
                met, ends = True, min(ends, now() + self._chance.choice((0, self._chance.uniform(0, 0.03))))
        os.kill(child, signal.SIGKILL)
        while data := os.read(reading, 65_536):
            rest = self._learn(number, rest + data)
        os.close(reading)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status not in ({0, -signal.SIGKILL} if is_last else {-signal.SIGKILL}):
            self._wrong.append(f"life {number} ended by itself with {status}")
        self._counted[f"killed: {what}" if met else "killed: late"] += not is_last

    def _learn(self, number: int, data: bytes) -> bytes:
        """Take in what was told; return the beginning of a line."""
        *lines, rest = data.split(b"\n")
        for words in map(json.loads, lines):
            match words:
                case ["wrong", what]:
                    self._wrong.append(f"life {number}: {what}")
                case ["ready", counted]:
                    self._counted["checked"] += 1
                    self._deeds.append(["begin", "life"])
                    self._most = {key: max(value, self._most.get(key, 0)) for key, value in counted.items()}
                case ["begin" | "done", *_]:
                    self._deeds.append(words)
                    self._counted[f"{words[0]} {words[1]}"] += 1
                case ["over"]:
                    self._counted["over"] += 1
        return rest


if __name__ == "__main__":
    print_report(Harness(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).run)
