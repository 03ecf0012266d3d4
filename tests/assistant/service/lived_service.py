"""Processes that run one assistant over one journal, each with a game of its own, on time that a test moves.

Everything is the real thing: the service, the file of the journal with its threads, and HTTP over loopback to a fake
server. Its model answers each line by its number. What it is asked, says and does is handed to `Notes`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from threading import Event as ThreadEvent
from typing import Any, Protocol

from pydantic import Field
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig
from mud_assistant.assistant.service.operations.approving import Decision, decide
from mud_assistant.assistant.service.operations.operators import Operator, VisitorRole
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.llm.testing import Call, FakeOllama, HttpError, OllamaModel, RecordedRequest, Reply, Step
from mud_assistant.tools import Arguments, Category, Principal, Tool, ToolContext
from mud_assistant.tools.policy.approvals import digest_of
from mud_assistant.tools.trust import Source
from tests.assistant.living import ANN, SAGE, Witness
from tests.assistant.refusing import BEA
from tests.virtual import VirtualReactor, turn

#: How many turns of the reactor anything may take on a busy machine.
MOST_TURNS = 20_000
#: Nobody listens there.
DEAD = "http://127.0.0.1:1"
#: The line that a prompt asks to answer is the last of these in it.
LINE = re.compile(r"line (\d+)\b")
ANSWER = re.compile(r"Answer (\d+)\.")
NUMBER = re.compile(r"\d+")
#: Begins what is only remembered.
RECALLED = "[You remember"
#: Begins the scene.
SCENE = "[You are in"
#: The tools that Sage is granted.
TOOLS = ("say", "ring", "noop")


class Bell(Arguments):
    """For which line the bell is rung."""

    number: str = Field(max_length=9)


def bell(rang: Callable[[int], None]) -> Tool:
    """Return the tool that rings the bell for a line, which takes leave of a builder."""

    async def ring(arguments: Bell, _: ToolContext) -> str:
        rang(int(arguments.number))
        return "It rings."

    kinds: Any = {"source": Source.OPERATOR, "required_permission": 3}
    return Tool("ring", "Ring the bell.", Bell, Category.DANGEROUS, ring, **kinds)


class Notes(Protocol):
    """What is told of everything that happens."""

    def asked(self, number: int, model: str, text: str, *, is_free: bool) -> None: ...
    def note(self, what: object) -> None: ...
    def rang(self, number: int) -> None: ...
    def said(self, number: int, at: int) -> None: ...


class Server:
    """A fake server whose model answers each line by its number; `is_held` holds answers back until `release`."""

    def __init__(self, notes: Notes) -> None:
        self.notes, self.clock = notes, Clock()
        models = {"sage": OllamaModel(), "owl": OllamaModel()}
        self.fake = FakeOllama(self.clock, self.brain, models)
        self.is_held = False
        #: How many of the next requests fail.
        self.failures = 0

    def brain(self, request: RecordedRequest) -> Step:
        """Ring for a line that asks for it, then answer it; a line that was answered is not answered again."""
        text = "\n".join(str(one.get("content", "")) for one in request.messages)
        last = _last_heard(request.messages)
        numbers = LINE.findall(last)
        number = int(numbers[-1]) if numbers else 0
        if not number or len(numbers) > 1:
            self.notes.note(f"{last!r} {request.messages[-1]['role']}")
        self.notes.asked(number, request.model, text, is_free=self.failures > 0)
        if self.failures:
            self.failures -= 1
            return HttpError(503, "busy")
        wants_bell = f"ring for line {number}" in last and request.messages[-1]["role"] != "tool"
        call = Call("ring", {"number": str(number)}) if wants_bell else Call("say", {"text": f"Answer {number}."})
        return Reply(calls=(call,) if number else (Call("noop"),), delay_seconds=1.0 if self.is_held else 0.0)

    def release(self) -> None:
        """Give every answer that was held back, and hold none any more."""
        self.is_held = False
        self.clock.advance(1.0)


def _last_heard(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return what was heard last. What an earlier run asked in vain stands before the scene that a later one sees."""
    told = [(one["role"], str(one.get("content", ""))) for one in messages]
    told = [(role, text) for role, text in told if role != "user" or not text.startswith(RECALLED)]
    place = max(place for place, (role, _) in enumerate(told) if role == "user")
    while told[place][1].startswith(SCENE) and "\n" not in told[place][1] and told[place - 1][0] == "user":
        place -= 1
    return told[place][1]


class Ears(Witness):
    """What Ann hears in the game of process number `at`."""

    def __init__(self, notes: Notes, at: int) -> None:
        super().__init__()
        self.notes, self.at = notes, at

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        super().heard_say(speaker, text, target)
        if speaker.id == SAGE.id:
            for number in ANSWER.findall(text):
                self.notes.said(int(number), self.at)


