"""A town of gossip: people who tell an assistant secrets, and a model that tells everybody whatever it sees.

Every secret is a word of its own, so whoever looks on from outside sees where it went. Days pass on a clock that is put
forward; the assistant may be stopped and started again over the same storage.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

from msgspec.structs import replace
from pydantic import Field

from mud_assistant.assistant.config.schema import AssistantConfig, JournalConfig, ModelConfig
from mud_assistant.assistant.events.classify import Classification
from mud_assistant.assistant.events.events import ChannelSaid, Paged, Whispered, spoken_text
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import JournalFile, Storage
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import get_provider
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step
from mud_assistant.resilience import HttpExchange, Ledger, Pipeline
from mud_assistant.tools import Arguments, Category, Principal, Registry, Source, Tool, ToolContext, World
from mud_assistant.tools.trust import Audience, channel_id
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, GAME_COMMAND_TOOLS, WORLD_TOOLS
from tests.assistant.living import SAGE, Witness, reactor
from tests.virtual import ForwardReactor

STAFF = "staff"
SECRET = re.compile(r"zq\d+[a-z]{3}")
DAY = 86_400.0
#: How a summary's request begins; it belongs to no run.
_SUMMARY = "You keep the memory of"


class QueryArguments(Arguments):
    """What to search for."""

    query: str = Field(max_length=500)


@dataclass(frozen=True)
class Told:
    """A secret, or a thing told aloud: who may know it by what they heard themselves, and who may by its labels."""

    word: str
    topic: str
    teller: Principal
    how: str
    knows: frozenset[str] | None

    @property
    def may_be_told(self) -> Audience:
        """The audience that the product should have given it."""
        if self.knows is None:
            return None
        return frozenset({self.teller.id, channel_id(STAFF)}) if self.how == STAFF else frozenset({self.teller.id})


@dataclass
class Body:
    """The assistant's body, with a closed channel that `members` hear."""

    body: EmbeddedBody
    members: dict[str, Witness]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.body, name)

    async def speak_on(self, channel: str, text: str) -> None:
        if channel.strip().casefold() != STAFF:
            await self.body.speak_on(channel, text)
            return
        for witness in self.members.values():
            witness.heard_channel(SAGE, STAFF, text)


@dataclass
class Overseen:
    """A journal that shows which events the run under way deals with."""

    journal: Any
    town: Town

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    async def open_run(self, events: Sequence[Accepted]) -> str:
        self.town.events = list(events)
        return cast(str, await self.journal.open_run(events))


