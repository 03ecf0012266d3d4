"""Two processes that live as the same assistants on one file: the old one sleeps, and wakes when it is nobody any more.

`python -m tests.crash.two_at_once FOLDER TIMES SEED` prints a JSON object: what is wrong, and what was counted.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from mud_assistant.assistant.config.schema import AssistantConfig
from tests.crash import game
from tests.crash.evidence import SPEECH, Evidence, lines_of
from tests.crash.forked import Process, now, print_report, start_model
from tests.crash.hook import Hook, Places

#: How long anything may take at most, in seconds; SQLite alone waits 5 for a lock.
PATIENCE = 20.0


class Takeovers:
    """The same assistants, again and again taken over from a process that was stopped."""

    def __init__(self, folder: Path, times: int, seed: int) -> None:
        self._folder = folder
        self._times = times
        self._seed = seed
        self._chance = Random(seed)  # noqa: S311
        self._hook = Hook(self._chance)
        self._places = Places(folder / "world.log")
        self._evidence = Evidence(folder)
        self._url, self._model = start_model(folder, seed)
        self._counted: Counter[str] = Counter()
        self._why: set[str] = set()
        self._not_let_in: list[str] = []
        self._shut_out: set[str] = set()
        self._late: list[str] = []
        self._lives = 0

    def run(self) -> dict[str, Any]:
        """All of it; what is wrong and what was counted."""
        told: dict[str, Any] = {}
        parked: dict[str, set[str]] = {name: set() for name in game.CAST}
        for _ in range(self._times):
            told = self._one()
            for name, one in told.items():
                parked[name].update(one["parked"])
        told = {name: {**one, "parked": sorted(parked[name])} for name, one in told.items()}
        findings = self._evidence.at_end(self._hook.acknowledged, told, AssistantConfig().fallback_line)
        unlisted = set(self._late) - self._evidence.begun_words()
        findings.said_when_shut_out += sorted(unlisted)
        findings.counted |= {
            **self._counted,
            "said late": len(self._late),
            "why": sorted(self._why),
            "not let in": self._not_let_in,
        }
        return {"seed": self._seed, "wrong": findings.wrong, "counted": findings.counted}

    def _one(self) -> dict[str, Any]:
        """Stop a process somewhere in its work, let another take over, wake the first; what the second told."""
        old, life = self._start(), self._lives
        self._let_live(old, self._chance.randint(1, 15), self._chance.uniform(0, 0.01))
        new = self._taken_over(old)
        before = len(self._acts())
        both = self._chance.random() < 0.5
        if both:
            os.kill(old.pid, signal.SIGCONT)
        told = self._finished(new)
        os.kill(old.pid, signal.SIGCONT)
        self._until_shut_out(old)
        self._late += [act["text"] for act in self._acts()[before:] if act["life"] == life and act["act"] in SPEECH]
        old.kill()
        return told

    def _start(self) -> Process:
        self._lives += 1
        rooms = self._places.rooms(game.CAST)
        return Process(game.Life(self._lives, self._folder, self._url, rooms, self._seed), self._model)

    def _let_live(self, process: Process, acts: int, seconds: float) -> None:
        """Let it hear and act for a while."""
        ends = now() + PATIENCE
        while acts > 0 and now() < ends:
            for words in process.words(ends - now()):
                acts -= words[0] in {"act", "asked"}
                self._learn(process, words, list(game.CAST))
        ends = now() + seconds
        while (rest := ends - now()) > 0:
            for words in process.words(rest):
                self._learn(process, words, [])

    def _taken_over(self, old: Process) -> Process:
        """A new process that is ready, the old one stopped. One that was stopped with the file locked goes on a bit."""
        ends = now() + PATIENCE
        while now() < ends:
            os.kill(old.pid, signal.SIGSTOP)
            os.waitpid(old.pid, os.WUNTRACED)
            if self._is_locked() and self._not_let_in:  # once is enough to see that nobody gets in
                os.kill(old.pid, signal.SIGCONT)
                self._let_live(old, 0, 0.01)
                continue
            begun = dict(self._evidence.begun)
            self._evidence.after_kill(self._lives, ())  # what it has begun is unknown to whoever comes next
            new = self._start()
            match self._first_words(new):
                case ["ready"]:
                    self._counted["taken over"] += 1
                    return new
                case words:
                    self._not_let_in.append(" ".join(words))
            new.kill()
            self._evidence.begun = begun
            os.kill(old.pid, signal.SIGCONT)
            self._let_live(old, 0, 0.05)
        raise TimeoutError("nobody could take over")

    def _is_locked(self) -> bool:
        """Whether it was stopped in the middle of writing: nobody else can write then."""
        with closing(sqlite3.connect(self._folder / "journal.sqlite", timeout=0, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            db.execute("ROLLBACK")
            return False

    def _first_words(self, new: Process) -> list[str]:
        """What a process says first that is not about the model."""
        ends = now() + PATIENCE
        while now() < ends and not new.ended:
            for words in new.words(ends - now()):
                if words[0] in {"ready", "gone"}:
                    return words
        return ["said nothing"]

    def _finished(self, new: Process) -> dict[str, Any]:
        """What the new process told at its end."""
        new.send({"do": "finish"})
        ends = now() + PATIENCE
        while now() < ends and not new.ended:
            for words in new.words(ends - now()):
                if words[0] == "finished":
                    new.kill()
                    told: dict[str, Any] = json.loads(" ".join(words[1:]))
                    return told
        self._evidence.findings.errors.append("the new process did not come to its end")
        new.kill()
        return {name: {"parked": [], "unknown": []} for name in game.CAST}

    def _until_shut_out(self, old: Process) -> None:
        """Let somebody speak to the old process until each of its assistants has said that it is nobody any more."""
        for name in set(game.CAST) - self._shut_out:
            old.send({"id": "ev-0", "name": name, "how": "said"})
        ends = now() + PATIENCE
        while self._shut_out < set(game.CAST) and now() < ends and not old.ended:
            for words in old.words(1.0):
                self._learn(old, words, [])
        if self._shut_out < set(game.CAST):
            self._evidence.findings.errors.append(f"only {sorted(self._shut_out)} said that they are shut out")
        self._shut_out = set()

    def _learn(self, process: Process, words: list[str], names: list[str]) -> None:
        match words:
            case ["ready"]:
                self._hook.waiting({})
                for event in self._hook.again(names):
                    process.send(event)
            case ["heard", _, event_id]:
                self._hook.heard(event_id)
            case ["over", name]:
                self._hook.over(name)
            case ["failed" | "refused" as how, name, why] if "taken over" in why:
                self._shut_out.add(name)
                self._counted[f"shut out: {how}"] += 1
                self._why.add(why.partition(" (")[0])
                return
            case ["gone", *why]:
                self._evidence.findings.errors.append(" ".join(why))
                return
            case _:
                return
        for event in self._hook.more(names):
            process.send(event)

    def _acts(self) -> list[dict[str, Any]]:
        return lines_of(self._folder / "world.log")


if __name__ == "__main__":
    print_report(Takeovers(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).run)