class Process:
    """A process, which is number `at`, and its game."""

    def __init__(self, at: int, folder: Path, time: VirtualReactor, notes: Notes, settings: dict[str, Any]) -> None:
        self.at, self.time, self.notes = at, time, notes
        wall: Callable[[], float] = time.clock.seconds
        made = ServiceConfig(merged(settings), folder, {}, wall, Secrets(), folder / "journal", process=f"process {at}")
        self.service = AssistantService(time, made, Random(at))  # noqa: S311  (jitter)
        self.service.on_start.append(self._begins)
        self.world, self.ears = EmbeddedWorld(), Ears(notes, at)
        self.home = self.world.add(SAGE)
        self.bodies = {who.id: self.world.add(who, listener=ears) for who, ears in ((ANN, self.ears), (BEA, None))}
        #: Every runner there ever was here.
        self.runners: list[AssistantRunner] = []
        self._disk = ThreadEvent()
        self.hanging: Deferred[object] | None = None
        #: Whether anything was said to one who runs here that the disk has not taken yet.
        self.is_unwritten = False
        self.service.open()

    @property
    def runner(self) -> AssistantRunner | None:
        """The one that runs Sage here, None when nobody does."""
        return self.service.runners.get(SAGE.id)

    @property
    def awake(self) -> list[AssistantRunner]:
        """All that may begin a run now."""
        return [one for one in self.runners if one.assistant is not None and one.assistant.tick.started]

    @property
    def lost(self) -> bool:
        """Whether she is run by another process, as far as this one knows."""
        return self.runner is not None and self.runner.state is RunnerState.LOST

    def start(self, settings: dict[str, Any]) -> None:
        """Start Sage here, or start her again with these settings."""
        self.service.start(Embodiment(SAGE, self.home, tools=(bell(self.notes.rang),)), merged(settings))

    def _begins(self, runner: AssistantRunner) -> None:
        self.runners.append(runner)
        self.home.listener = BodyListener(SAGE, runner.hear, self.home.alone_with, self.home.others_than)

    def hang(self) -> None:
        """Let the disk hang until `goes_on`."""
        if self.hanging is None:
            assert isinstance(self.service.parts.journal, JournalFile)
            self._disk.clear()
            self.hanging = self.service.parts.journal.store.write(lambda _: self._disk.wait(60))

    def goes_on(self) -> None:
        """Let the disk go on."""
        self._disk.set()
        self.hanging, self.is_unwritten = None, False


class Town:
    """The processes, and the time of all of them."""

    def __init__(self, folder: Path, notes: Notes, url: str, budget: dict[str, Any]) -> None:
        self.folder, self.notes, self.url = folder, notes, url
        self.time = VirtualReactor()
        self.budget = budget
        self.processes: list[Process] = []
        self._opened = 0
        self.opens()

    def opens(self) -> Process:
        """Begin another process."""
        self._opened += 1
        settings = {"budget": self.budget}
        self.processes.append(Process(self._opened, self.folder, self.time, self.notes, settings))
        return self.processes[-1]

    def settings(self, model: str, *, is_away: bool = False) -> dict[str, Any]:
        """Return settings of Sage with this model."""
        asked = {"provider": "ollama", "url": DEAD if is_away else self.url, "model": model}
        talk = {"join_seconds": 0, "pause_seconds": 0, "room_pause_seconds": 0, "may_repeat": True, "tools": TOOLS}
        return {
            "model": {**asked, "max_attempts": 1, "examples": False, "asking": "tools"},
            "assistant": talk,
            "budget": self.budget,
        }

    async def turns(self, count: int) -> None:
        """Let so many turns of the reactor pass."""
        for _ in range(count):
            self.time.clock.advance(0.001)
            await turn()

    async def until(self, is_so: Callable[[], object], what: str = "") -> None:
        """Let turns pass until it is so."""
        for _ in range(MOST_TURNS):
            if is_so():
                return
            await self.turns(1)
        raise AssertionError(f"it never comes to this: {what}")

    async def over(self, work: Awaitable[Any], what: str = "") -> Any:
        """Let turns pass until the work is over, and return what came of it."""

        async def do() -> Any:
            return await work

        begun = Deferred.fromCoroutine(do())
        await self.until(lambda: begun.called, what)
        return await begun

    async def wakes(self, process: Process) -> None:
        """Let turns pass until Sage thinks there, or waits for a model."""

        def is_up() -> bool:
            runner = process.runner
            return runner is None or runner.state is not RunnerState.OPENING

        await self.until(is_up, "it opens")

    async def settles(self, process: Process) -> None:
        """Let all that Sage has heard there be dealt with, over the pauses after failures. She must be awake."""
        for _ in range(20):
            await self.wakes(process)
            runner = process.runner
            assert runner is not None
            if runner.state is not RunnerState.AWAKE:
                self.time.clock.advance(61.0)
                await self.turns(3)
                continue
            await self.over(runner.settled(), "all is dealt with")
            if not await self.over(process.service.parts.journal.count_pending()):
                return
            self.time.clock.advance(61.0)
        raise AssertionError("events wait forever")

    async def unknown(self, process: Process) -> frozenset[int]:
        """Return the lines of which the journal says that nobody knows what came of them. Sage must be awake."""
        assert process.runner is not None
        assert process.runner.assistant is not None
        effects = await self.over(process.runner.assistant.context.memory.journal.unknown_effects())
        shown = " ".join(str(effect.call.arguments) for effect in effects)
        return frozenset(map(int, NUMBER.findall(shown)))

    async def ends(self, process: Process, *, is_patient: bool) -> None:
        """End a process, within half a second or however long it takes."""
        service = process.service
        await self.over(service.finish() if is_patient else service.close(), "the process ends")
        self.processes.remove(process)
        if not self.processes:
            assert self.time.getDelayedCalls() == []


def decides(there: Assistant, number: int, *, allow: bool, for_an_hour: bool = False) -> str:
    """What the owner is told who decides on this request as it was shown."""
    [shown] = [one for one in there.context.tools.approvals.pending() if one.number == number]
    owner = Operator(Principal("player:owner", "Owner", permission=5), VisitorRole.OWNER)
    return decide(there, owner, number, Decision(allow, digest_of(shown), for_an_hour))
