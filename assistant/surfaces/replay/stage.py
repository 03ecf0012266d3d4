"""The surroundings of a replay: recorded answers in place of a model, recorded results in place of tools, no world.

Nothing here reaches a game, a disk or a network. Speech goes through the present tools, but nobody hears it. So words
that the tools would no longer take are noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from twisted.internet.defer import Deferred, fail, succeed

from mud_assistant.assistant.page.reading.recorded import RecordedCall, RecordedRun, RecordedStep
from mud_assistant.llm import LLMResponse, Message, ModelChain, ToolCall, ToolSpec, Unavailable
from mud_assistant.tools import (
    Arguments,
    Category,
    GameCommand,
    Person,
    Principal,
    Registry,
    Scene,
    Status,
    Tool,
    ToolContext,
    ToolFailed,
    ToolRetry,
    Unheard,
)
from mud_assistant.tools.arguments import parse_arguments
from mud_assistant.tools.game import GameTime, Route
from mud_assistant.tools.trust import TOP, Audience
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, WORLD_TOOLS
from mud_assistant.tools.web.errors import ErrorKind, WebError

#: The result of a call that was not done then, so that the run continues as far as it can.
NO_RESULT = "(What this call comes to was never recorded.)"
_SPEAKING = {tool.name for tool in (*WORLD_TOOLS, *ACCOUNT_TOOLS) if tool.category is Category.TERMINAL}


class CrashedThenError(Exception):
    """The tool crashed then, so it crashes now."""


class Tape:
    """The recorded answers of one run, in order, and the recorded calls of the last answer given."""

    def __init__(self, run: RecordedRun) -> None:
        self._coming = list(run.steps)
        self._calls: list[RecordedCall] = []
        #: Why no answer could be given; empty as long as there was one for each request.
        self.ended = ""

    def answer(self) -> LLMResponse | None:
        """Return the next answer. None when there is none, and then `ended` says why."""
        step = self._coming.pop(0) if self._coming else None
        self._calls = list(step.calls) if step else []
        if step is None:
            self.ended = "no further answer is recorded"
        elif step.response is None:
            self.ended = f"the answer of step {step.number} cannot be read"
        return step.response if step else None

    def left(self) -> Sequence[RecordedStep]:
        """Return the steps that were not asked for."""
        return tuple(self._coming)

    def result_of(self, tool: Tool, arguments: Arguments) -> RecordedCall | None:
        """Return the record of this call, else of another call of the same tool in this step, else None.

        Each record is returned only once.
        """
        same = [done for done in self._calls if done.call is not None and done.call.name == tool.name]
        best = next((done for done in same if done.call and _fits(tool, done.call, arguments)), None)
        found = best or next(iter(same), None)
        if found is not None:
            self._calls.remove(found)
        return found


@dataclass(slots=True)
class Stage:
    """The stage where runs are run again, one after another. `tape` belongs to the current run."""

    tape: Tape

    def registry(self, tools: Sequence[Tool], *, lacks: bool = False) -> Registry:
        """Return the tools with their results replaced by the recorded ones. `lacks` is that of the registry."""
        return Registry([self._taped(tool) for tool in tools], lacks=lacks)

    def _taped(self, tool: Tool) -> Tool:
        async def execute(arguments: Arguments, context: ToolContext) -> str:
            if tool.name in _SPEAKING:
                await tool.execute(arguments, context)  # raises an error when it does not take these words
            return await _as_then(self.tape.result_of(tool, arguments))

        return replace(tool, execute=execute)


class RecordedModel(ModelChain):
    """A model that gives the recorded answers. Prompts are measured for the provider of `like`, which is not asked."""

    def __init__(self, like: ModelChain, stage: Stage, clock: Any) -> None:
        super().__init__(like.links, clock)
        self._stage = stage

    def chat_completion(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None, **options: Any
    ) -> Deferred[LLMResponse]:
        """Return the next recorded answer. Raises Unavailable after the last one."""
        response = self._stage.tape.answer()
        return fail(Unavailable(self._stage.tape.ended)) if response is None else succeed(response)


class Nowhere:
    """A world in which every act passes and nothing is seen."""

    async def look(self) -> Scene:
        """Raise ToolFailed: what was seen is in the recorded results."""
        raise ToolFailed("There is no world in a replay.")

    async def inspect(self, target: str) -> str:
        """Raise ToolFailed: what was seen is in the recorded results."""
        raise ToolFailed("There is no world in a replay.")

    async def who(self) -> Sequence[Person]:
        """Return nobody."""
        return ()

    async def say(self, text: str) -> None:
        """Do nothing: nobody hears it."""

    async def emote(self, text: str) -> None:
        """Do nothing: nobody sees it."""

    async def whisper(self, target: str, text: str, *, only: Audience = None) -> None:
        """Do nothing: nobody hears it."""

    def hears(self, who: Principal) -> bool:
        """Return True: whether they heard it then is in the record."""
        return True

    async def route(self, place: str) -> Route:
        """Raise ToolFailed: there is nowhere to go."""
        raise ToolFailed(f"There is no world in a replay, and no {place!r}.")

    async def go_home(self) -> Scene:
        """Raise ToolFailed: there is nowhere to go."""
        raise ToolFailed("There is no world in a replay.")

    def is_left_alone(self) -> bool:
        """Return True: whether it went home for that reason is in the record."""
        return True

    def time(self) -> GameTime | None:
        """Return None: there is no clock in a replay."""

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return nobody."""
        return ()

    def who_is(self, id_: str) -> Principal | None:
        """Return somebody who may do everything: what they might do then is in the record."""
        return Principal(id_, id_, permission=TOP)

    async def page(self, target: str, text: str, *, only: Audience = None) -> None:
        """Do nothing: nobody hears it."""

    async def speak_on(self, channel: str, text: str) -> None:
        """Do nothing: nobody hears it."""

    async def move(self, direction: str) -> Scene:
        """Raise ToolFailed: there is nowhere to go."""
        raise ToolFailed("There is no world in a replay.")

    async def resolve(self, line: str) -> GameCommand:
        """Return the command under its first word: without a game its aliases and its permission are unknown."""
        return GameCommand(line, line.partition(" ")[0], (), 0)

    async def execute(self, command: GameCommand) -> str:
        """Raise ToolFailed: nothing can be done here."""
        raise ToolFailed("There is no world in a replay.")


class NobodyOnTheWeb:
    """A source of searches and pages that is never asked."""

    name = "nobody"

    async def ask(self, query: object) -> NoReturn:
        """Raise WebError: there is no web in a replay."""
        raise WebError(ErrorKind.NETWORK, "there is no web in a replay")


async def _as_then(recorded: RecordedCall | None) -> str:
    """Return what a tool answered then, or raise the error it raised then.

    When the outcome is unknown, it never returns: the dispatcher's time-out ends it.
    """
    if recorded is None or (recorded.executed is None and not recorded.begun):
        return NO_RESULT
    done = recorded.executed
    if done is None:
        return await Deferred()  # unknown: the dispatcher's own time-out ends it
    match done.status:
        case Status.DONE:
            return done.result.text
        case Status.FAILED:
            raise ToolFailed(done.result.text)
        case Status.UNHEARD:
            raise Unheard(done.result.text)
        case Status.REFUSED | Status.FORMAT_ERROR:
            return NO_RESULT
        case Status.CRASHED:
            raise CrashedThenError
        case _:
            return await Deferred()


def _fits(tool: Tool, call: ToolCall, arguments: Arguments) -> bool:
    try:
        return parse_arguments(tool, call) == arguments
    except ToolRetry:
        return False
