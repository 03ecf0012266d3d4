"""Repeats a recorded run: the real loop, dispatcher, policy and limits over recorded events, answers and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.config.known_providers import ANY_SERVER
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.events.events import Noticed
from mud_assistant.assistant.events.outcome import Failed, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.journal import MemoryJournal
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.models.choose import EMBEDDED_WITHHELD
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.page.reading.recorded import RecordedRun, in_whole_answers
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.runtime.own_tools import OwnTools
from mud_assistant.assistant.surfaces.replay.stage import NobodyOnTheWeb, Nowhere, RecordedModel, Stage, Tape
from mud_assistant.assistant.web.tools import web_tools
from mud_assistant.llm import get_provider
from mud_assistant.resilience import HttpExchange, Pipeline
from mud_assistant.tools import Kind, Principal, Registry, Tool
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS

#: All tools that a world may have.
WORLDLY: Sequence[Tool] = (*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS)
#: How often the clock may be advanced in one run, which has at most a few time-outs to wait for.
_MAX_WAITS = 1000


class Again(Struct, frozen=True):
    """The result of a run that was run again."""

    steps: tuple[StepTrace, ...]
    outcome: Outcome
    #: Why no recorded answer was left when the loop asked for one; empty when it did not.
    ended_early: str
    #: How many recorded steps the loop did not ask for.
    unused: int


@dataclass(slots=True)
class _Watching:
    """An observer that collects the steps."""

    steps: list[StepTrace] = field(default_factory=list)

    def thinking(self, run_id: str, step: int) -> None:
        """Ignore it: nobody watches a replay."""

    def step(self, trace: StepTrace) -> None:
        """Collect the step."""
        self.steps.append(trace)

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Ignore the outcome: `react` returns it too."""


class Replayer:
    """A replayer of one assistant's runs. Repeat them in order: later runs see what earlier ones left in the stream.

    Making one raises SettingsError when the settings grant a tool that does not exist.
    """

    def __init__(
        self,
        config: Config,
        assistant: str,
        tools: Sequence[Tool] = WORLDLY,
        *,
        name: str = "",
        own: OwnTools = OwnTools(),  # noqa: B008  (it is frozen)
    ) -> None:
        self._clock = Clock()
        self._stage = Stage(Tape(RecordedRun("", assistant, 0.0, None, None, (), ())))
        tools = [*tools, *(_web_tools(config) if config.web.search_provider else ()), *own.tools]
        registry = self._stage.registry(tools, lacks=bool(own.problems))
        self._mind = self._made(config, _principal(config, assistant, name), registry)

    @property
    def registry(self) -> Registry:
        """The tools that exist now."""
        return self._mind.tools.registry

    def again(self, run: RecordedRun) -> Again:
        """Run the run again and return the result. Needs no reactor: time advances only to the next time-out."""
        self._stage.tape = tape = Tape(in_whole_answers(run))
        journal, watching = MemoryJournal(len(run.events) + 1), _Watching()
        mind = self._mind
        memory, body = replace(mind.memory, journal=journal), replace(mind.body, observer=watching)
        context = replace(mind, memory=memory, body=body)

        async def live() -> Outcome:
            for accepted in run.events:
                event = accepted.event
                if isinstance(event, Noticed):  # the approved call is on the tape, as the first answer
                    event = replace(event, granted=None)
                await journal.accept(event, accepted.attention)
            return await react(context)

        outcome = self._finished(Deferred.fromCoroutine(live()))
        return Again(tuple(watching.steps), outcome, tape.ended, len(tape.left()))

    def _finished(self, work: Deferred[Outcome]) -> Outcome:
        """Advance the clock until the work is done, and return its outcome."""
        outcomes: list[Outcome] = []
        work.addCallback(outcomes.append)
        for _ in range(_MAX_WAITS):
            waits = self._clock.getDelayedCalls()
            if outcomes or not waits:
                break
            self._clock.advance(max(0.0, min(call.getTime() for call in waits) - self._clock.seconds()))
        if not outcomes:
            work.cancel()
        return outcomes[0] if outcomes else Failed("it does not come to an end", bug=True)

    def _made(self, config: Config, me: Principal, registry: Registry) -> RunContext:
        """Build the mind from the settings, with a recorded model and recorded tools."""
        clock = self._clock
        is_embedded = config.model.provider == "embedded"
        nobody = ChosenModel(
            get_provider(ANY_SERVER, "http://127.0.0.1/v1", "recorded"),
            "recorded",
            config.model.model_copy(update={"asking": "tools"}),  # each answer is recorded as the calls read from it
            withheld=EMBEDDED_WITHHELD if is_embedded else frozenset(),
        )
        around = Dependencies(
            CharacterBody(me, Nowhere(), _Watching()),
            new_process(HttpExchange(clock), clock, Pipeline(clock, Random(0))),  # noqa: S311  (nothing is retried)
            in_memory(clock.seconds, 1),
            new_toolbox(registry, clock.seconds),
        )
        settings = config.assistant.model_copy(update={"may_repeat": True})  # refused calls are not in the record
        context = build_assistant(settings, [nobody], around).context
        model = RecordedModel(context.model.client, self._stage, clock)
        return replace(context, model=replace(context.model, client=model))


def _principal(config: Config, assistant: str, name: str) -> Principal:
    return Principal(assistant, name or config.assistant.name, Kind.ASSISTANT, config.assistant.permission)


def _web_tools(config: Config) -> Sequence[Tool]:
    """Return the web tools with a provider that is never asked: what they found is in the record."""
    nobody = NobodyOnTheWeb()
    return web_tools(config.web, nobody, nobody, lambda: 0.0)
