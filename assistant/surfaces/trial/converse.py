"""Runs the conversation of one trial: the place, the assistant in it, and the visitor."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from twisted.internet.defer import Deferred

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.events.outcome import Failed, LimitReached
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.listener import BodyListener, MakeEvent
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.service.wording.showing import scene_text
from mud_assistant.assistant.surfaces.standalone import StandaloneOptions, principal_of
from mud_assistant.assistant.surfaces.trial.piped import DiscreetScreen, PipeLines, PlainScreen, Screen
from mud_assistant.assistant.surfaces.trial.session import Session
from mud_assistant.assistant.surfaces.trial.watching import TrialObserver, VisitorListener
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld, LocalClock
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.text.clean import clean_heard
from mud_assistant.tools.verbs import ACCOUNT_TOOLS

if TYPE_CHECKING:
    from mud_assistant.assistant.surfaces.trial.terminal import Terminal

#: How many characters of a line of input the transcript repeats.
SHOWN_CHARS = 200


class TrialOptions(StandaloneOptions, frozen=True):
    """The options of a trial from the command line."""

    as_json: bool = False
    tracing: bool = False
    #: The visitor's permission level in the game.
    visitor_permission: int = 1
    #: Whether its journal is gone with it.
    forgets: bool = False


class InputLines(Protocol):
    """A source of lines."""

    def next(self) -> Deferred[str | None]:
        """Wait for the next line and return it, None when there are no more."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


class Trial:
    """The conversation of one trial: the place, the assistant in it, and the visitor. The caller ends the service."""

    # Any: the reactor as clock, and for descriptors.
    def __init__(self, reactor: Any, options: TrialOptions, service: AssistantService) -> None:
        settings = options.config.assistant
        self.assistant_name = settings.name
        self.me = principal_of(settings)
        self._reactor = reactor
        self._options = options
        self._service = service
        self._world = EmbeddedWorld(options.place, LocalClock(service.config.wall), service.clock.seconds)
        description = "who keeps the library" if options.place is HAMLET else ""
        about = f"This is {', '.join(filter(None, (settings.name, description)))}."
        self._body = body = self._world.add(self.me, description=about)
        body.listener = BodyListener(self.me, self._hear, body.alone_with, body.others_than)
        self._visitor = Principal("player:1", "Visitor", Kind.PLAYER, options.visitor_permission)
        self._is_at_terminal = False
        #: Where remarks and failures are shown; None before the conversation.
        self._screen: Screen | None = None
        self._observer: TrialObserver | None = None

    @property
    def names(self) -> Mapping[str, str]:
        """The names of those who are there, by their ids."""
        return {one.id: one.name for one in (self.me, self._visitor)}

    def where(self) -> str:
        """Return the name of the room that the assistant is in."""
        return self._body.room.name

    async def start(self) -> Sequence[ChosenModel]:
        """Start the assistant in the place, and return the models it thinks with, the preferred one first.

        Raises NoModelError, SettingsError, KeyReferenceError and JournalError.
        """
        runner = self.begin(self._options.config, self._options.entered_key)
        await runner.first_attempt()
        return runner.models

    def begin(self, config: Config, entered: str = "") -> AssistantRunner:
        """Start the assistant, or restart it, with these settings and a key that was given just now."""
        place = Embodiment(self.me, self._body, ACCOUNT_TOOLS, notify=self._notify, failed=self._failed)
        runner = self._service.start(place, config, entered)
        if self._observer is not None:
            runner.observers.add(self._observer)
        return runner

    async def converse(self) -> int:
        """Read and obey lines until the visitor leaves; return the exit status."""
        screen, lines, terminal = self._front()
        self._is_at_terminal = terminal is not None
        session = self._new_session(DiscreetScreen(screen, self._options.secrets))
        if terminal is not None:
            terminal.complete_from(session.in_sight)
        try:
            screen.show(scene_text(await session.body.look()))
            while (line := await lines.next()) is not None:
                if terminal is None:
                    screen.show(f"> {clean_heard(line, SHOWN_CHARS)}")
                if not await session.obey(line):
                    break
                if terminal is None and (runner := self._service.runners.get(self.me.id)) is not None:
                    await runner.settled()
        finally:  # also when a signal ends it
            self._is_at_terminal = False
            if terminal is not None:
                screen.remark(self._goodbye())
            lines.close()
        return 0

    def tell(self, sentence: str) -> bool:
        """Show a remark above the prompt of a terminal. Return False where there is no talk at a terminal."""
        if not self._is_at_terminal:
            return False
        self._notify(self.me, sentence)
        return True

    def _goodbye(self) -> str:
        """Return the last remark, which says whether the conversation is kept."""
        journal = self._options.config.journal
        if not (journal.file or journal.url) or self._options.forgets:
            return f"(Goodbye. {self.assistant_name} keeps nothing of this; with --journal FILE it would.)"
        return f"(Goodbye. {self.assistant_name} remembers this in {journal.url or Path(journal.file).name}.)"

    def _front(self) -> tuple[Screen, InputLines, Terminal | None]:
        if sys.stdin.isatty() and sys.stdout.isatty() and not self._options.as_json:
            from mud_assistant.assistant.surfaces.trial.terminal import Terminal  # noqa: PLC0415  (a quarter of a second that pipes need not pay)

            terminal = Terminal()
            return terminal, terminal, terminal
        return PlainScreen(quiet=self._options.as_json), PipeLines(sys.stdin.fileno(), self._reactor), None

    def _hear(self, make: MakeEvent) -> None:
        """Hand an event to the assistant, if it runs. After a restart that is another runner."""
        if (runner := self._service.runners.get(self.me.id)) is not None:
            runner.hear(make)

    def _new_session(self, screen: Screen) -> Session:
        """Put the visitor beside the assistant, which is awake, and return the session."""
        options, service = self._options, self._service
        runner = service.runners[self.me.id]
        observer = TrialObserver(
            screen,
            self.assistant_name,
            service.troubles,
            as_json=options.as_json,
            tracing=options.tracing,
            scrub=options.secrets.scrub,
        )
        self._screen, self._observer = screen, observer
        runner.observers.add(observer)
        visitor = self._visitor
        body = self._world.add(
            visitor, listener=VisitorListener(screen, visitor), description="A visitor from far away."
        )
        session = Session(body, self.me, observer, screen, service)
        service.troubles.watch(session.troubled)
        return session

    def _notify(self, _: Principal, sentence: str) -> None:
        if self._screen is not None:
            self._screen.remark(f"({sentence})")

    def _failed(self, failure: Failed | LimitReached) -> None:
        if self._observer is not None:
            self._observer.failed(failure)
