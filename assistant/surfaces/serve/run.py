"""Runs `mud-assistant serve`: an assistant in its place without a terminal, or a journal that is only looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.defer import Deferred

from assistant.config.schema import JournalConfig
from assistant.errors import AssistantError, complaint
from assistant.gateway.running import RunningGateway, ready
from assistant.journal.database import Database
from assistant.journal.tables.lease import NAME_OF
from assistant.page.ports import KnownAssistant, Unavailable
from assistant.page.reading.reader import JournalReader
from assistant.page.values.actions import FindingView
from assistant.service.host import ServiceConfig
from assistant.service.service import AssistantService
from assistant.surfaces.journal.places import PlaceFinder
from assistant.surfaces.serve.file import SettingsFile
from assistant.surfaces.serve.local_host import LocalAssistant, LocalHost
from assistant.surfaces.serve.standing import StandingPage
from assistant.surfaces.trial.converse import Trial, TrialOptions
from assistant.surfaces.trial.run import CANNOT_START, Progress, has_journal, service_of

#: Told before the address.
OPEN_IT = "The operator's page is open. This address is good for one log-in:"
_NO_JOURNAL = "there is no journal to look at: give it with --journal FILE"


class ServeOptions(Struct, frozen=True):
    """The options of serve. `file` are the settings, `trial` says what is run in its place."""

    trial: TrialOptions
    file: SettingsFile
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

    async def findings(self) -> Sequence[FindingView]:
        """Say that the journal is only looked at."""
        return [FindingView(check="journal", state="ok", sentence="the journal is only looked at; nobody runs here")]


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_serve(reactor: Any, options: ServeOptions, environment: Mapping[str, str]) -> int:
    """Serve until it is cancelled, and return the exit status. Nothing that it started is left running."""
    progress = Progress(scrub=options.trial.secrets.scrub)
    try:
        if options.is_read_only:
            return await _look_at(reactor, options.trial, environment, progress)
        return await _live(reactor, options, environment, progress)
    except (AssistantError, Unavailable) as error:
        progress.note(complaint(str(error)))
        return CANNOT_START


async def _live(reactor: Any, options: ServeOptions, environment: Mapping[str, str], progress: Progress) -> int:
    """Let an assistant live in its place, with the page."""
    service = service_of(reactor, options.trial, environment, progress)
    page: StandingPage | None = None
    try:
        if not await has_journal(service, progress):
            return CANNOT_START
        trial = Trial(reactor, options.trial, service)
        page = open_page(reactor, service, trial, options.file, progress)
        if options.trial.config.gateway.enabled:
            await open_gateway(service, progress)
        try:
            models = await trial.start()
        except AssistantError as error:
            progress.note(f"{complaint(error)} It is tried again by itself; the page shows it.")
        else:
            progress.note(f"{trial.assistant_name} thinks with {models[0].why}.")
        await _for_ever()
    finally:
        if page is not None:
            await page.close()
        await service.finish()
    return 0


async def _look_at(reactor: Any, options: TrialOptions, environment: Mapping[str, str], progress: Progress) -> int:
    """Show a journal, without any assistant. Raises AssistantError and Unavailable."""
    config = options.config
    place = PlaceFinder(config.journal, options.folder, environment, options.secrets).of_settings()
    if place is None:
        raise AssistantError(_NO_JOURNAL)
    if isinstance(place, Path) and not place.is_file():
        raise AssistantError(f"there is no journal {place}")
    nothing_kept = config.model_copy(update={"journal": JournalConfig()})  # another process writes it
    inputs = ServiceConfig(nothing_kept, options.folder, environment, options.wall, options.secrets, None)
    service = AssistantService(reactor, inputs, Random())  # noqa: S311  (jitter)
    service.open()
    reader = JournalReader(place, reactor)
    host = JournalHost(reader)
    page: StandingPage | None = None
    try:
        await host.load()
        page = StandingPage(reactor, service, host, config.page, journal=place)
        _tell(page, progress)
        name = place.name if isinstance(place, Path) else place
        progress.note(f"{name} is only looked at: nothing in it is changed. Ctrl-C ends this.")
        await _for_ever()
    finally:
        if page is not None:
            await page.close()
        reader.close()
        await service.finish()
    return 0


def open_page(
    reactor: Any, service: AssistantService, trial: Trial, file: SettingsFile, progress: Progress
) -> StandingPage:
    """Open the page beside an assistant, and say where it is. Raises PageNotOpened."""
    host = LocalHost(service, [LocalAssistant(trial.me, file, trial.begin, where=trial.where)], trial.names)
    page = StandingPage(reactor, service, host, service.config.settings.page)
    _tell(page, progress)
    return page


async def open_gateway(service: AssistantService, progress: Progress) -> None:
    """Open the gateway beside the assistants, and say where it is. Raises GatewayNotOpened."""
    gateway = RunningGateway(service, service.config.settings.gateway)
    address = await gateway.open()
    progress.note(ready(gateway, address))


def with_port(options: TrialOptions, port: int | None) -> TrialOptions:
    """Return the options with another port for the page, None for that of the settings."""
    if port is None:
        return options
    page = options.config.page.model_copy(update={"port": port})
    return replace(options, config=options.config.model_copy(update={"page": page}))


def with_journal(options: TrialOptions, file: Path, *, is_temporary: bool = False) -> TrialOptions:
    """Return the options with another journal, which does not outlive the trial when it is temporary."""
    journal = options.config.journal.model_copy(update={"file": str(file), "url": "", "password": ""})
    config = options.config.model_copy(update={"journal": journal})
    return replace(options, config=config, forgets=is_temporary)


def _tell(page: StandingPage, progress: Progress) -> None:
    progress.note(f"{OPEN_IT}\n  {page.open()}")


def _for_ever() -> Deferred[None]:
    """Return what fires only when it is cancelled, as Ctrl-C does."""
    return Deferred()


def _assistants(db: Database) -> dict[str, str]:
    ids = [row[0] for row in db.execute("SELECT assistant FROM leases UNION SELECT DISTINCT assistant FROM runs")]
    named = dict(db.execute("SELECT key, value FROM meta WHERE key LIKE ?", (f"{NAME_OF}%",)))
    return {id_: str(named.get(NAME_OF + id_, id_)) for id_ in ids}
