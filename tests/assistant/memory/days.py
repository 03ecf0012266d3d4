"""A character on a `Clock`, asked in plain turns by people who come and go for days; every prompt is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from mud_assistant.assistant.config.schema import AssistantConfig, ModelConfig
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import FinishReason, LLMResponse, Message, ModelChain, Usage, get_provider
from mud_assistant.llm.messages import Role, Text
from mud_assistant.resilience import HttpExchange, Pipeline
from mud_assistant.tools import Principal, Registry
from mud_assistant.tools.verbs import WORLD_TOOLS
from tests.assistant.living import SAGE, Witness, give_client

HOUR, DAY = 3600.0, 86_400.0


class Scribe(ModelChain):
    """A model that says the same each time, and keeps what it was shown."""

    def __init__(self, like: ModelChain, clock: Any) -> None:
        super().__init__(like.links, clock)
        self.shown: list[str] = []

    def chat_completion(self, messages: Sequence[Message], tools: Any = None, **options: Any) -> Deferred[LLMResponse]:
        self.shown.append("\n".join(message.text for message in messages))
        words = Message(Role.ASSISTANT, (Text(f"Well, {len(self.shown)} things may be said of that."),))
        return succeed(LLMResponse(words, FinishReason.STOP, Usage(), "local", "m"))


@dataclass
class Days:
    """A character and those who visit it. Time passes only by `pass_time`."""

    assistant: Assistant
    clock: Clock
    model: Scribe
    world: EmbeddedWorld
    witness: Witness
    bodies: dict[str, EmbeddedBody] = field(default_factory=dict)

    def pass_time(self, seconds: float = 5.0) -> None:
        """Let this much time pass, in a few steps."""
        for _ in range(20):
            self.clock.advance(seconds / 20)

    def come(self, who: Principal) -> list[str]:
        """Somebody comes in; return what the character says to that."""
        before = len(self.witness.heard)
        self.bodies[who.id] = self.world.add(who)
        self.pass_time(10)
        return [line.removeprefix("Sage: ") for line in self.witness.heard[before:] if line.startswith("Sage: ")]

    def leave(self, who: Principal) -> None:
        """Somebody goes away."""
        self.world.remove(self.bodies.pop(who.id))
        self.pass_time(5)

    def say(self, who: Principal, text: str) -> str:
        """Somebody says this to the character; return what the model was shown, with the words beside the line last."""
        return self._said(self.bodies[who.id].say(f"Sage, {text}"))

    def whisper(self, who: Principal, text: str) -> str:
        """Somebody whispers this to the character; return what the model was shown."""
        return self._said(self.bodies[who.id].whisper("Sage", text))

    def _said(self, work: Any) -> str:
        before = len(self.model.shown)
        Deferred.fromCoroutine(work)
        self.pass_time(5)
        return "\n".join(self.model.shown[before:])


def days(storage: Storage | None = None, *, asking: Literal["plain", "tools"] = "plain", **settings: Any) -> Days:
    """A character in the hamlet with these settings; somebody else is there to hear what it says."""
    clock, witness, world = Clock(), Witness(), EmbeddedWorld()
    clock.advance(20_000 * DAY + 10 * HOUR)
    home = world.add(SAGE)
    config = ModelConfig(asking=asking, examples=False)
    chosen = ChosenModel(get_provider("local", "http://127.0.0.1/v1", "m"), "a fake", config)
    around = Dependencies(
        CharacterBody(SAGE, home, witness),
        new_process(HttpExchange(clock), clock, Pipeline(clock, Random(0))),  # noqa: S311  (nothing is tried again)
        storage or in_memory(clock.seconds, 500, remembering((SAGE.name,))),
        new_toolbox(Registry(WORLD_TOOLS), clock.seconds),
    )
    assistant = build_assistant(
        AssistantConfig(**{"join_seconds": 0, "room_pause_seconds": 0, **settings}), [chosen], around, witness.failed
    )
    model = Scribe(assistant.context.model.client, clock)
    give_client(assistant, model)
    home.listener = BodyListener(SAGE, assistant.inbox.hear, home.alone_with, home.others_than)
    world.add(Principal("player:99", "Fly", permission=0), listener=witness)
    assistant.start()
    made = Days(assistant, clock, model, world, witness)
    made.pass_time()
    return made
