"""Makes and closes the parts of one trial together: the place, the assistant in it, and the visitor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from twisted.internet.defer import Deferred

from assistant.config.schema import Config
from assistant.keys.redaction import Secrets
from assistant.models.chosen import ChosenModel
from assistant.runtime.character import Assistant
from assistant.runtime.storage import JournalFile, Storage, in_memory
from assistant.runtime.warming import Warmer
from assistant.service.showing import scene_text
from assistant.service.troubles import Troubles
from assistant.service.usage_store import UsageStore
from assistant.surfaces.trial.discreet import DiscreetScreen
from assistant.surfaces.trial.lines import PipeLines
from assistant.surfaces.trial.plain import PlainScreen
from assistant.surfaces.trial.session import Screen, Session, TrialObserver, VisitorEars
from assistant.surfaces.trial.staging import Staging, assistant_principal
from assistant.worlds.embedded.hamlet import HAMLET, Place
from resilience import HttpExchange, Launcher, Ledger, Pipeline
from tools import Kind, Principal
from tools.text.clean import clean_heard

if TYPE_CHECKING:
    from assistant.surfaces.trial.terminal import Terminal
    from assistant.web.web import Web

#: How many characters of a line of input the transcript repeats.
SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """The options of a trial from the command line."""

    config: Config
    #: Seconds since 1970.
    wall: Callable[[], float]
    as_json: bool = False
    tracing: bool = False
    #: The folder that relative paths of key files start from.
    folder: Path = Path()
    #: The secrets that must not be shown.
    secrets: Secrets = field(default_factory=Secrets)
    #: The reference of a key that was named on the command line: this key may go to a new server.
    entered_key: str = ""
    #: The visitor's permission level in the game.
    visitor_permission: int = 1
    #: The place of the conversation.
    place: Place = HAMLET


class InputLines(Protocol):
    """A source of lines."""

    def next(self) -> Deferred[str | None]:
        """Wait for the next line and return it, None when there are no more."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


class Trial:
    """The parts of one trial, made and closed together."""

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
        self._spending = UsageStore(ledger, journal.usage) if journal else None
        keep = self._spending.keep if self._spending else None
        self._pipeline = Pipeline(reactor, Random(), ledger, keep)  # noqa: S311  (jitter)
        self._launcher = Launcher()
        self._assistant: Assistant | None = None
        self._lines: InputLines | None = None

    async def converse(self) -> int:
        """Read and obey lines until the visitor leaves; return the exit status."""
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
        await self._pipeline.write_ledger()
        if self._web is not None:
            await self._web.stop()
        for model in self._models:
            if model.embedded is not None:
                await model.embedded.stop()

    def _goodbye(self, name: str) -> str:
        """Return the last remark, which says whether the conversation is kept."""
        if self._journal is None:
            return f"(Goodbye. {name} keeps nothing of this; with --journal FILE it would.)"
        return f"(Goodbye. {name} remembers this in {self._journal.store.path.name}.)"

    def _front(self) -> tuple[Screen, InputLines, Terminal | None]:
        if sys.stdin.isatty() and sys.stdout.isatty() and not self._options.as_json:
            from assistant.surfaces.trial.terminal import Terminal  # noqa: PLC0415  (a quarter of a second that pipes need not pay)

            terminal = Terminal()
            return terminal, terminal, terminal
        return PlainScreen(quiet=self._options.as_json), PipeLines(sys.stdin.fileno(), self._reactor), None

    async def _storage(self, me: Principal) -> Storage:
        """Return the assistant's storage: in the journal, or in memory without one."""
        limit = self._options.config.assistant.inbox_limit
        if self._journal is None:
            return in_memory(self._reactor.seconds, limit)
        return await self._journal.storage_of(me.id, limit, me.name)

    async def _session(self, screen: Screen) -> Session:
        """Make the place with the assistant and the visitor in it, start the assistant, and return the session."""
        options = self._options
        settings, secrets = options.config.assistant, options.secrets
        me = assistant_principal(settings)
        visitor = Principal("player:1", "Visitor", Kind.PLAYER, options.visitor_permission)
        observer = TrialObserver(
            screen,
            settings.name,
            self._troubles,
            as_json=options.as_json,
            tracing=options.tracing,
            scrub=secrets.scrub,
        )
        staging = Staging(
            self._reactor,
            self._exchange,
            self._pipeline,
            self._launcher,
            options.wall,
            options.config.budget,
            secrets.scrub,
            secrets.pieces(),
        )
        stage = await staging.settle(
            options.place,
            settings,
            self._models,
            await self._storage(me),
            observer,
            description=f"This is {settings.name}, who keeps the library." if options.place is HAMLET else "",
            tools=self._web.tools(me.id) if self._web else (),
            notify=lambda _, sentence: screen.remark(f"({sentence})"),
            on_failure=observer.failed,
        )
        self._assistant = stage.assistant
        body = stage.world.add(visitor, listener=VisitorEars(screen, visitor), description="A visitor from far away.")
        self._launcher.launch(Warmer().warm(stage.assistant.context, self._models[0]), "warming the model")
        status = self._web.status if self._web else str
        session = Session(
            body, stage.assistant, settings.name, observer, screen, self._pipeline, self._troubles, self._reload, status
        )
        self._troubles.watch(session.troubled)
        return session

    async def _reload(self) -> None:
        """Read the keys again, and ask again the servers that refused a key or did not have the model."""
        self._pipeline.configuration_changed()
        if self._assistant is not None:
            for link in self._assistant.context.client.links:
                await link.client.has_new_key()
        if self._web is not None:
            await self._web.settings_changed()
        if self._assistant is not None:
            self._assistant.tick.resume()
