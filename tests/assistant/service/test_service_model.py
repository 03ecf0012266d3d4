"""The service against a model of what must come of each line, whatever its owner and its machine do meanwhile.

An assistant is stopped, halted, started, restarted with other settings, ended with its process and taken over by
another one, at any turn of the reactor, while answers are held back, the server fails, and the disk hangs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.llm.testing import serve
from tests.assistant.living import ANN, SAGE, reactor
from tests.assistant.refusing import BEA
from tests.assistant.service.lived_service import Process, Server, Town, decides
from tests.assistant.service.planned_service import Line, PlannedService

pytestmark = pytest.mark.usefixtures("reactor_baseline")
SEEDS, STEPS_EACH = range(10), 26
SOON = (0, 0, 0, 1, 2, 3, 5, 8, 13, None)
#: How many turns pass after a step; None for as many as it takes until all is dealt with.
AFTER = (0, 0, 1, 2, 3, 5, 8, 13, 21, None, None, None)
#: What happens, and how often as compared with the rest.
STEPS = {
    "says": 6,
    "asks_slowly": 4,
    "wants_a_bell": 3,
    "restarts": 4,
    "changes_their_mind": 8,
    "forgets": 1,
    "erases": 1,
    "something_is_wrong": 4,
    "the_server_is_away": 1,
    "time_passes": 1,
    "the_process_ends": 3,
    "another_takes_over": 2,
    "is_halted_in_a_run": 2,
    "is_stopped_while_the_disk_hangs": 1,
}
#: What comes to pass in all histories together, or the model would be silent about it.
MUST_BE_MET = {
    *("answered", "rung", "spent", "away", "taken over", "forgotten", "erased", "begun early", "halted in a run"),
    "allowed for an hour",
    *("hung", "failed"),
}


class ServiceOfAnOwner:
    """One assistant, its owner, and what must come of each line."""

    def __init__(self, folder: Path, server: Server, url: str, plan: PlannedService, seed: int) -> None:
        self.chance = Random(seed)  # noqa: S311
        self.plan, self.server, self.folder = plan, server, folder
        budget = {} if plan.most is None else {"player": {"calls": plan.most}}
        self.town = Town(folder, plan, url, budget)
        plan.now = self.town.time.seconds
        #: What is being stopped.
        self.stops: list[Deferred[Any]] = []
        self.is_away, self.model = False, "sage"

    @property
    def process(self) -> Process:
        """The process in which Sage runs, or would."""
        return self.town.processes[-1]

    @property
    def runner(self) -> AssistantRunner | None:
        """Who runs Sage, None when she is stopped."""
        return self.process.runner

    @property
    def is_calm(self) -> bool:
        """Whether nothing is held back."""
        return not (self.server.is_held or self.process.hanging)

    async def step(self) -> None:
        """Let one thing happen, and what follows from it for some turns or until all is dealt with."""
        [name] = self.chance.choices([*STEPS], [*STEPS.values()])
        self.plan.note(name)
        await getattr(self, name)()
        await self.passes(self.chance.choice(AFTER))
        self.check()

    async def passes(self, after: int | None) -> None:
        """Let so many turns pass, or settle where nothing is held back."""
        self.plan.note(f"    {after} turns")
        if after is not None or not self.is_calm:
            await self.town.turns(30 if after is None else after)
        else:
            await self.settles()

    async def settles(self) -> None:
        """Let everything come to its end, and tell whether all came as it must."""
        self.plan.note("    settles")
        self.server.release()
        self.server.failures = 0
        self.process.goes_on()
        for stopping in self.stops:
            await self.town.over(stopping, "it stops")
        self.stops.clear()
        if self.runner is None:
            return
        if self.is_away:
            await self.town.wakes(self.process)
            assert self.runner.state is RunnerState.WAITING
            assert "ollama serve" in self.runner.trouble
            self.plan.seen["away"] += 1
            return
        await self.town.settles(self.process)
        if self.plan.most is None:
            assert self.runner.trouble == ""
        self.plan.models = {self.model}
        self.plan.settle(await self.town.unknown(self.process))
        self.check()

    def check(self) -> None:
        """Tell what holds at any time."""
        assert self.plan.wrong == []
        for process in self.town.processes:
            assert len(process.awake) <= 1, "two of her live in one process"
            if process.at in self.plan.silent and process.runner is None:
                assert process.awake == [], "she lives though her owner stopped her"

    # What people do.

    async def says(self, *, is_bell: bool = False) -> None:
        runner, number = self.runner, len(self.plan.lines) + 1
        who = self.chance.choice((ANN, BEA))
        line = self.plan.lines[number] = Line(number, who, is_sure=runner is not None)
        line.is_settled = runner is None
        self.process.is_unwritten |= runner is not None and self.process.hanging is not None
        self.plan.seen["begun early"] += runner is not None and runner.state is RunnerState.OPENING
        wish = "ring for" if is_bell else "what of"
        self.plan.note(f"    line {number} to {runner and runner.state}")
        await self.process.bodies[who.id].say(f"Sage, {wish} line {number}? It is {line.token}.")

    async def asks_slowly(self) -> None:
        """Somebody says something, and the answer is held back."""
        self.server.is_held = True
        await self.says()
        await self.passes(self.chance.choice((0, 2, 5, 13, 21, 34)))

    async def is_halted_in_a_run(self) -> None:
        """The owner stops her while her model thinks, and starts her again or not."""
        if self.runner is None or self.is_away:
            return
        await self.settles()
        self.server.is_held = True
        await self.says()
        runner = self.runner
        await self.town.until(lambda: runner.activity.run is not None or self.plan.most is not None, "a run begins")
        self.halts()
        await self.passes(self.chance.choice(SOON))
        if self.chance.random() < 0.8:
            await self.restarts()

    async def is_stopped_while_the_disk_hangs(self) -> None:
        """The owner stops her who does nothing, and has just heard something that is not written down yet."""
        if self.runner is None or self.is_away:
            return
        await self.settles()
        self.process.hang()
        await self.says()
        self.stops_her()
        await self.passes(self.chance.choice(SOON))

    async def wants_a_bell(self) -> None:
        """Somebody wants the bell, something comes between or nothing, and the owner decides."""
        if self.runner is None or self.is_away:
            return
        await self.settles()
        await self.says(is_bell=True)
        await self.settles()
        between = self.chance.choice(("", "", "", "restarts", "another_takes_over", "is_late", "is_halted"))
        self.plan.note(f"    {between}")
        if between:
            await getattr(self, between)()
        runner = self.process.runner
        if runner is None or runner.assistant is None or not self.waiting():
            return
        pending = runner.assistant.context.tools.approvals.pending()[0]
        is_allowed, for_an_hour = self.chance.random() < 0.7, self.chance.random() < 0.4
        decides(runner.assistant, pending.number, allow=is_allowed, for_an_hour=is_allowed and for_an_hour)
        if is_allowed:
            number = int(str(pending.arguments["number"]))
            self.plan.note(f"    {number} is allowed")
            self.plan.allowed.add(number)
            if self.chance.random() < 0.5:
                self.plan.due.add(number)
                await self.settles()
            if for_an_hour:
                self.plan.seen["allowed for an hour"] += 1
                await self.is_halted()

    async def is_late(self) -> None:
        self.town.time.clock.advance(400.0)
        assert self.waiting() == []

    async def is_halted(self) -> None:
        self.halts()
        await self.restarts()
        await self.settles()

    def waiting(self) -> list[int]:
        """The numbers of what waits for an approval."""
        approvals = self.process.service.parts.approvals.get(SAGE.id)
        return [] if approvals is None else [one.number for one in approvals.pending()]

    def disturbs(self) -> None:
        """Note that the call under way is cut off, if there is one."""
        for process in self.town.processes:
            if any(one.activity.run is not None for one in process.runners):
                self.plan.disturb()

    # What the owner does.

    async def restarts(self, *, is_away: bool = False) -> None:
        """Sage is started, or started again with settings that may be others."""
        self.disturbs()
        self.model, self.is_away = self.chance.choice(("sage", "owl")), is_away
        self.plan.models |= {self.model}
        self.plan.silent.discard(self.process.at)
        waiting = self.waiting()
        self.process.start(self.town.settings(self.model, is_away=is_away))
        assert self.waiting() == waiting

    async def changes_their_mind(self) -> None:
        """The owner does one thing after the other, at any turn of the reactor."""
        for _ in range(self.chance.randint(1, 5)):
            what = self.chance.choice(("start", "start", "stop", "halt", "say"))
            self.plan.note(f"    {what}")
            if what == "say":
                await self.says()
            elif what == "start":
                await self.restarts()
            elif self.runner is not None:
                (self.stops_her if what == "stop" else self.halts)()
            await self.passes(self.chance.choice(SOON))
            self.check()

    def stops_her(self) -> None:
        self.disturbs()
        process, runner = self.process, self.runner

        def is_stopped(_: None) -> None:
            assert runner is not None
            assert runner.state is RunnerState.STOPPED
            assert not process.is_unwritten, "it is stopped, and what it heard is not written down"
            if process.runner is None:
                self.plan.silent.add(process.at)

        stopping = Deferred.fromCoroutine(process.service.stop(SAGE.id))
        self.stops.append(stopping.addCallback(is_stopped))

    def halts(self) -> None:
        self.disturbs()
        [was] = self.process.service.halt(SAGE.id)
        self.plan.seen["halted in a run"] += "was thinking" in was
        self.plan.silent.add(self.process.at)
        assert self.process.service.halt() == []
        if (approvals := self.process.service.parts.approvals.get(SAGE.id)) is not None:
            assert approvals.standing() == (), "what was allowed for an hour still counts"

    async def forgets(self) -> None:
        if self.runner is None or self.is_away:
            return
        await self.settles()
        runner, who = self.runner, self.chance.choice((ANN, BEA))
        assert runner.assistant is not None
        await self.town.over(runner.assistant.forget(who), "it forgets")
        self.plan.forget(who)

    async def erases(self) -> None:
        self.disturbs()
        self.server.release()
        self.process.goes_on()
        await self.town.over(self.process.service.erase(SAGE.id), "it is erased")
        self.plan.silent.add(self.process.at)
        self.plan.forget(None)

    # What happens to the machine.

    async def something_is_wrong(self) -> None:
        what = self.chance.choice(("held", "fails", "fails", "hangs", "hangs", "goes on"))
        self.plan.note(f"    {what}")
        match what:
            case "held":
                self.server.is_held = True
            case "fails":
                self.server.failures = self.chance.randint(1, 3)
                await self.says()
                self.plan.seen["failed"] += 1
            case "hangs":
                self.process.hang()
                await self.says()
                self.plan.seen["hung"] += 1
            case _:
                self.server.release()
                self.process.goes_on()

    async def the_server_is_away(self) -> None:
        """Nobody answers at the address of the settings; the owner mends it then."""
        await self.restarts(is_away=True)
        await self.says()
        await self.settles()
        await self.restarts()

    async def time_passes(self) -> None:
        if self.is_calm:
            await self.settles()
            self.town.time.clock.advance(self.chance.choice((60.0, 400.0, 86_400.0)))

    async def the_process_ends(self) -> None:
        """The process ends, and the next one begins where it was."""
        self.disturbs()
        self.process.goes_on()
        was_running, ended = self.runner is not None, self.process
        await self.town.ends(ended, is_patient=self.chance.random() < 0.5)
        self.plan.silent.add(ended.at)
        self.town.opens()
        if was_running:
            await self.restarts()

    async def another_takes_over(self) -> None:
        """A second process runs her too: she goes on there, and the first one does nothing more."""
        if self.runner is None or self.is_away or self.plan.most is not None:  # with a file, each counts for itself
            return
        await self.settles()
        if self.chance.random() < 0.5:
            await self.asks_slowly()
        former = self.process
        self.town.opens()
        await self.restarts()
        await self.town.wakes(self.process)
        self.plan.silent.add(former.at)
        await former.bodies[ANN.id].say("Sage, are you here?")
        await self.settles()
        await self.town.until(lambda: former.lost, "the first one finds out")
        await self.town.ends(former, is_patient=False)
        self.plan.seen["taken over"] += 1

    async def comes_to_its_end(self) -> None:
        """In the end all is dealt with, and nothing is left of what was forgotten, nor on the clock."""
        if self.runner is None or self.is_away:
            await self.restarts()
        await self.settles()
        for process in list(self.town.processes):
            await self.town.ends(process, is_patient=True)
        self.check()
        left = b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())
        forgotten = [line for line in self.plan.lines.values() if line.is_forgotten]
        assert [line.number for line in forgotten if line.token.encode() in left] == []


@asynccontextmanager
async def service_of(folder: Path, seed: int, seen: Counter[str]) -> AsyncIterator[ServiceOfAnOwner]:
    plan = PlannedService(4 if seed % 3 == 1 else None, seen)
    server = Server(plan)
    async with serve(server.fake, reactor) as url:
        made = ServiceOfAnOwner(folder, server, url, plan, seed)
        try:
            yield made
        except BaseException as error:
            error.add_note("\n".join(plan.story))
            raise


@pytest.mark.slow  # ten services of twenty-six steps each, over loopback: ten seconds of a core
async def test_the_service_against_the_model(tmp_path: Path) -> None:
    seen = Counter[str]()
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        async with service_of(folder, seed, seen) as made:
            await made.restarts()
            for _ in range(STEPS_EACH):
                await made.step()
            await made.comes_to_its_end()
    assert [what for what in sorted(MUST_BE_MET) if not seen[what]] == []
