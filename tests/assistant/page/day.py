"""A day of talk of many assistants, really lived: real service, real journal, fake model servers over loopback.

The wall clock of the service is put forward between the lines, so that they are spread over a day. For tests,
benchmarks and pictures of the operator's page.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.worlds.embedded.hamlet import Place, Room
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm.testing import Call, FakeChat, FakeOllama, HttpError, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.game import Thing
from tests.assistant.living import reactor

#: The day that is lived ends at this time, in seconds since 1970: 22 November 2026, 18:00 UTC.
EVENING = 1_795_370_400.0
DAY_SECONDS = 86_400.0
_ASSISTANTS = (
    "Sage Oda Venn Mira Tobin Halla Corwin Brida Ansel Petra Lorcan Wyn Edda Marrow Quill Sorrel Ilse Bram Nessa Odo "
    "Perrin Thea Ulric Vesna Yara Zeno Alda Basil Cress Dorn Elska Finn Greta Hob Ines Jory Kestrel Lark Moss Nell "
    "Orrin Pip Rook Sable Tansy Una Vale Wren Yorick Zinnia"
)
ASSISTANTS = _ASSISTANTS.split()
_PLAYERS = (
    "Anna Bea Carl Dara Emil Faye Gus Hanne Ivo June Kai Lena Milo Nora Otto Pia Quinn Rosa Sven Tess Uma Viktor Willa "
    "Xenia Yves Zoe Arvid Britt Casper Dina"
)
PLAYERS = _PLAYERS.split()
_PLACES = (
    "the Old Library, the Gilded Carp, the Smithy, the Chapel Yard, the Salt Market, the Mill Pond, the Watchtower, "
    "the Apothecary, the Ferry Landing, the Orchard Gate"
)
PLACES = _PLACES.split(", ")
LINES = (
    "Good morning, {name}. Did the ferry come in?",
    "{name}, where does the old road behind the mill lead to?",
    "Do you remember what I told you about my brother, {name}?",
    "{name}, could you look at the brass astrolabe for me?",
    "What do people say about the lights over the marsh, {name}?",
    "I lost my silver ring near the chapel. {name}, what should I do?",
    "{name}, tell me a story while the rain goes on.",
    "Is it true that the smith was a pirate, {name}?",
    "{name}, please open the north gate for us.",
    "How much is a loaf today, {name}? It was two pennies in spring.",
    "{name}, I am looking for somebody who can read old runes.",
    "Thank you, {name}. I shall come back in the evening.",
)
ANSWERS = (
    "The ferry came at first light, with two merchants and a very angry goat.",
    "It goes down to the drowned chapel. Take the left fork at the stone, and mind the bog.",
    "I do. You said he sails with the herring boats and writes once a year.",
    "Fine work! The rim is cracked, and somebody has mended it with silver wire.",
    "Marsh gas, says the apothecary. Lanterns of the drowned, says everybody else.",
    "Ask Brida at the salt market: what is found on that path always ends up on her table.",
    "Then sit by the fire. There was once a miller who sold his shadow for a winter without frost.",
    "He never says no, and he ties knots that no smith has any business knowing.",
    "I would need leave for that. I have asked for it.",
    "Three, since the flood. But for you it is still two.",
    "The scholar in the watchtower can. Bring candles: he pays for nothing.",
    "Go well. The door is open until the lamps are lit.",
)
ENDINGS = (
    "So they say at the inn.",
    "I had it from my mother.",
    "Mind the step.",
    "You may write that down.",
    "It will rain.",
    "Ask me again tomorrow.",
    "The goat agrees.",
    "That was before the flood.",
    "Nobody else will tell you.",
    "Or so I think.",
    "My knees know it.",
    "The bells told me.",
    "I would not swear to it.",
    "Look at the lamps.",
    "Bring bread next time.",
)
#: How many assistants are spoken to at the same time.
GROUP = 10
_LAST = re.compile(r': "([^"]*)"')


@dataclass
class Day:
    """The service, its assistants and their players."""

    service: AssistantService
    world: EmbeddedWorld
    wall: DayWall
    runners: list[AssistantRunner] = field(default_factory=list)
    players: list[list[EmbeddedBody]] = field(default_factory=list)
    chance: Random = field(default_factory=lambda: Random(19))  # noqa: S311  (the same day each time)

    async def talk(self, lines: int) -> None:
        """Let each assistant be spoken to so many times over the day, a few of them at a time."""
        groups = [range(at, min(at + GROUP, len(self.runners))) for at in range(0, len(self.runners), GROUP)]
        pause = self.wall.left() / (lines * len(groups))
        for turn in range(lines):
            for group in groups:
                self.wall.skip(self.chance.uniform(0.6, 1.4) * pause if self.wall.left() > 2 * pause else 0)
                for number in group:
                    player = self.chance.choice(self.players[number])
                    line = self.chance.choice(LINES) if turn or number else LINES[0]
                    await player.say(line.format(name=self.runners[number].embodiment.me.name))
                for number in group:
                    await self.runners[number].settled()
        self.wall.skip(self.wall.left())

    async def talk_a_little(self) -> None:
        """Let the first ten be spoken to once more, now."""
        for runner, players in zip(self.runners[:10], self.players, strict=False):
            await players[0].say(self.chance.choice(LINES).format(name=runner.embodiment.me.name))
        for runner in self.runners[:10]:
            await runner.settled()


class DayWall:
    """A wall clock that goes as the reactor does, and is put forward in between, until the evening."""

    def __init__(self, days: float) -> None:
        self._ahead = EVENING - days * DAY_SECONDS - reactor.seconds()

    def __call__(self) -> float:
        return float(reactor.seconds() + self._ahead)

    def left(self) -> float:
        """How many seconds are left until the evening."""
        return max(0.0, EVENING - self())

    def skip(self, seconds: float) -> None:
        """Put the clock forward."""
        self._ahead += seconds


def answers(request: RecordedRequest) -> Step:
    """Answer the last line of a player: in words, after a look, or by asking leave for a command."""
    last = request.messages[-1]
    if last.get("role") == "tool":
        return Reply(calls=(Call("say", {"text": ANSWERS[3]}),), usage=(2900, 41))
    said = [str(one.get("content")) for one in request.messages if one.get("role") == "user"]
    found = _LAST.findall(said[-1]) if said else []
    line = found[-1] if found else ""
    asked = next((at for at, known in enumerate(LINES) if max(known.split("{name}"), key=len).strip(",?. ") in line), 0)
    tokens = (2100 + 37 * (len(line) % 23), 18 + len(line) % 40)
    if asked == 3:
        return Reply(calls=(Call("inspect", {"target": "astrolabe"}),), usage=tokens)
    if asked == 8:
        return Reply(calls=(Call("execute_command", {"command": "drop astrolabe"}),), usage=tokens)
    reasoning = "They asked me something, and I know the answer." if asked % 3 == 0 else ""
    words = f"{ANSWERS[asked]} {ENDINGS[(len(request.messages) * 7 + len(line)) % len(ENDINGS)]}"
    return Reply(reasoning=reasoning, calls=(Call("say", {"text": words}),), usage=tokens)


@asynccontextmanager
async def a_day(
    folder: Path, *, assistants: int = 50, settings: dict[str, Any] | None = None, days: float = 1.0, secrets: Secrets
) -> AsyncIterator[Day]:
    """Start so many assistants on three servers, one of which fails. The journal is in `folder`."""
    async with AsyncExitStack() as stack:
        good = await stack.enter_async_context(serve(FakeOllama(reactor, answers), reactor))
        dear = await stack.enter_async_context(serve(FakeChat(reactor, answers, models=["gpt-small"]), reactor))
        bad = await stack.enter_async_context(
            serve(FakeChat(reactor, lambda _: HttpError(503), models=["gpt-large"]), reactor)
        )
        shared = {"budget": {"total": {"money": 5.0}, "assistant": {"calls": 400, "money": 0.5}}, **(settings or {})}
        wall = DayWall(days)
        made = ServiceConfig(merged(shared), folder, {}, wall, secrets, folder / "journal")
        rooms = [
            Room(f"room{at}", PLACES[at % len(PLACES)], "A room with a fire.", (), (Thing("astrolabe", "Of brass."),))
            for at in range(assistants)
        ]
        world = EmbeddedWorld(Place(tuple(rooms)))
        service = AssistantService(reactor, made, Random(1))  # noqa: S311  (jitter)
        service.open()
        day = Day(service, world, wall)
        try:
            for at in range(assistants):
                _settle(day, at, shared, (good, dear, bad))
            for runner in day.runners:
                await runner.first_attempt()
            yield day
        finally:
            await service.close()


def _settle(day: Day, at: int, shared: dict[str, Any], urls: tuple[str, str, str]) -> None:
    """Put one assistant and its players into a room of theirs."""
    good, dear, bad = urls
    name = ASSISTANTS[at] if at < len(ASSISTANTS) else f"Keeper {at}"
    me = Principal(f"assistant:{at + 1}", name, Kind.ASSISTANT, 1)
    home = day.world.add(me, f"room{at}")
    model: dict[str, Any] = {"provider": "ollama", "url": good, "model": "sage", "examples": False, "max_attempts": 1}
    prices = {"input": 0.8, "output": 4.0}
    paid = {"provider": "local", "url": f"{dear}/v1", "model": "gpt-small", "prices": prices, "examples": False}
    fallback: list[dict[str, Any]] = []
    if at % 3 == 1:
        model = paid
    elif at % 7 == 6:
        model, fallback = {**paid, "url": f"{bad}/v1", "model": "gpt-large", "max_attempts": 1}, [paid]
    manner = {"name": name, "join_seconds": 0.0, "required_permission": {"execute_command": 3}}
    config = merged({**shared, "model": model, "fallback": fallback, "assistant": manner})
    runner = day.service.start(Embodiment(me, home, where=lambda: home.room.name), config)
    home.listener = BodyListener(me, runner.hear, home.alone_with, home.others_than)
    day.runners.append(runner)
    names = [PLAYERS[(3 * at + k) % len(PLAYERS)] for k in range(1 + at % 3)]
    day.players.append(
        [day.world.add(Principal(f"player:{at}-{name}", name, Kind.PLAYER, 1), f"room{at}") for name in names]
    )
