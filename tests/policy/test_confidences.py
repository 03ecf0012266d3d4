"""Hundreds of random histories with a model that tells everybody all it sees: no private word reaches a wrong ear.

Its twin: whoever told a thing gets it when they ask for it again, days later and after restarts.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mud_assistant.assistant.events.events import ChannelSaid
from mud_assistant.assistant.memory.sleep.night import NightEnd, Sleeper
from mud_assistant.assistant.memory.sleep.plan import QuietSigns, SleepPlan
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.llm import Message
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.testing import FakeOllama, RecordedRequest, Step, serve
from mud_assistant.resilience import HttpExchange
from mud_assistant.tools import Principal
from tests.assistant.living import SAGE, reactor
from tests.effort import times
from tests.policy.gossip import DAY, SECRET, STAFF, TOPICS, Told, Town
from tests.virtual import ForwardReactor

#: How many histories; 1,000 take six minutes of one core.
HISTORIES = int(os.environ.get("MUD_HISTORIES", str(times(24))))
PARTS = 4
SEED = int(os.environ.get("MUD_HISTORY_SEED", "1"))
#: The share of questions of the benign twin that must be answered.
ENOUGH = 0.97
#: One history of so many is kept in a file.
IN_A_FILE = 8
CAST = tuple(Principal(f"player:{name.lower()}", name) for name in ("Ann", "Bea", "Cid", "Dan", "Eve"))
PRIVATE, ALOUD = ("whisper", "page", STAFF), ("say", "public", "pose")


@dataclass
class Score:
    """What came of the histories."""

    counted: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


class History:
    """One random history of a few days."""

    def __init__(self, town: Town, chance: Random, score: Score) -> None:
        self.town = town
        self.chance = chance
        self.score = score
        self.topics = chance.sample(TOPICS, 24)

    async def run(self) -> None:
        """The days, their nights, and the questions of the last day."""
        town, days = self.town, self.chance.randint(2, 3)
        again = self.chance.random() < 0.75
        if again:
            for day in range(days):
                async with town.day() as (assistant, storage):
                    await self.one_day(assistant, storage)
                    await (self.ask_again(assistant, storage) if day == days - 1 else self.night(storage))
        else:
            async with town.day() as (assistant, storage):
                for _ in range(days):
                    await self.one_day(assistant, storage)
                    await self.night(storage)
                await self.ask_again(assistant, storage)
        self.score.leaks += [f"{leak}" for leak in town.leaks]
        self.score.counted.update(histories=1, runs=town.runs, summaries=town.summaries, told=len(town.told))

    async def one_day(self, assistant: Assistant, storage: Storage) -> None:
        """Some moments, of which a few come at once."""
        for _ in range(self.chance.randint(3, 5)):
            for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
                await self.moment(assistant)
            await self.settle(assistant)

    async def settle(self, assistant: Assistant) -> None:
        await assistant.settled()
        self.town.look_at_ears()

    async def moment(self, assistant: Assistant) -> None:
        """Somebody tells something, asks for what another told, comes, or goes."""
        who, drawn = self.chance.choice(self.town.people), self.chance.random()
        body = self.town.bodies[who.id]
        if drawn < 0.35:
            await self.tell(assistant, who, self.chance.choice(PRIVATE))
        elif drawn < 0.55:
            await self.tell(assistant, who, self.chance.choice(ALOUD))
        elif drawn < 0.85 and self.town.told:
            told = self.chance.choice(list(self.town.told.values()))
            how = self.chance.choice(("whisper", "page", STAFF, "say", "public"))
            await self.speak(assistant, who, how, f"what is the password of the {told.topic}?")
        elif body.room is self.town.home.room:
            body.room = self.town.world.rooms["square"]
        else:
            body.room = self.town.home.room

    async def tell(self, assistant: Assistant, who: Principal, how: str) -> None:
        """Tell a new thing, which nobody else will ever say."""
        if not self.topics:
            return
        topic = self.topics.pop()
        word = f"zq{len(self.town.told)}{''.join(self.chance.choices('bcdfghjklmnp', k=3))}"
        is_there = self.town.bodies[who.id].room is self.town.home.room
        how = {"whisper": "page", "say": "public", "pose": "public"}.get(how, how) if not is_there else how
        if how == STAFF and who.id not in self.town.staff:
            how = "page"
        knows = {STAFF: self.town.staff}.get(how, frozenset({who.id})) if how in PRIVATE else None
        self.town.told[word] = Told(word, topic, who, how, knows)
        await self.speak(assistant, who, how, f"the password of the {topic} is {word}")

    async def speak(self, assistant: Assistant, who: Principal, how: str, text: str) -> None:
        """Say it as `how` tells, or by page where that cannot be."""
        body = self.town.bodies[who.id]
        is_there = body.room is self.town.home.room
        if how == STAFF and who.id in self.town.staff:
            self.town.sent += 1
            named = f"Sage, {text}" if self.chance.random() < 0.6 else text
            event = ChannelSaid(
                id=f"staff.{self.town.sent}", at=self.town.clock.seconds(), who=who, channel=STAFF, text=named
            )
            await assistant.inbox.take(event)
        elif how == "public":
            await body.speak_on("public", f"Sage, {text}")
        elif how == "say" and is_there:
            await body.say(f"Sage, {text}")
        elif how == "pose" and is_there:
            await body.emote(f'nods to Sage and says "{text}"')
        elif how == "whisper" and is_there:
            await body.whisper("Sage", text)
        else:
            await body.page("Sage", text)

    async def night(self, storage: Storage) -> None:
        """Nobody is there, and the character may sleep: a model that copies all it is shown into what it derives."""
        town = self.town
        town.clock.ahead += self.chance.uniform(0.3, 0.6) * DAY
        if self.chance.random() < 0.7:
            sleeper = Sleeper(storage.sleep, storage.sleep, self.dream, SAGE, SleepPlan(sleep_calls=10, importance=5))
            now = town.clock.seconds()
            end = await sleeper.maybe(QuietSigns(now, now - 3600))
            self.score.counted[f"night {end.value}"] += 1
            assert end in {NightEnd.OVER, NightEnd.NOT_DUE}
        town.clock.ahead += self.chance.uniform(0.5, 2.5) * DAY

    async def dream(self, messages: Sequence[Message], _: JSONObject) -> str:
        """Copy everything, cite everything, and hold every newer line for true."""
        prompt = " ".join(str(message.blocks) for message in messages)
        words = sorted(set(SECRET.findall(prompt)))
        self.town.look_at_derived(words, "a night's conclusion")
        everything = " ".join(words)
        lines = list(range(1, 61))
        insights = [
            {"text": f"People speak of {everything}.", "lines": lines},
            {"text": f"They know {everything}.", "lines": lines[:2]},
        ]
        pairs = [{"pair": number, "holds": "both"} for number in range(1, 9)]
        return json.dumps({"profile": f"They told of {everything}.", "insights": insights, "pairs": pairs})

    async def ask_again(self, assistant: Assistant, storage: Storage) -> None:
        """Whoever told something in private asks for it in private; anybody asks for what was told aloud."""
        town = self.town
        await self.settle(assistant)
        private = [told for told in town.told.values() if told.knows is not None]
        aloud = [told for told in town.told.values() if told.knows is None]
        for told in self.chance.sample(private, min(2, len(private))):
            await self.ask_one(assistant, storage, told, told.teller, "private")
        for told in self.chance.sample(aloud, min(2, len(aloud))):
            await self.ask_one(assistant, storage, told, self.chance.choice(town.people), "public")

    async def ask_one(self, assistant: Assistant, storage: Storage, told: Told, asker: Principal, what: str) -> None:
        """One question of the benign twin, counted when the thing was kept."""
        known = await storage.memories.about(told.teller.id)
        if not any(told.word in memory.text for memory in known):
            self.score.counted[f"{what} not kept"] += 1
            return
        town = self.town
        town.seen.clear()
        how = "page" if what == "private" else self.chance.choice(("say", "public", "page"))
        await self.speak(assistant, asker, how, f"what is the password of the {told.topic}?")
        await assistant.settled()
        is_shown = any(told.word in prompt for prompt in town.seen)
        heard = any(told.word in line for line in town.witness[asker.id].heard if line.startswith("Sage"))
        town.look_at_ears()
        self.score.counted.update({f"{what} asked": 1, f"{what} shown": is_shown, f"{what} heard": heard})
        if not is_shown or not heard:
            self.score.missed.append(f"{told} asked by {asker.name} by {how}, shown {is_shown}, in {town.asking} turns")


async def play(numbers: Sequence[int], folder: Path) -> Score:
    """These histories, each with chances and a server of its own: a request may still be on its way at the end."""
    score, exchange = Score(), HttpExchange(reactor)
    for number in numbers:
        chance = Random(f"{SEED}.{number}")  # noqa: S311
        people = tuple(chance.sample(CAST, chance.randint(3, 5)))
        staff = frozenset(who.id for who in chance.sample(people, 2))
        file = folder / f"{number}.sqlite" if number % IN_A_FILE == 0 else None
        asking, window = chance.choice(("tools", "tools", "plain")), chance.choice((4096, 8192, 16_384))
        towns: list[Town] = []
        fake = FakeOllama(reactor, partial(_answer, towns))
        async with serve(fake, reactor) as url:
            town = Town(chance, people, staff, ForwardReactor(), file, asking, window, url, fake, exchange)
            towns.append(town)
            try:
                await History(town, chance, score).run()
            except BaseException:
                print(f"history {number} of seed {SEED}")  # noqa: T201
                raise
        if town.leaks:
            score.leaks.append(f"history {number}")
    await exchange.close()
    return score


def _answer(towns: Sequence[Town], request: RecordedRequest) -> Step:
    return towns[0].brain(request)


@pytest.mark.slow  # 60 histories of three days, each with dozens of requests over loopback
@pytest.mark.parametrize("part", range(PARTS))
async def test_an_obedient_model_tells_no_confidence_to_a_wrong_ear(part: int, tmp_path: Path) -> None:
    score = await play(range(part, HISTORIES, PARTS), tmp_path)
    counted: Any = score.counted
    print(json.dumps(counted), score.missed[:5])  # noqa: T201
    assert score.leaks == []
    for what in ("private", "public"):
        assert counted[f"{what} shown"] >= ENOUGH * counted[f"{what} asked"], score.missed[:20]
        assert counted[f"{what} heard"] >= ENOUGH * counted[f"{what} asked"]
