"""Runs `mud-assistant worker`: assistants without a terminal, shared with other processes through their journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from twisted.internet.task import deferLater
from twisted.logger import Logger

from mud_assistant.assistant.errors import AssistantError, complaint
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.exit_status import exit_status
from mud_assistant.assistant.journal import HeldElsewhere, JournalUnreadable
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.surfaces.gateway.run import open_gateway
from mud_assistant.assistant.surfaces.guest_home import GuestHome
from mud_assistant.assistant.surfaces.serve.local_host import LocalHost
from mud_assistant.assistant.surfaces.serve.standing import PageNotOpened, open_page
from mud_assistant.assistant.surfaces.standalone import (
    WAITS,
    Standalone,
    StandaloneOptions,
    run_standalone,
    until_cancelled,
)
from mud_assistant.assistant.surfaces.start_progress import Progress
from mud_assistant.assistant.surfaces.worker.colony import Colony
from mud_assistant.assistant.surfaces.worker.members import Member, members_of

if TYPE_CHECKING:
    from mud_assistant.assistant.runtime.sharing.journal import SharedJournal

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

    passes = True


class WorkerOptions(StandaloneOptions, frozen=True, kw_only=True):
    """The options of a worker. `process` is what others call it, `names` are its assistants, if not those of the file.

    A page that `must_have_page` asks for is not left out. What is shown is written to the log too where `logs_notes`.
    """

    process: str
    names: Sequence[str] = ()
    must_have_page: bool = False
    logs_notes: bool = True


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_worker(reactor: Any, options: WorkerOptions, environment: Mapping[str, str]) -> int:
    """Work until it is cancelled, and return the exit status. Its assistants are given to others at the end."""
    try:
        if not options.config.journal.url:
            raise AssistantError(_NO_URL)  # noqa: TRY301  (told as the others)
        members = members_of(options.config, options.file, options.names)
    except AssistantError as error:
        Progress(scrub=options.secrets.scrub).note(complaint(error))
        return exit_status(error)
    workers: list[RunningWorker] = []

    async def work(program: Standalone) -> int:
        workers.append(RunningWorker(program, options, members))
        return await workers[0].run()

    try:
        return await run_standalone(reactor, options, environment, work, process=options.process)
    finally:
        for worker in workers:
            worker.tell_end()


class RunningWorker:
    """One process of several that share assistants."""

    def __init__(self, program: Standalone, options: WorkerOptions, members: Sequence[Member]) -> None:
        self._program = program
        self._options = options
        self._members = members
        self._has_shared = False

    async def run(self) -> int:
        """Run the assistants until it is cancelled. Raises AssistantError."""
        program, service = self._program, self._program.service
        if service.parts.trouble:
            raise AssistantError(service.parts.trouble)
        journal = self._journal(service)
        await self._be_alone_with_name(journal)
        self._has_shared = True
        program.closing.push_async_callback(journal.stop_sharing)
        colony = self._settle(service, journal)
        if service.config.settings.page.enabled:
            self._open_page(service, colony)
        if service.config.settings.gateway.enabled:
            await open_gateway(program)
        self._start(service, colony)
        return await until_cancelled()

    def tell_end(self) -> None:
        """Say that it has ended, if it has shared its assistants."""
        if self._has_shared:
            self._note(f"{self._options.process} has ended; its assistants are free for others.")

    def _journal(self, service: AssistantService) -> SharedJournal:
        """Return the journal, which is in PostgreSQL."""
        from mud_assistant.assistant.runtime.sharing.journal import SharedJournal  # noqa: PLC0415  (needs psycopg, which is here by now)

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
            await deferLater(self._program.reactor, _LOOK_SECONDS)
        raise NameTaken(_TAKEN.format(name=self._options.process))

    def _settle(self, service: AssistantService, journal: SharedJournal) -> Colony | GuestHome:
        """Return the world of the assistants, which others may join. In the hamlet they hear what is said elsewhere."""
        from mud_assistant.assistant.service.handing import share_out, take_in  # noqa: PLC0415  (needs psycopg)

        journal.keeps_stopped = True
        share_out(service, journal)
        if self._options.config.world.telnet:
            return GuestHome(self._program, self._members)
        colony = Colony(self._options.place, self._members, service, journal, self._note)

        async def hear(assistant: str, event: Event) -> bool:
            colony.add_speaker(event.who)
            return await take_in(service, assistant, event)

        journal.take_messages(hear)
        return colony

    def _start(self, service: AssistantService, colony: Colony | GuestHome) -> None:
        """Start all assistants, and say so."""
        names = ", ".join(member.me.name for member in self._members)
        where = service.config.journal_place
        self._note(f"{self._options.process} runs {names}, or waits for them; the journal is {where}.")
        for member in self._members:
            runner = colony.begin(member.me.id, member.config, self._options.entered_key)
            service.launch(self._report(runner), f"the start of {member.me.name}")

    async def _report(self, runner: AssistantRunner) -> None:
        """Say which model an assistant thinks with, or what keeps it from thinking."""
        try:
            await runner.first_attempt()
        except HeldElsewhere:  # told already
            return
        except AssistantError as error:
            self._note(f"{complaint(error).rstrip('.')}. It is tried again by itself.")
        else:
            self._note(f"{runner.embodiment.me.name} thinks with {runner.models[0].why}.")

    def _open_page(self, service: AssistantService, colony: Colony | GuestHome) -> None:
        """Open the page and say where it is, or that its port is taken. Raises PageNotOpened if it must be there."""
        try:
            open_page(self._program, LocalHost(service, colony.locals(), is_listed=True))
        except PageNotOpened as error:
            if self._options.must_have_page:
                raise
            self._note(f"{complaint(error).rstrip('.')}. It goes on without one.")

    def _note(self, text: str) -> None:
        """Show a line to the operator, who may read the log instead."""
        self._program.progress.note(text)
        if self._options.logs_notes:
            _log.info("{text}", text=text)
