"""Characters with promises that pass from a process that hangs to another one, again and again, over one PostgreSQL.

`python -m tests.crash.shared.promised_takeovers FOLDER ROUNDS CHARACTERS SEED` prints a JSON object: what is wrong,
and what was counted. In each round the process of each character is stopped (SIGSTOP), every second time inside a
transaction, where it holds what it has locked; another follows when the lease has run out; then the first goes on, and
must say and write nothing more before it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic  # noqa: TID251  (the composition root of a process)
from time import time as wall  # noqa: TID251  (the composition root of a process)
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.events import ByRule, Noticed
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.events.outcome import Answered, Cancelled, NothingToDo
from mud_assistant.assistant.journal import Accepted, Fenced, HeldElsewhere, InterruptedRun, JournalError, StoredJournal
from mud_assistant.assistant.journal.tables.promised_goals import goal_of
from mud_assistant.assistant.runtime.sharing.journal import SharedJournal
from tests.assistant.journal.keeping import ANNA, SAY, TRIGGER, event, executed, response
from tests.crash.forked import _never_return, now, print_report
from tests.crash.shared.findings import lines_of
from tests.crash.shared.worker import begin_life
from tests.postgres import PostgresServer, make_server

#: So long after a start of the server a session that is missing is one that ended.
SETTLED_SECONDS = 10.5
#: How long something is waited for, and how long the stopped process has once it goes on, in seconds.
PATIENCE, AFTERWARDS = 35.0, 2.0
#: How long a process lives before it is stopped, at least and at most; and how long it rests between two runs.
LIVES_SECONDS, REST_SECONDS = (0.3, 1.5), 0.05
LOCKED_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Life:
    """A process with one character. It numbers its lines from `number` on; one that `is_last` only tells its goals."""

    number: int
    folder: Path
    url: str
    assistant: str
    is_last: bool = False


class Living:
    """What a life does. Its log outlives it: the number of the life, the time, and what was said, kept or taken."""

    def __init__(self, life: Life, reactor: Any) -> None:
        self._life = life
        self._reactor = reactor
        self._shared = SharedJournal(JournalConfig(url=life.url), f"process {life.number}", reactor, wall)
        self._journal = StoredJournal(self._shared.store, life.assistant)
        self._log = os.open(life.folder / life.assistant, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._is_asked_to_hang = False
        signal.signal(signal.SIGUSR1, self._ask_to_hang)

    def _ask_to_hang(self, *_: object) -> None:
        self._is_asked_to_hang = True

    def tell(self, *words: object) -> None:
        os.write(self._log, json.dumps([self._life.number, monotonic(), *words]).encode() + b"\n")

    async def live(self) -> None:
        """Take the character over as soon as it is free, and promise and keep, until it is lost."""
        await self._shared.open()
        while True:
            try:
                await self._journal.start()
                break
            except HeldElsewhere:
                await self._shared.until_free(self._life.assistant)
            except JournalError as failed:  # as a service does, it tries again
                self.tell("refused", str(failed))
                await deferLater(self._reactor, 1.0)
        while not self._shared.may_act(self._life.assistant):
            await deferLater(self._reactor, REST_SECONDS)
        while (left := await self._journal.interrupted()) is not None:
            await self._recover(left)
        self.tell("taken", self._journal.lease.token)
        if self._life.is_last:
            self.tell("goals", {goal.id: goal.state for goal in await self._journal.goals(with_ended=True)})
            os._exit(0)
        try:
            await self._go_on()
        except Fenced:
            self.tell("fenced")

    async def _go_on(self) -> None:
        for number in count(self._life.number * 10**6):
            await self._journal.accept(event(number), TRIGGER)
            for goal in await self._journal.goals():
                rule = ByRule("say", {}, goal.asker, goal.id)
                await self._journal.accept(Noticed(id=goal.event_id, at=0.0, who=ANNA, text="", by_rule=rule), TRIGGER)
            for accepted in await self._journal.pending():
                await self._answer(accepted)
                if self._is_asked_to_hang:
                    self._is_asked_to_hang = False
                    await self._journal.lease.write(self._hang)
            await deferLater(self._reactor, REST_SECONDS)

    def _hang(self, db: Any) -> None:
        """Stop in the middle of a transaction that has locked what says whose the character is."""
        self._shared.store.leases.check_expected(db)
        time.sleep(LOCKED_SECONDS)  # noqa: TID251  (on the writer's thread)
        os.kill(os.getpid(), signal.SIGSTOP)

    async def _answer(self, accepted: Accepted) -> None:
        """Promise something to a line, or keep what was promised."""
        journal, id_ = self._journal, accepted.event.id
        run = await journal.open_run([accepted])
        known = goal_of(id_)
        goal = next((one for one in await journal.goals() if one.id == known), None) if known else None
        if known and goal is None:
            await journal.close_run(run, NothingToDo())
            return
        promised = [] if known else [Goal(id_, GoalKind.REMIND, "remind you", ANNA, 0.0)]
        await journal.record_response(run, 1, response(SAY))
        await journal.record_intent(run, 1, 0, SAY, effect=True, goals=promised)
        if not self._shared.may_act(self._life.assistant):
            raise Fenced(self._life.assistant, 0, 0)
        self.tell("kept" if known else "heard", known or id_)
        await journal.record_result(run, 1, 0, executed(SAY))
        ended = [] if goal is None else [replace(goal, state=GoalState.DONE, evidence="heard")]
        await journal.close_run(run, Answered(("say",)), goals=ended)
        self.tell("written", run)

    async def _recover(self, left: InterruptedRun) -> None:
        """End a run of the process before. Words that may have been heard are not said again."""
        if not any(call.intended for step in left.steps for call in step.calls):
            await self._journal.close_run(left.id, Cancelled())
            return
        known = goal_of(left.events[0].event.id)
        goal = next((one for one in await self._journal.goals() if one.id == known), None)
        ended = [] if goal is None else [replace(goal, state=GoalState.DONE, evidence="begun")]
        await self._journal.close_run(left.id, Answered(("say",)), goals=ended)


def main_live(life: Life) -> None:
    """Live. Only in a process that has no reactor yet."""
    reactor, _ = begin_life(life.folder / "lives.log")
    living = Living(life, reactor)

    def give_up(failure: Any) -> None:
        living.tell("ended", failure.getErrorMessage())

    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(living.live()).addErrback(give_up))
    reactor.run(installSignalHandlers=False)


def _fork(life: Life) -> int:
    pid = os.fork()
    if not pid:
        _never_return(lambda: main_live(life))
    return pid


class Takeovers:
    """The plan: who is stopped when, and who follows."""

    def __init__(self, folder: Path, rounds: int, characters: int, seed: int) -> None:
        self._folder = folder
        self._rounds = rounds
        self._names = [f"assistant:{at}" for at in range(characters)]
        self._chance = Random(seed)  # noqa: S311
        self._numbers = count(1)
        #: The times between which a process that was stopped has nothing to say any more, by its number.
        self._over: dict[int, float] = {}
        #: The runs that the server had closed when all were stopped. The answer may reach who asked only as it goes on.
        self._closed: set[str] = set()
        self._waits: list[float] = []
        self._hung_inside = 0
        self._alive: set[int] = set()
        self._not_let_in: list[str] = []

    def run(self) -> dict[str, Any]:
        """All of it; what is wrong and what was counted."""
        server = make_server()
        try:
            schema = server.new_schema()
            url = server.url(schema)
            time.sleep(SETTLED_SECONDS)  # noqa: TID251  (a process of its own)
            living = {name: self._begin(name, url) for name in self._names}
            self._wait_until_taken(living.values())
            for number in range(self._rounds):
                self._stop(living, number)
                self._look(server, schema)
                living = self._pass_on(living, url)
            self._end(living.values())
            last = {name: self._begin(name, url, is_last=True) for name in self._names}
            for pid, _ in last.values():
                os.waitpid(pid, 0)
                self._alive.discard(pid)
        finally:
            self._end([(pid, None) for pid in self._alive])
            server.close()
        return self._found()

    def _begin(self, name: str, url: str, *, is_last: bool = False) -> tuple[int, Life]:
        life = Life(next(self._numbers), self._folder, url, name, is_last)
        pid = _fork(life)
        self._alive.add(pid)
        return pid, life

    def _stop(self, living: dict[str, tuple[int, Life]], number: int) -> None:
        """Stop them all, every second one inside a transaction."""
        for at, (pid, _) in enumerate(living.values()):
            time.sleep(self._chance.uniform(*LIVES_SECONDS) / len(living))  # noqa: TID251
            os.kill(pid, signal.SIGUSR1 if (at + number) % 2 else signal.SIGSTOP)
        for pid, _ in living.values():
            os.waitpid(pid, os.WUNTRACED)

    def _look(self, server: PostgresServer, schema: str) -> None:
        """Note what the server has written once it has ended what it was asked for; count who hangs inside."""
        works = (
            "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"
            " AND coalesce(wait_event_type, '') NOT IN ('Client', 'Lock')"
        )
        until = now() + PATIENCE
        while server.execute(works) and now() < until:
            time.sleep(0.01)  # noqa: TID251  (a process of its own)
        self._hung_inside += len(server.execute("SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"))
        closed = server.execute(f'SELECT seq FROM "{schema}".runs WHERE closed_at IS NOT NULL')  # noqa: S608
        self._closed |= {f"run-{seq}" for (seq,) in closed}

    def _pass_on(self, living: dict[str, tuple[int, Life]], url: str) -> dict[str, tuple[int, Life]]:
        """Let others follow those that are stopped; these go on for a while before they are killed."""
        began = now()
        following = {name: self._begin(name, url) for name in self._names}
        self._wait_until_taken(following.values())
        self._waits.append(now() - began)
        self._over |= {life.number: now() for _, life in living.values()}
        for pid, _ in living.values():
            os.kill(pid, signal.SIGCONT)
        time.sleep(AFTERWARDS)  # noqa: TID251  (a process of its own)
        self._end(living.values())
        return following

    def _wait_until_taken(self, lives: Any) -> None:
        until, waiting = now() + PATIENCE, {life.number: life for _, life in lives}
        while waiting and now() < until:
            for number, life in list(waiting.items()):
                if any(line[0] == number and line[2] == "taken" for line in _lines(life.folder / life.assistant)):
                    del waiting[number]
            time.sleep(0.1)  # noqa: TID251  (a process of its own)
        self._not_let_in += [f"{life.assistant}: {self._refused(life)}" for life in waiting.values()]

    def _refused(self, life: Life) -> list[str]:
        lines = _lines(life.folder / life.assistant)
        return [str(line[3]) for line in lines if line[0] == life.number and line[2] == "refused"]

    def _end(self, lives: Any) -> None:
        for pid, _ in list(lives):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._alive.discard(pid)

    def _found(self) -> dict[str, Any]:
        wrong: defaultdict[str, list[str]] = defaultdict(list, {"not let in": self._not_let_in})
        counted: Counter[str] = Counter(taken_over=self._rounds * len(self._names), hung_inside=self._hung_inside)
        for name in self._names:
            lines = _lines(self._folder / name)
            states = next((line[3] for line in reversed(lines) if line[2] == "goals"), None)
            if states is None:
                wrong["errors"].append(f"{name}: nobody told its goals")
                continue
            said = {word: Counter(line[3] for line in lines if line[2] == word) for word in ("heard", "kept")}
            wrong["lost"] += [one for one in said["heard"] | said["kept"] if one not in states]
            wrong["twice"] += [one for times in said.values() for one, often in times.items() if often > 1]
            wrong["late"] += [f"{line}" for line in lines if self._is_late(line)]
            counted.update({word: len(times) for word, times in said.items()})
            counted.update(line[2] for line in lines if line[2] in {"fenced", "ended"})
            counted["kept and open"] += sum(states.get(one) != GoalState.DONE for one in said["kept"])
        seconds = [round(each, 1) for each in sorted(self._waits)]
        return {
            "wrong": {kind: found for kind, found in wrong.items() if found},
            "counted": counted,
            "seconds": seconds,
        }

    def _is_late(self, line: Sequence[Any]) -> bool:
        """Tell whether a process said or wrote something after another had followed it."""
        number, at, word, said = line[0], line[1], line[2], line[3:]
        if at <= self._over.get(number, float("inf")):
            return False
        return word in {"heard", "kept"} or (word == "written" and said[0] not in self._closed)


def _lines(path: Path) -> list[list[Any]]:
    return lines_of(path) if path.exists() else []


if __name__ == "__main__":
    folder, rounds, characters, seed = sys.argv[1:]
    print_report(Takeovers(Path(folder), int(rounds), int(characters), int(seed)).run)