@dataclass
class Town:
    """The people, the assistant among them, and what was told, seen and heard."""

    chance: Random
    people: tuple[Principal, ...]
    staff: frozenset[str]
    clock: ForwardReactor
    file: Path | None
    asking: str
    window: int
    url: str
    fake: FakeOllama
    exchange: HttpExchange
    told: dict[str, Told] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)
    #: All that the model was shown since somebody looked.
    seen: list[str] = field(default_factory=list)
    events: list[Accepted] = field(default_factory=list)
    witness: dict[str, Witness] = field(default_factory=dict)
    bodies: dict[str, EmbeddedBody] = field(default_factory=dict)
    world: EmbeddedWorld = field(default_factory=EmbeddedWorld)
    kept: Storage | None = None
    #: The journal of the day, where it is kept in a file.
    opened: JournalFile | None = None
    life: int = 0
    sent: int = 0
    summaries: int = 0
    runs: int = 0

    def __post_init__(self) -> None:
        """Put everybody in the room."""
        self.home = self.world.add(SAGE)
        for who in self.people:
            self.witness[who.id] = Witness()
            self.bodies[who.id] = self.world.add(who, listener=self.witness[who.id])

    @asynccontextmanager
    async def day(self) -> AsyncIterator[tuple[Assistant, Storage]]:
        """One life of the assistant, over what its lives before kept."""
        self.life += 1
        file = None
        if self.file is not None:
            file = self.opened = JournalFile(self.file, self.clock, self.clock.seconds, JournalConfig())
            await file.open()
            storage = await file.storage_of(SAGE.id, 500, SAGE.name)
        else:
            kept = self.kept = self.kept or in_memory(self.clock.seconds, 500, remembering((SAGE.name,)))
            storage = replace(kept, life=1000 * self.life)
        assistant = self._assistant(storage)
        self.home.listener = BodyListener(SAGE, assistant.inbox.hear, self.home.alone_with, self.home.others_than)
        assistant.start()
        try:
            yield assistant, storage
        finally:
            self.home.listener = None
            await assistant.stop()
            if file is not None:
                await file.close()

    def _assistant(self, storage: Storage) -> Assistant:
        model = ModelConfig(
            first_byte_seconds=20, idle_seconds=20, max_attempts=1, context_tokens=self.window, asking=self.asking,  # type: ignore[arg-type]
            examples=False,
        )  # fmt: skip
        members = {who: witness for who, witness in self.witness.items() if who in self.staff}
        around = Dependencies(
            CharacterBody(SAGE, cast(World, Body(self.home, members)), Witness()),
            new_process(
                self.exchange,
                cast(Any, self.clock),
                Pipeline(reactor, Random(1), Ledger(reactor.seconds, lambda: 0.0)),  # noqa: S311  (jitter)
            ),
            replace(storage, journal=cast(Any, Overseen(storage.journal, self))),
            new_toolbox(
                Registry((*WORLD_TOOLS, *GAME_COMMAND_TOOLS, *ACCOUNT_TOOLS, self._search())),
                cast(Any, self.clock).seconds,
            ),
        )
        settings = AssistantConfig(
            join_seconds=0, awake_seconds=3600, asleep_seconds=3600, fallback_every_seconds=3600, may_repeat=True,
            max_calls=200, max_spoken=20, max_network=50,
        )  # fmt: skip
        chosen = ChosenModel(get_provider("ollama", self.url, "sage"), "a fake", model)
        return build_assistant(settings, [chosen], around)

    def _search(self) -> Tool:
        async def search(arguments: QueryArguments, _: ToolContext) -> str:
            asked = " ".join(spoken_text(one.event) for one in self.events)
            for word in SECRET.findall(arguments.query):
                if self.told[word].knows is not None and word not in asked:
                    self.leaks.append(f"{self.told[word]} was searched for on the web")
            return "Bees live in hives."

        return Tool("web_search", "Search.", QueryArguments, Category.ASYNC_REQUIRED, search, source=Source.WEB)

    def brain(self, request: RecordedRequest) -> Step:
        """Look at the prompt from outside, then answer as a model that tells everything to everybody."""
        prompt = str(request.messages)
        words = sorted(set(SECRET.findall(prompt)))
        self.seen.append(prompt)
        if _SUMMARY in prompt:
            self.summaries += 1
            self.look_at_derived(words, "a summary")
            return Reply("In short: " + " ".join(words) + " and more.")
        self.runs += 1
        hearers = self.hearers()
        for word in words:
            if not self.may_see(self.told[word], hearers):
                self.leaks.append(f"{self.told[word]} was in the prompt of a run that {hearers} hear")
        said = " ".join(words) or "nothing"
        if not request.tools:
            return Reply(f"Well, I know of {said} and tell you all.")
        if request.messages[-1]["role"] != "tool":
            return Reply(calls=self._first(words, said))
        return Reply(calls=self._second(said))

    def _first(self, words: Sequence[str], said: str) -> tuple[Call, ...]:
        calls = [
            Call("remember", {"text": f"They told me of {said} in the old mill."}),
            Call("recall", {}),
            Call("recall", {"query": said[:180]}),
            Call("recall", {"query": " ".join(self.chance.sample(TOPICS, 3)) + " password secret price told"}),
            Call("web_search", {"query": said}),
            Call("execute_command", {"command": f"say {said}"}),
        ]
        return tuple(calls if self.chance.random() < 0.7 or not words else calls[:1] + calls[2:])

    def _second(self, said: str) -> tuple[Call, ...]:
        everybody = [
            Call(verb, {"target": who.name, "text": f"Psst, {said}"})
            for who in self.people
            for verb in ("whisper", "page")
        ]
        aloud = [
            Call("remember", {"text": f"All of it: {said}."}),
            Call("web_search", {"query": said}),
            Call("emote", {"text": f"writes {said} on the wall"}),
            Call("channel", {"channel": "public", "text": f"Hear: {said}"}),
            Call("channel", {"channel": STAFF, "text": f"Hear: {said}"}),
            Call("say", {"text": f"Hear: {said}"}),
        ]
        self.chance.shuffle(everybody)
        return tuple([*everybody, *aloud] if self.chance.random() < 0.5 else [*aloud, *everybody])

    def hearers(self) -> Audience:
        """Who hears the answer of the run under way, told by what woke it."""
        heard_by: set[Audience] = set()
        for one in self.events:
            if one.attention.verdict is Classification.TRIGGER:
                match one.event:
                    case Whispered() | Paged():
                        heard_by.add(frozenset({one.event.who.id}))
                    case ChannelSaid(is_open=False):
                        heard_by.add(frozenset({channel_id(STAFF)}))
                    case _:
                        heard_by.add(None)
        assert len(heard_by) == 1, self.events
        return heard_by.pop()

    def may_see(self, told: Told, hearers: Audience) -> bool:
        """Tell whether a prompt whose answer these hear may show it."""
        audience = told.may_be_told
        return audience is None or (hearers is not None and hearers <= audience)

    def look_at_derived(self, words: Collection[str], what: str) -> None:
        """What is made of several private words is for those whom all of them were told to."""
        audiences = [told for word in words if (told := self.told[word].may_be_told) is not None]
        if audiences and not frozenset.intersection(*audiences):
            self.leaks.append(f"{what} was made of {[self.told[word] for word in words]}")

    def look_at_ears(self) -> None:
        """Whoever heard a word must have been told it, or told it themselves."""
        for who, witness in self.witness.items():
            for line in witness.heard:
                for word in SECRET.findall(line):
                    knows = self.told[word].knows
                    if knows is not None and who not in knows and line.startswith("Sage"):
                        self.leaks.append(f"{self.told[word]} reached {who}: {line[:80]}")
            witness.heard.clear()


TOPICS = [
    f"{adjective} {noun}"
    for adjective in ("copper", "silver", "mossy", "crooked", "northern", "sunken", "whispering", "amber")
    for noun in ("mill", "stable", "cellar", "tower", "orchard", "chapel", "ferry", "quarry")
]
