"""Runs `mud-assistant worker`: assistants without a terminal, shared with other processes through their journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from assistant.errors import AssistantError, complaint
from assistant.events.events import Event
from assistant.journal import HeldElsewhere, JournalUnreadable
from assistant.service.runner import AssistantRunner
from assistant.service.service import AssistantService
from assistant.surfaces.serve.file import SettingsFile
from assistant.surfaces.serve.local_host import LocalAssistant, LocalHost
from assistant.surfaces.serve.run import OPEN_IT, open_gateway
from assistant.surfaces.serve.standing import PageNotOpened, StandingPage
from assistant.surfaces.trial.converse import TrialOptions
from assistant.surfaces.trial.run import CANNOT_START, WAITS, Progress, has_journal, service_of
from assistant.surfaces.worker.colony import Colony
from assistant.surfaces.worker.members import Member, members_of

if TYPE_CHECKING:
    from assistant.runtime.sharing.journal import SharedJournal

_NO_URL = (
    "a worker shares its assistants with others through a journal in PostgreSQL, and the settings name none: set "
    'url = "postgresql://USER@HOST/DATABASE" under [journal] (docs/worker.md), or run one assistant on this machine '
    "alone with `mud-assistant serve`"
)

#: How long a process that was killed may take to be gone for the database, and how often that is looked at, in seconds.
NAMESAKE_SECONDS, _LOOK_SECONDS = 3.0, 0.5
_TAKEN = (
    "another process that shares this journal is called {name} and lives: give this one another name with --name, "
    "since two of one name would take each other's assistants"
)

_log = Logger()


class NameTaken(AssistantError):
    """Another process has the name of this one. The message is a sentence for the owner."""


class WorkerOptions(Struct, frozen=True):
    """The options of a worker. `file` are the settings, `trial` says what is run in which place.

    `process` is what others call this process. A page that `must_have_page` asks for is not left out.
    """

    trial: TrialOptions
    file: SettingsFile
    process: str
    names: Sequence[str] = ()
    must_have_page: bool = False


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_worker(reactor: Any, options: WorkerOptions, environment: Mapping[str, str]) -> int:
    """Work until it is cancelled, and return the exit status. Its assistants are given to others at the end."""
    progress = Progress(scrub=options.trial.secrets.scrub)
    if not options.trial.config.journal.url:
        progress.note(complaint(_NO_URL))
        return CANNOT_START
    try:
        members = members_of(options.trial.config, options.file, options.names)
        return await RunningWorker(reactor, options, members, progress).run(environment)
    except AssistantError as error:
        progress.note(complaint(str(error)))
        return CANNOT_START


class RunningWorker:
    """One process of several that share assistants."""

    # Any: as above.
    def __init__(self, reactor: Any, options: WorkerOptions, members: Sequence[Member], progress: Progress) -> None:
        self._reactor = reactor
        self._options = options
        self._members = members
        self._progress = progress

    async def run(self, environment: Mapping[str, str]) -> int:
        """Run the assistants until it is cancelled; return the exit status. Raises AssistantError."""
        options = self._options
        service = service_of(self._reactor, options.trial, environment, self._progress, process=options.process)
        page: StandingPage | None = None
        journal: SharedJournal | None = None
        try:
            if not await has_journal(service, self._progress):
                return CANNOT_START
            if service.parts.trouble:
                raise AssistantError(service.parts.trouble)
            found = self._journal(service)
            await self._be_alone_with_name(found)
            journal = found
            colony = self._settle(service, journal)
            page = self._open_page(service, colony)
            if options.trial.config.gateway.enabled:
                await open_gateway(service, self._progress)
            self._start(service, colony)
            await Deferred()  # fires only when it is cancelled, as Ctrl-C and SIGTERM do
        finally:
            if page is not None:
                await page.close()
            if journal is not None:
                await journal.stop_sharing()
            await service.finish()
            if journal is not None:
                self._note(f"{options.process} has ended; its assistants are free for others.")
        return 0

    def _journal(self, service: AssistantService) -> SharedJournal:
        """Return the journal, which is in PostgreSQL."""
        from assistant.runtime.sharing.journal import SharedJournal  # noqa: PLC0415  (needs psycopg, which is here by now)

        journal = service.parts.journal
        assert isinstance(journal, SharedJournal)
        return journal

    async def _be_alone_with_name(self, journal: SharedJournal) -> None:
        """Wait until no other process has the name of this one. Raises NameTaken after a few seconds.

        A database that goes away meanwhile is waited for.
        """
        looks, is_told = 0, False
        while looks < round(NAMESAKE_SECONDS / _LOOK_SECONDS):
            try:
                if not await journal.has_namesake():
                    return
                looks += 1
            except JournalUnreadable as error:
                if not is_told:
                    self._note(f"{complaint(error)}. {WAITS}")
                is_told = True
            await deferLater(self._reactor, _LOOK_SECONDS)
        raise NameTaken(_TAKEN.format(name=self._options.process))

    def _settle(self, service: AssistantService, journal: SharedJournal) -> Colony:
        """Return the world of the assistants, in which they hear what is said elsewhere, and which others may join."""
        from assistant.service.handing import share_out, take_in  # noqa: PLC0415  (needs psycopg)

        journal.keeps_stopped = True
        colony = Colony(self._options.trial.place, self._members, service, journal, self._note)

        async def hear(assistant: str, event: Event) -> bool:
            colony.add_speaker(event.who)
            return await take_in(service, assistant, event)

        journal.take_messages(hear)
        share_out(service, journal)
        return colony

    def _start(self, service: AssistantService, colony: Colony) -> None:
        """Start all assistants, and say so."""
        names = ", ".join(member.me.name for member in self._members)
        where = service.config.journal_place
        self._note(f"{self._options.process} runs {names}, or waits for them; the journal is {where}.")
        for member in self._members:
            runner = colony.begin(member.me.id, member.config, self._options.trial.entered_key)
            service.launch(self._report(runner), f"the start of {member.me.name}")

    async def _report(self, runner: AssistantRunner) -> None:
        """Say which model an assistant thinks with, or what keeps it from thinking."""
        try:
            await runner.first_attempt()
        except HeldElsewhere:  # told already
            return
        except AssistantError as error:
            self._note(f"{complaint(error)} It is tried again by itself.")
        else:
            self._note(f"{runner.embodiment.me.name} thinks with {runner.models[0].why}.")

    def _open_page(self, service: AssistantService, colony: Colony) -> StandingPage | None:
        """Open the page and say where it is; None where the settings want none, or its port is taken."""
        settings = service.config.settings.page
        if not settings.enabled:
            return None
        assistants = [
            LocalAssistant(
                member.me,
                member.file,
                partial(colony.begin, member.me.id),
                where=partial(colony.where, member.me.id),
                is_listed=True,
            )
            for member in self._members
        ]
        page = StandingPage(self._reactor, service, LocalHost(service, assistants), settings)
        try:
            address = page.open()
        except PageNotOpened as error:
            if self._options.must_have_page:
                raise
            self._note(f"{complaint(error)} It goes on without one.")
            service.launch(page.close(), "closing a page that was not opened")
            return None
        self._note(f"{OPEN_IT}\n  {address}")
        return page

    def _note(self, text: str) -> None:
        """Show a line to the operator, who may read the log instead."""
        self._progress.note(text)
        if OPEN_IT not in text:  # the address is a key
            _log.info("{text}", text=text)
