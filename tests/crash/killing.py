"""The kill harness: one long life of a game that is killed again and again, and what it left behind.

`python -m tests.crash.killing FOLDER KILLS SEED` prints a JSON object: what is wrong, and what was counted.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from mud_assistant.assistant.config.schema import AssistantConfig
from tests.crash import game
from tests.crash.evidence import Evidence
from tests.crash.forked import MUTE_SECONDS, Process, now, print_report, start_model
from tests.crash.hook import Hook, Places

#: What a life tells of while it works: any of it moves it on.
WORK = ("heard", "asked", "act", "over")


@dataclass(frozen=True, slots=True)
class Plan:
    """When a life ends: some seconds after the `count`th time that the process told of `what`.

    So a life does as much as is planned, however long a busy machine takes for it.
    """

    what: str
    count: int
    seconds: float

    @classmethod
    def drawn(cls, chance: Random) -> Plan:
        """Any time after the start, or close behind something that was just written."""
        what = chance.choices(("begun", "work", "heard", "asked", "act"), (1, 3, 2, 3, 5))[0]
        if what == "begun":
            return cls(what, 1, chance.uniform(0, 0.08))
        if what == "work":
            return cls(what, chance.randint(1, 20), chance.uniform(0, 0.04))
        return cls(
            what,
            chance.randint(1, {"heard": 6, "asked": 9, "act": 7}[what]),
            chance.choice((0, chance.uniform(0, 0.004))),
        )

    def is_met_by(self, word: str) -> bool:
        """Tell whether a word of the process counts."""
        return word == self.what or (self.what == "work" and word in WORK)


class Harness:
    """The world that goes on from life to life."""

    def __init__(self, folder: Path, kills: int, seed: int) -> None:
        self._folder = folder
        self._kills = kills
        self._seed = seed
        self._chance = Random(seed)  # noqa: S311
        self._hook = Hook(self._chance)
        self._evidence = Evidence(folder)
        self._ends: Counter[str] = Counter()
        self._places = Places(folder / "world.log")
        self._url, self._model = start_model(folder, seed)

    def run(self) -> dict[str, Any]:
        """The whole of it; what is wrong and what was counted."""
        began = now()
        for number in range(1, self._kills + 1):
            names = self._chance.sample(list(game.CAST), self._chance.choice((1, 2, 3, 3)))
            self._one(number, names)
            pending = self._evidence.after_kill(number, self._hook.acknowledged)
            self._hook.waiting({name: pending[who.id] for name, who in game.CAST.items()})
        killing = now() - began
        told = self._last(self._kills + 1)
        findings = self._evidence.at_end(self._hook.acknowledged, told, AssistantConfig().fallback_line)
        findings.errors += _errors(self._folder / "lives.log")
        findings.counted |= {
            "kills": self._kills,
            "kill seconds": round(killing, 1),
            "seconds": round(now() - began, 1),
            "acknowledged": len(self._hook.acknowledged),
            "sent again": self._hook.sent_again,
            "ends": dict(self._ends),
        }
        return {"seed": self._seed, "wrong": findings.wrong, "counted": findings.counted}

    def _one(self, number: int, names: list[str]) -> None:
        """One life, to its sudden end."""
        plan = Plan.drawn(self._chance)
        process = self._begin(number, names)
        left = 0 if plan.what == "begun" else plan.count
        ends = now() + (MUTE_SECONDS if left else plan.seconds)
        while (rest := ends - now()) > 0 and not process.ended:
            told = process.words(rest)
            for words in told:
                self._learn(process, words, names)
                left -= left > 0 and plan.is_met_by(words[0])
                if not left and plan.is_met_by(words[0]):
                    ends = min(ends, now() + plan.seconds)
            if told and left:
                ends = now() + MUTE_SECONDS
            if not left and not plan.seconds:
                break
        if process.ended:
            self._evidence.findings.errors.append(f"life {number} ended by itself")
        elif left:
            self._evidence.findings.errors.append(f"life {number} has nothing to do: it was to tell of {plan}")
        self._ends[plan.what] += 1
        for words in process.kill():
            self._learn(process, words, [])

    def _begin(self, number: int, names: list[str]) -> Process:
        """A new process, where the game left its characters."""
        rooms = self._places.rooms(names)
        return Process(game.Life(number, self._folder, self._url, rooms, self._seed), self._model)

    def _learn(self, process: Process, words: list[str], names: list[str]) -> None:
        """Take in what the process told, and let players go on."""
        match words:
            case ["ready"]:
                for event in self._hook.again(names):
                    process.send(event)
            case ["heard", _, event_id]:
                self._hook.heard(event_id)
            case ["over", name]:
                self._hook.over(name)
            case ["gone" | "failed", *why]:
                self._ends["failed: " + " ".join(why)[:100]] += 1
            case _:
                return
        for event in self._hook.more(names):
            process.send(event)

    def _last(self, number: int) -> dict[str, Any]:
        """One life that is not killed: it deals with everything, and ends in order."""
        names = list(game.CAST)
        process = self._begin(number, names)
        left = self._hook.again(names)
        waits = len(left) + 1
        told: dict[str, Any] = {}
        ends = now() + MUTE_SECONDS
        while not told and not process.ended and now() < ends:
            for words in process.words(ends - now()):
                ends = now() + MUTE_SECONDS
                match words:
                    case ["ready"]:
                        for event in left:
                            process.send(event)
                        waits -= 1
                    case ["heard", _, event_id]:
                        self._hook.heard(event_id)
                        waits -= 1
                    case ["finished", *rest]:
                        told = json.loads(" ".join(rest))
                    case ["gone", *why]:
                        self._evidence.findings.errors.append(" ".join(why))
                if waits == 0:
                    waits -= 1
                    process.send({"do": "finish"})
        if not told:
            self._evidence.findings.errors.append("the last life did not come to its end")
            return {name: {"parked": [], "unknown": []} for name in names}
        process.kill()
        return told


def _errors(log: Path) -> list[str]:
    """The last line of every traceback in the log."""
    errors, inside = [], False
    for line in log.read_text().splitlines():
        if "Traceback (most recent call last)" in line:
            inside = True
        elif inside and line.strip() and not line.startswith(("\t ", "\t\t", "\t-", "\tFile", "  ")):
            errors.append(line.strip())
            inside = False
    return errors


if __name__ == "__main__":
    print_report(Harness(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).run)
