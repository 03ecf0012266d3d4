"""What a host, a game or a trial, hands to its service: settings, what it does itself, and each assistant's body."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

from mud_assistant.assistant.characters import FOLDER
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.sections import WebConfig
from mud_assistant.assistant.events.outcome import Failed, LimitReached, Outcome
from mud_assistant.assistant.events.trace import Observer, StepTrace
from mud_assistant.assistant.events.watching import Watchers
from mud_assistant.assistant.journal import HeldElsewhere
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.runtime.opening import WantedJournal
from mud_assistant.assistant.runtime.own_tools import OwnTools
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.service.embedded import MakeFetch, MakeServed
from mud_assistant.tools import Principal, Tool, World

#: How the owner of a game gives a key again.
IN_THE_GAME = "name it again with the command that sets keys: {reference}"

_log = Logger()


class ServiceConfig(Struct, frozen=True):
    """The inputs of a service.

    `settings` are those of the whole game: budget, journal and web, and what each assistant begins with. A
    relative path of a key file starts from `folder`. `wall` gives seconds since 1970. Every key that is read is added
    to `secrets`. `journal` is its file; None where the settings name a database, or nothing outlives the process.
    """

    settings: Config
    folder: Path
    environment: Mapping[str, str]
    wall: Callable[[], float]
    secrets: Secrets
    journal: Path | None
    #: The settings of the web as the owner has changed them since; None when those of `settings` apply.
    web: WebConfig | None = None
    #: The folder of characters; None for the one beside the settings.
    characters: Path | None = None
    #: What other processes that share the journal call this one: the same after a restart; empty for the machine's name
    #: and the folder.
    process: str = ""
    #: The owner's own tools, which every assistant has beside the usual ones.
    own_tools: OwnTools = OwnTools()

    @property
    def journal_place(self) -> str:
        """Where the journal is, for people; empty when nothing outlives the process."""
        return self.settings.journal.url or str(self.journal or "")

    @property
    def process_name(self) -> str:
        """What other processes that share the journal call this one."""
        return self.process or f"{platform.node() or 'a machine'}:{self.folder.absolute()}"

    @property
    def place(self) -> WantedJournal:
        """Where the journal is, for those who open it."""
        return WantedJournal(self.settings.journal, self.journal, self.process_name, self.settings.memory.language)

    @property
    def character_folder(self) -> Path:
        """The folder in which the characters of assistants are looked for."""
        return self.characters or self.folder / FOLDER


def _log_left_out(why: str) -> None:
    _log.warn("a model is left out: {why}", why=why)


def _log_better(sentence: str) -> None:
    _log.info("in the background: {sentence}", sentence=sentence)


class ServiceHooks(Struct, frozen=True):
    """What a surface does itself. The defaults are those of a game, where everything is reported to the log."""

    #: Makes the server of an embedded model; None for the real one, which reports to the log.
    make_served: MakeServed | None = None
    #: Makes the process that fetches a model file behind the talk; None for the real one.
    make_fetch: MakeFetch | None = None
    #: Is told in one sentence what is fetched behind the talk, and what became better.
    better: Callable[[str], None] = _log_better
    #: Is told why a model of the settings is left out, in one sentence without a key.
    left_out: Callable[[str], None] = _log_left_out
    #: Says how the owner gives the key of a `{reference}` again.
    key_again: str = IN_THE_GAME


def stays() -> Deferred[None]:
    """Do nothing: there is no connection."""
    return succeed(None)


class Embodiment(Struct, frozen=True):
    """The identity of an assistant in its world, and how it acts there.

    The id of `me` never changes: the assistant's memory is kept under it.
    """

    me: Principal
    world: World
    #: The tools of this world beyond the usual ones.
    tools: tuple[Tool, ...] = ()
    #: Called at start when events of an earlier process wait for an answer. It returns when a player is there to be
    #: answered, or waiting for one has been long enough.
    gathered: Callable[[], Awaitable[None]] | None = None
    #: Tells a player one sentence outside the story, where they are.
    notify: Callable[[Principal, str], None] = lambda _, __: None
    #: Gives the identity of the room it is in, empty when that is not known.
    where: Callable[[], str] = str
    #: Is told why a run failed or which budget is used up. Never shown in the world.
    failed: Callable[[Failed | LimitReached], None] = lambda _: None
    #: Called by an emergency stop: nothing more is said, not even the rest of a long speech. Must not raise.
    silence: Callable[[], None] = lambda: None
    #: Called with its storage when it begins to live in this process, before it hears anything.
    enter: Callable[[Storage], None] = lambda _: None
    #: Called with why when another process runs it: its body may leave until `enter` is called.
    leave: Callable[[HeldElsewhere], None] = lambda _: None
    #: Called when it was stopped, and before anything else when another process has taken it over: a connection to its
    #: game is closed at once, and gone when what is returned fires. Must not raise; may be called again.
    withdraw: Callable[[], Deferred[None]] = stays


class Observers:
    """An observer of the assistant `me` that passes everything on to others, which come and go at any time.

    The `watchers` are those of all assistants of the process.
    """

    def __init__(self, watchers: Watchers, me: str) -> None:
        self._watching: list[Observer] = []
        self._watchers = watchers
        self._me = me

    def __contains__(self, observer: object) -> bool:
        """Tell whether this observer was added."""
        return observer in self._watching

    def add(self, observer: Observer) -> None:
        """Add an observer. No effect when it was added already."""
        if observer not in self._watching:
            self._watching.append(observer)

    def remove(self, observer: Observer) -> None:
        """Remove an observer. No effect when it was not added."""
        if observer in self._watching:
            self._watching.remove(observer)

    def thinking(self, run_id: str, step: int) -> None:
        """Report that the model is about to be asked."""
        for observer in tuple(self._watching):
            observer.thinking(run_id, step)
        if self._watchers.is_watched:
            self._watchers.thinking(self._me, run_id, step)

    def step(self, trace: StepTrace) -> None:
        """Report that a step is over."""
        for observer in tuple(self._watching):
            observer.step(trace)
        if self._watchers.is_watched:
            self._watchers.step(self._me, trace)

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Report that the run is over."""
        for observer in tuple(self._watching):
            observer.run_ended(run_id, outcome)
        if self._watchers.is_watched:
            self._watchers.run_ended(self._me, run_id, outcome)
