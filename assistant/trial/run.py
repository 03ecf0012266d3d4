"""One whole trial: choose a model, put the assistant into the place, converse, and leave nothing behind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from assistant.build import Surroundings, build_assistant, granted
from assistant.character import Assistant
from assistant.choose_model import EMBEDDED_CONTEXT, Chooser, NoModelError
from assistant.chosen_model import ChosenModel
from assistant.config import Config
from assistant.ears import AssistantEars
from assistant.journal import MemoryJournal
from assistant.keys import KeySources
from assistant.off_thread import in_daemon_thread
from assistant.redaction import Secrets
from assistant.settings import SettingsError
from assistant.trial.discreet import DiscreetScreen
from assistant.trial.lines import PipeLines
from assistant.trial.plain import PlainScreen
from assistant.trial.progress import Progress
from assistant.trial.session import Screen, Session, TrialObserver, VisitorEars
from assistant.trial.show import scene_text
from assistant.worlds.embedded import EmbeddedWorld
from llm import Capabilities, LLMError
from llm.embedded.models import default_data_dir
from llm.embedded.progress import Endpoint, Phase
from llm.embedded.progress import Progress as ModelProgress
from llm.embedded.supervisor import EmbeddedModel
from resilience import Caller, Deadline, HttpExchange, Launcher, Ledger, Pipeline
from tools import Kind, MemoryNotes, Principal, Registry
from tools.clean import clean_heard
from tools.world import WORLD_TOOLS

_PHASES = {Phase.DOWNLOAD: "fetching", Phase.VERIFY: "checking", Phase.JOIN: "putting together"}
#: Exit status when there is no model or the settings are wrong.
CANNOT_START = 2
#: Characters of a line of input that the transcript repeats.
SHOWN_CHARS = 200
#: How long a key may take that somebody must unlock first, in seconds.
KEY_SECONDS = 60.0
#: How long warming the embedded model's cache may take, in seconds.
WARM_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """What the command line asked for."""

    config: Config
    #: Seconds since 1970.
    wall: Callable[[], float]
    as_json: bool = False
    tracing: bool = False
    #: What a relative path of a key file starts from.
    folder: Path = Path()
    #: What must not be shown.
    secrets: Secrets = field(default_factory=Secrets)


class Lines(Protocol):
    """Where lines come from."""

    def next(self) -> Deferred[str | None]:
        """The next line, None when there are no more."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


# Any: the reactor has no one interface for time, network, processes and descriptors.
async def run_trial(reactor: Any, options: TrialOptions, environment: Mapping[str, str]) -> int:
    """The exit status of a trial. Cancelling ends it cleanly: nothing it started is left behind."""
    exchange = HttpExchange(reactor)
    try:
        return await _trial(reactor, options, environment, exchange)
    finally:
        await exchange.close()


async def _trial(reactor: Any, options: TrialOptions, environment: Mapping[str, str], exchange: HttpExchange) -> int:
    progress = Progress(scrub=options.secrets.scrub)
    in_thread = partial(in_daemon_thread, reactor, KEY_SECONDS)
    keys = KeySources(environment, in_thread, options.folder, options.secrets)
    chooser = Chooser(exchange, reactor, keys, partial(_embedded, reactor, environment, progress))
    try:
        granted(options.config.assistant, Registry(WORLD_TOOLS))
        models = await chooser.choose_all(
            options.config.model,
            options.config.fallback,
            lambda why: progress.note(f"mud-assistant: a model is left out: {why}"),
        )
    except (SettingsError, NoModelError) as error:
        progress.note(f"mud-assistant: {error}")
        return CANNOT_START
    progress.note(f"{options.config.assistant.name} thinks with {models[0].why}.")
    for model in models[1:]:
        progress.note(f"When that fails: {model.why}.")
    trial = _Trial(reactor, options, models, exchange)
    try:
        return await trial.converse()
    finally:
        await trial.close()


def _embedded(
    reactor: Any,
    environment: Mapping[str, str],
    progress: Progress,
    path: Path | None,
    moved: Callable[[Endpoint], None],
) -> EmbeddedModel:
    """The embedded model, not started; its progress goes to standard error."""

    def show(step: ModelProgress) -> None:
        if step.phase is Phase.NOTE:
            progress.note(step.note)
        elif step.phase is Phase.START:
            progress.note("loading the embedded model ...")
        else:
            what = f"{_PHASES[step.phase]} the embedded model" + (f" from {step.source}" if step.source else "")
            progress.amount(what, step.done_bytes, step.total_bytes)

    return EmbeddedModel(
        reactor,
        reactor,
        environment=environment,
        data_dir=default_data_dir(),
        model_file=path,
        context_tokens=EMBEDDED_CONTEXT,
        on_progress=show,
        on_restart=moved,
        on_lost=lambda error: progress.note(f"mud-assistant: {error}"),
    )


