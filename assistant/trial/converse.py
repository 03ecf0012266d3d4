"""The parts of one trial, made and put away together: the place, the assistant in it, and the visitor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from twisted.internet.defer import Deferred

from assistant.build import Surroundings, build_assistant
from assistant.character import Assistant
from assistant.chosen_model import ChosenModel
from assistant.config import Config
from assistant.ears import AssistantEars
from assistant.redaction import Secrets
from assistant.spending import Spending
from assistant.storage import JournalFile, Storage, in_memory
from assistant.trial.discreet import DiscreetScreen
from assistant.trial.lines import PipeLines
from assistant.trial.plain import PlainScreen
from assistant.trial.session import Screen, Session, TrialObserver, VisitorEars
from assistant.trial.show import scene_text
from assistant.troubles import Troubles
from assistant.warming import Warmer
from assistant.worlds.embedded import EmbeddedWorld
from llm import Capabilities
from resilience import HttpExchange, Launcher, Ledger, Pipeline
from tools import Kind, Principal, Registry
from tools.clean import clean_heard
from tools.world import ACCOUNT_TOOLS, ALL_WORLD_TOOLS

if TYPE_CHECKING:
    from assistant.trial.terminal import Terminal
    from assistant.web import Web

#: Characters of a line of input that the transcript repeats.
SHOWN_CHARS = 200


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
    #: The reference of a key that was named on the command line: it may go to a new server.
    entered_key: str = ""
    #: What the visitor may do in the game.
    visitor_permission: int = 1


class Lines(Protocol):
    """Where lines come from."""

    def next(self) -> Deferred[str | None]:
        """The next line, None when there are no more."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


class Trial:
    """The parts of one trial, made and put away together."""

    def __init__(
        self,
        reactor: Any,
        options: TrialOptions,
        models: Sequence[ChosenModel],
        exchange: HttpExchange,
        *,
        journal: JournalFile | None,
        web: Web | None,
        troubles: Troubles,
    ) -> None:
        self._reactor = reactor
        self._options = options
        self._models = models
        self._exchange = exchange
        self._journal = journal
        self._web = web
        self._troubles = troubles
        offset = options.config.budget.utc_offset_hours * 3600
        ledger = Ledger(reactor.seconds, options.wall, offset)
        self._spending = Spending(ledger, journal.usage) if journal else None
        keep = self._spending.keep if self._spending else None
        self._pipeline = Pipeline(reactor, Random(), ledger, keep)  # noqa: S311  (jitter)
        self._launcher = Launcher()
        self._assistant: Assistant | None = None
        self._lines: Lines | None = None

    async def converse(self) -> int:
        """Read lines until the visitor leaves."""
        if self._spending is not None:
            await self._spending.restore()
        screen, lines, terminal = self._front()
        self._lines = lines
        session = await self._session(DiscreetScreen(screen, self._options.secrets))
        if terminal is not None:
            terminal.complete_from(session.in_sight)
        screen.show(scene_text(await session.body.look()))
        try:
            while (line := await lines.next()) is not None:
                if terminal is None:
                    screen.show(f"> {clean_heard(line, SHOWN_CHARS)}")
                if not await session.obey(line):
                    break
                if terminal is None:
                    await session.assistant.settled()
        finally:  # also when a signal ends it
            if terminal is not None:
                screen.remark(self._goodbye(session.assistant_name))
        return 0

    async def close(self) -> None:
        """Stop everything, the child process last."""
        if self._lines is not None:
            self._lines.close()
        if self._assistant is not None:
            await self._assistant.stop()
        await self._launcher.stop()
        await self._pipeline.kept()
        if self._web is not None:
            await self._web.stop()
        for model in self._models:
            if model.embedded is not None:
                await model.embedded.stop()

    def _goodbye(self, name: str) -> str:
        """The last words, with what becomes of the conversation."""
        if self._journal is None:
            return f"(Goodbye. {name} keeps nothing of this; with --journal FILE it would.)"
        return f"(Goodbye. {name} remembers this in {self._journal.store.path.name}.)"

    def _front(self) -> tuple[Screen, Lines, Terminal | None]:
        if sys.stdin.isatty() and sys.stdout.isatty() and not self._options.as_json:
            from assistant.trial.terminal import Terminal  # noqa: PLC0415  (a quarter of a second that pipes need not pay)

            terminal = Terminal()
            return terminal, terminal, terminal
        return PlainScreen(quiet=self._options.as_json), PipeLines(sys.stdin.fileno(), self._reactor), None

    async def _storage(self, me: Principal) -> Storage:
        """What the assistant remembers in."""
        limit = self._options.config.assistant.inbox_limit
        if self._journal is None:
            return in_memory(self._reactor.seconds, limit)
        return await self._journal.storage_of(me.id, limit, me.name)

    async def _session(self, screen: Screen) -> Session:
        """The place with the assistant and the visitor in it."""
        settings = self._options.config.assistant
        world = EmbeddedWorld()
        me = Principal(f"assistant:{settings.name.casefold()}", settings.name, Kind.ASSISTANT, settings.permission)
        visitor = Principal("player:1", "Visitor", Kind.PLAYER, self._options.visitor_permission)
        storage = await self._storage(me)
        observer = TrialObserver(
            screen,
            settings.name,
            self._troubles,
            as_json=self._options.as_json,
            tracing=self._options.tracing,
            scrub=self._options.secrets.scrub,
        )
        home = world.add(me, description=f"This is {settings.name}, who keeps the library.")
        around = Surroundings(
            me=me,
            world=home,
            storage=storage,
            registry=Registry([*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS, *(self._web.tools(me.id) if self._web else ())]),
            exchange=self._exchange,
            capabilities=Capabilities(),
            pipeline=self._pipeline,
            clock=self._reactor,
            observer=observer,
            budget=self._options.config.budget,
            scrub=self._options.secrets.scrub,
            pieces=self._options.secrets.pieces(),
            wall=self._options.wall,
            notify=lambda _, sentence: screen.remark(f"({sentence})"),
        )
        assistant = build_assistant(settings, self._models, around, observer.failed)
        home.ears = AssistantEars(
            assistant, me, self._reactor, home.alone_with, self._launcher, storage.life, others=home.others_than
        )
        body = world.add(visitor, ears=VisitorEars(screen, visitor), description="A visitor from far away.")
        self._assistant = assistant
        await assistant.rights.load()
        assistant.start()
        self._launcher.launch(Warmer().warm(assistant.mind, self._models[0]), "warming the model")
        session = Session(body, assistant, settings.name, observer, screen, self._pipeline, self._troubles)
        self._troubles.watch(session.troubled)
        return session
