"""A model that refuses prompts over its window, and lives of an assistant on it without sockets: time stands still."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from mud_assistant.assistant.config.schema import AssistantConfig, ModelConfig
from mud_assistant.assistant.config.sections import MemoryConfig
from mud_assistant.assistant.events.classify import classify
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.outcome import Failed, LimitReached, Outcome
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant, manners_of
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import (
    CallOptions,
    ContextOverflow,
    FinishReason,
    LLMResponse,
    Message,
    ModelChain,
    ToolCall,
    ToolSpec,
    Usage,
    get_provider,
)
from mud_assistant.llm import assistant as said_by_model
from mud_assistant.resilience import HttpExchange, Pipeline
from mud_assistant.tools import Principal, Registry
from mud_assistant.tools.testing import now
from tests.assistant.living import ANN, SAGE, Witness, give_client

Calls = Sequence[tuple[str, dict[str, Any]]]
BEA, CID = Principal("player:2", "Bea"), Principal("player:3", "Cid")
#: Those who are in the room with Sage.
PEOPLE = (ANN, BEA, CID)
#: The calls of an answer, from the body of the request.
Brain = Callable[[str], Calls]


def says(_: str) -> Calls:
    return [("say", {"text": "I hear you."})]


class RefusingModel(ModelChain):
    """Takes requests of up to `window` tokens of `bytes_a_token` bytes, and answers with the calls of `brain`."""

    def __init__(
        self, like: ModelChain, clock: Any, brain: Brain, window: int, *, bytes_a_token: float, names: bool
    ) -> None:
        super().__init__(like.links, clock)
        self.brain = brain
        self.window = window
        self.bytes_a_token = bytes_a_token
        self.names_its_limit = names
        self.asked: list[str] = []
        self.refused = 0

    def chat_completion(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None, **options: Any
    ) -> Deferred[LLMResponse]:
        request = self.provider.build_request(messages, tools or (), None, CallOptions())
        if len(request) / self.bytes_a_token > self.window:
            self.refused += 1
            return fail(ContextOverflow("too long", limit=self.window if self.names_its_limit else None))
        body = json.dumps(json.loads(request)["messages"], ensure_ascii=False)
        self.asked.append(body)
        calls = [ToolCall(f"c{len(self.asked)}.{at}", *call) for at, call in enumerate(self.brain(body))]
        return succeed(LLMResponse(said_by_model(*calls), FinishReason.TOOL_CALLS, Usage(), "local", "m"))


@dataclass
class Still:
    """An assistant whose runs are made by hand."""

    assistant: Assistant
    context: RunContext
    model: RefusingModel
    world: EmbeddedWorld
    home: EmbeddedBody
    witness: Witness
    count: int = 0
    more: list[bool] = field(default_factory=list)

    def hear(self, make: Callable[[str], Event]) -> Event:
        """Put an event into the inbox."""
        self.count += 1
        event = make(f"e{self.count}")
        manners = manners_of(self.context.settings, SAGE)
        now(self.context.memory.journal.accept(event, classify(event, manners)))
        return event

    def run(self) -> Outcome:
        """One run."""
        return now(react(self.context, lambda: self.more.append(True)))

    def runs(self) -> list[Outcome]:
        """Runs until nothing more is to be done at once; none of them may fail."""
        outcomes = [self.run()]
        while self.more:
            self.more.clear()
            outcomes.append(self.run())
            assert not isinstance(outcomes[-1], Failed | LimitReached), outcomes[-1]
        return outcomes


def still(
    registry: Registry,
    brain: Brain = says,
    window: int = 8192,
    *,
    told_window: int | None = None,
    bytes_a_token: float = 4.0,
    names: bool = True,
    storage: Storage | None = None,
    settings: dict[str, Any] | None = None,
    memory: MemoryConfig | None = None,
) -> Still:
    """An assistant in the hamlet. `told_window` is what the owner's settings say of the model's window."""
    clock, witness, world = Clock(), Witness(), EmbeddedWorld()
    home = world.add(SAGE)
    for who in PEOPLE:
        world.add(who)
    config = ModelConfig(context_tokens=told_window or window)
    chosen = ChosenModel(get_provider("local", "http://127.0.0.1/v1", "m"), "a fake", config)
    around = Dependencies(
        CharacterBody(SAGE, home, witness),
        new_process(HttpExchange(clock), clock, Pipeline(clock, Random(0))),  # noqa: S311  (nothing is tried again)
        storage or in_memory(clock.seconds, 500),
        new_toolbox(registry, clock.seconds),
        memory=memory or MemoryConfig(),
    )
    assistant = build_assistant(AssistantConfig(**(settings or {})), [chosen], around, witness.failed)
    model = RefusingModel(
        assistant.context.model.client, clock, brain, window, bytes_a_token=bytes_a_token, names=names
    )
    give_client(assistant, model)
    return Still(assistant, assistant.context, model, world, home, witness)