class _Trial:
    """The parts of one trial, made and put away together."""

    def __init__(
        self, reactor: Any, options: TrialOptions, models: Sequence[ChosenModel], exchange: HttpExchange
    ) -> None:
        self._reactor = reactor
        self._options = options
        self._models = models
        self._exchange = exchange
        offset = options.config.budget.utc_offset_hours * 3600
        self._pipeline = Pipeline(reactor, Random(), Ledger(reactor.seconds, options.wall, offset))  # noqa: S311  (jitter)
        self._launcher = Launcher()
        self._assistant: Assistant | None = None
        self._lines: Lines | None = None

    async def converse(self) -> int:
        """Read lines until the visitor leaves."""
        screen, lines, is_terminal = self._front()
        self._lines = lines
        session = self._session(DiscreetScreen(screen, self._options.secrets))
        screen.show(scene_text(await session.body.look()))
        while (line := await lines.next()) is not None:
            if not is_terminal:
                screen.show(f"> {clean_heard(line, SHOWN_CHARS)}")
            if not await session.obey(line):
                break
            if not is_terminal:
                await session.assistant.settled()
        return 0

    async def close(self) -> None:
        """Stop everything, the child process last."""
        if self._lines is not None:
            self._lines.close()
        if self._assistant is not None:
            await self._assistant.stop()
        await self._launcher.stop()
        for model in self._models:
            if model.embedded is not None:
                await model.embedded.stop()

    def _front(self) -> tuple[Screen, Lines, bool]:
        if sys.stdin.isatty() and sys.stdout.isatty() and not self._options.as_json:
            from assistant.trial.terminal import Terminal  # noqa: PLC0415  (a quarter of a second that pipes need not pay)

            terminal = Terminal()
            return terminal, terminal, True
        return PlainScreen(quiet=self._options.as_json), PipeLines(sys.stdin.fileno(), self._reactor), False

    def _session(self, screen: Screen) -> Session:
        """The place with the assistant and the visitor in it."""
        settings = self._options.config.assistant
        world = EmbeddedWorld()
        me = Principal("assistant:1", settings.name, Kind.ASSISTANT)
        visitor = Principal("player:1", "Visitor")
        observer = TrialObserver(screen, settings.name, as_json=self._options.as_json, tracing=self._options.tracing)
        home = world.add(me, description=f"This is {settings.name}, who keeps the library.")
        around = Surroundings(
            me=me,
            world=home,
            notes=MemoryNotes(self._reactor.seconds),
            registry=Registry(WORLD_TOOLS),
            journal=MemoryJournal(settings.inbox_limit),
            exchange=self._exchange,
            capabilities=Capabilities(),
            pipeline=self._pipeline,
            clock=self._reactor,
            observer=observer,
            budget=self._options.config.budget,
            wall=self._options.wall,
        )
        assistant = build_assistant(settings, self._models, around, observer.failed)
        home.ears = AssistantEars(assistant, me, self._reactor, home.alone_with, self._launcher)
        body = world.add(visitor, ears=VisitorEars(screen, visitor), description="A visitor from far away.")
        self._assistant = assistant
        assistant.start()
        if self._models[0].embedded is not None:
            self._launcher.launch(self._warm(assistant), "warming the model")
        return Session(body, assistant, settings.name, observer, screen, self._pipeline)

    async def _warm(self, assistant: Assistant) -> None:
        """Let the embedded model read the unchanging front of every prompt before somebody waits for it."""
        mind = assistant.mind
        specs = mind.registry.specs(mind.grant)
        deadline = Deadline.after(self._reactor, WARM_SECONDS)
        try:
            await mind.client.links[0].client.chat_completion(
                mind.front,
                specs,
                mind.model.tool_choice,
                deadline=deadline,
                caller=Caller(mind.me.id, is_urgent=False),
                max_tokens=1,
            )
        except LLMError:
            return  # only a matter of speed; the first real call will say what is wrong
