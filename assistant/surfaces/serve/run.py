"""Runs `mud-assistant serve`: an assistant in its place without a terminal, or a journal that is only looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.config.schema import Config, JournalConfig
from mud_assistant.assistant.errors import AssistantError, complaint
from mud_assistant.assistant.exit_status import ExitStatus, exit_status
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.tables.lease import NAME_OF
from mud_assistant.assistant.page.ports import KnownAssistant, Unavailable
from mud_assistant.assistant.page.reading.reader import JournalReader
from mud_assistant.assistant.service.host import ServiceConfig
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.surfaces.gateway.run import open_gateway
from mud_assistant.assistant.surfaces.guest_home import GuestHome
from mud_assistant.assistant.surfaces.journal.places import PlaceFinder
from mud_assistant.assistant.surfaces.serve.local_host import LocalAssistant, LocalHost
from mud_assistant.assistant.surfaces.serve.standing import open_page
from mud_assistant.assistant.surfaces.standalone import (
    Standalone,
    principal_of,
    run_standalone,
    until_cancelled,
)
from mud_assistant.assistant.surfaces.start_progress import Progress
from mud_assistant.assistant.surfaces.trial.converse import Trial, TrialOptions
from mud_assistant.assistant.surfaces.trial.run import run_trial
from mud_assistant.assistant.surfaces.worker.members import Member

_NO_JOURNAL = "there is no journal to look at: give it with --journal FILE"


class ServeOptions(TrialOptions, frozen=True):
    """The options of serve. One that is read-only shows the journal, and runs no assistant."""

    is_read_only: bool = False


class JournalHost:
    """The assistants of a journal. Call `load` first; it may be called again."""

    #: Nothing can be changed.
    store = None

    def __init__(self, reader: JournalReader) -> None:
        self._reader = reader
        self._names: dict[str, str] = {}

    async def load(self) -> None:
        """Read which assistants the journal knows. Raises Unavailable."""
        self._names = await self._reader.read(_assistants)

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return the assistants of the journal. None of them runs here."""
        return [KnownAssistant(id_, name, is_off=True) for id_, name in sorted(self._names.items())]

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the names of assistants; those of players stand in the runs."""
        with suppress(Unavailable):  # those that were known before do
            await self.load()
        return {id_: self._names[id_] for id_ in ids if id_ in self._names}

    async def findings(self) -> Sequence[Finding]:
        """Say that the journal is only looked at."""
        return [Finding("journal", FindingState.OK, "the journal is only looked at; nobody runs here")]


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_serve(reactor: Any, options: ServeOptions, environment: Mapping[str, str]) -> int:
    """Serve until it is cancelled, and return the exit status. Nothing that it started is left running."""
    if options.is_read_only:
        progress = Progress(scrub=options.secrets.scrub)
        try:
            return await _look_at(reactor, options, environment, progress)
        except (AssistantError, Unavailable) as error:
            progress.note(complaint(str(error)))
            return exit_status(error) if isinstance(error, AssistantError) else ExitStatus.SETTINGS

    async def live(program: Standalone) -> int:
        if options.config.world.telnet:
            begin = _guest_in(program, options)
        else:
            trial = Trial(reactor, options, program.service)
            _open_page_of(program, trial)
            begin = trial.begin
        if options.config.gateway.enabled:
            await open_gateway(program)
        runner = begin(options.config, options.entered_key)
        try:
            await runner.first_attempt()
        except AssistantError as error:
            program.progress.note(f"{complaint(error).rstrip('.')}. It is tried again by itself; the page shows it.")
        else:
            program.progress.note(f"{runner.embodiment.me.name} thinks with {runner.models[0].why}.")
        return await until_cancelled()

    return await run_standalone(reactor, options, environment, live)


def _guest_in(program: Standalone, options: ServeOptions) -> Callable[[Config, str], AssistantRunner]:
    """Open the page beside a guest in the game of the settings, and return what starts it. Raises AssistantError."""
    me = principal_of(options.config.assistant)
    home = GuestHome(program, [Member(me, options.config, options.file)])
    open_page(program, LocalHost(program.service, home.locals()))
    return partial(home.begin, me.id)


# Any: as above.
async def run_trial_with_page(reactor: Any, options: TrialOptions, environment: Mapping[str, str]) -> int:
    """Run a trial with the page beside it; without a journal a temporary one, so that runs can be shown."""
    with ExitStack() as stack:
        if not (options.config.journal.file or options.config.journal.url):
            folder = stack.enter_context(TemporaryDirectory(prefix="mud-assistant-", ignore_cleanup_errors=True))
            journal = options.config.journal.model_copy(update={"file": str(Path(folder) / "trial.journal")})
            options = replace(options, config=options.config.model_copy(update={"journal": journal}), forgets=True)
        return await run_trial(reactor, options, environment, _open_page_of)


def _open_page_of(program: Standalone, trial: Trial) -> None:
    """Open the page beside an assistant in its place. Raises PageNotOpened."""
    there = LocalAssistant(trial.me, program.options.file, trial.begin, where=trial.where)
    open_page(program, LocalHost(program.service, [there], trial.names))


# Any: as above.
async def _look_at(reactor: Any, options: ServeOptions, environment: Mapping[str, str], progress: Progress) -> int:
    """Show a journal, without any assistant and without a change to it. Raises AssistantError and Unavailable."""
    folder = options.file.folder
    place = PlaceFinder(options.config.journal, folder, environment, options.secrets).of_settings()
    if place is None:
        raise AssistantError(_NO_JOURNAL)
    if isinstance(place, Path) and not place.is_file():
        raise AssistantError(f"there is no journal {place}")
    nothing_kept = options.config.model_copy(update={"journal": JournalConfig()})  # another process writes it
    inputs = ServiceConfig(nothing_kept, folder, environment, options.wall, options.secrets, None)
    async with AsyncExitStack() as closing:
        service = AssistantService(reactor, inputs, Random())  # noqa: S311  (jitter)
        service.open()
        closing.push_async_callback(service.finish)
        reader = JournalReader(place, reactor)
        closing.callback(reader.close)
        host = JournalHost(reader)
        await host.load()
        open_page(Standalone(reactor, options, service, progress, closing), host, place)
        name = place.name if isinstance(place, Path) else place
        progress.note(f"{name} is only looked at: nothing in it is changed. Ctrl-C ends this.")
        return await until_cancelled()


def _assistants(db: Database) -> dict[str, str]:
    ids = [row[0] for row in db.execute("SELECT assistant FROM leases UNION SELECT DISTINCT assistant FROM runs")]
    named = dict(db.execute("SELECT key, value FROM meta WHERE key LIKE ?", (f"{NAME_OF}%",)))
    return {id_: str(named.get(NAME_OF + id_, id_)) for id_ in ids}
