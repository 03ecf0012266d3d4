"""Which assistants may go to another process, over histories: none that waits for an approval, whatever came before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.journal import JournalUnwritable
from mud_assistant.assistant.runtime.sharing.journal import SharedJournal
from mud_assistant.assistant.service.handing import share_out
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.runner import RunnerState
from mud_assistant.llm.messages import ToolCall
from mud_assistant.llm.testing import FakeOllama, Reply, serve
from mud_assistant.tools import Kind, Principal, Requirement
from mud_assistant.tools.policy.approvals import SECONDS
from tests.assistant.living import ANN, reactor
from tests.assistant.service.village import Village, village
from tests.virtual import VirtualReactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")
CAST = [Principal(f"assistant:{name.casefold()}", name, Kind.ASSISTANT) for name in ("Sage", "Iris", "Brom")]
OWNER = Principal("player:owner", "Owner", permission=5)
STEPS = 40
STEP_NAMES = ("ask", "ask", "approve", "decline", "forget", "wait", "stop", "start", "give", "give", "give in vain")


class GivingJournal:
    """Stands for a shared journal: who goes, and how, is taken from it; `given` is what went.

    While it `is_away`, nobody can be given.
    """

    def __init__(self) -> None:
        self.given: list[tuple[str, str]] = []
        self.is_away = False
        self.mine: Callable[[], Sequence[str]]
        self.hand_over: Callable[[str, str], Awaitable[None]]

    def balance(self, mine: Callable[[], Sequence[str]], hand_over: Callable[[str, str], Awaitable[None]]) -> None:
        self.mine, self.hand_over = mine, hand_over

    async def give(self, assistant: str, to: str) -> None:
        if self.is_away:
            raise JournalUnwritable("its database is away")
        self.given.append((assistant, to))


class Household:
    """Three assistants, and a model of which of them wait for an approval."""

    def __init__(self, home: Village, time: VirtualReactor, settings: dict[str, Any], seed: int) -> None:
        self.home, self.time, self.settings = home, time, settings
        self.chance = Random(seed)  # noqa: S311
        self.journal = GivingJournal()
        share_out(home.service, cast("SharedJournal", self.journal))
        #: The requests of each, by their numbers, with the time at which they end.
        self.asked: dict[str, dict[int, float]] = {who.id: {} for who in CAST}
        self.running: set[str] = set()
        self.steps: list[str] = []

    async def step(self) -> None:
        """One thing that happens, and what must hold then."""
        one = self.chance.choice(CAST)
        name = self.chance.choice(STEP_NAMES)
        self.steps.append(f"{name} {one.name}")
        approvals, asked = self.home.service.parts.approvals.get(one.id), self.asked[one.id]
        match name:
            case "ask" if approvals is not None:
                call = ToolCall("1", "execute_command", {"line": self.chance.choice(("open gate", "ring bell"))})
                number = approvals.request(call, Requirement(3), self.chance.choice((ANN, None))).number
                asked[number] = self.time.seconds() + SECONDS
            case "approve" if approvals is not None and asked:
                approvals.approve(number := self.chance.choice(list(asked)), OWNER)
                del asked[number]
                approvals.take(number)
            case "decline" if approvals is not None and asked:
                approvals.decline(number := self.chance.choice(list(asked)), OWNER)
                del asked[number]
            case "forget" if approvals is not None:
                theirs = {each.number for each in approvals.pending() if each.requester == ANN}
                approvals.forget(ANN)
                self.asked[one.id] = {number: ends for number, ends in asked.items() if number not in theirs}
            case "wait":
                self.time.clock.advance(self.chance.choice((1.0, SECONDS / 2, SECONDS)))
            case "stop":
                await self.home.service.stop(one.id)
                self.running.discard(one.id)
            case "start":
                await self.start(one)
            case "give":
                await self._give(one)
            case "give in vain":
                await self._give_in_vain(one)
        self.check()

    async def start(self, one: Principal) -> None:
        if one.id not in self.running:
            self.home.service.start(Embodiment(one, self.home.home), merged(self.settings))
            self.running.add(one.id)
            assert one.id not in self.journal.mine(), "it does not live here yet"
        await self.time.until(lambda: self.home.service.runners[one.id].state is RunnerState.AWAKE)

    def check(self) -> None:
        assert sorted(self.journal.mine()) == sorted(self._expected()), self.steps

    def _expected(self) -> set[str]:
        now = self.time.seconds()
        return {one for one in self.running if all(ends <= now for ends in self.asked[one].values())}

    async def _give(self, one: Principal) -> None:
        """Hand it over, also when it was chosen a moment ago and may not go now."""
        may_go, before = one.id in self._expected(), len(self.journal.given)
        await self.journal.hand_over(one.id, "there")
        assert self.journal.given[before:] == [(one.id, "there")] * may_go, self.steps
        if one.id in self.running:
            await self.start(one)

    async def _give_in_vain(self, one: Principal) -> None:
        """Try to hand it over while the journal is away: it goes on here, and may be given another time."""
        self.journal.is_away, may_go = True, one.id in self._expected()
        with pytest.raises(JournalUnwritable) if may_go else nullcontext():
            await self.journal.hand_over(one.id, "there")
        self.journal.is_away = False
        if one.id in self.running:
            await self.start(one)


@asynccontextmanager
async def household(folder: Path, seed: int) -> AsyncIterator[Household]:
    time = VirtualReactor()
    async with (
        serve(FakeOllama(reactor, lambda _: Reply("noop")), reactor) as url,
        village(folder, on=time) as home,
    ):
        model = {"provider": "ollama", "url": url, "model": "sage", "examples": False}
        lived = Household(home, time, {"model": model}, seed)
        for one in CAST:
            await lived.start(one)
        yield lived


@pytest.mark.parametrize("seed", range(4))
async def test_who_waits_for_an_approval_stays_and_all_others_may_go(tmp_path: Path, seed: int) -> None:
    async with household(tmp_path, seed) as lived:
        for _ in range(STEPS):
            await lived.step()
        assert lived.journal.given, "the history gave nobody away"
