"""Runs a program outside games: opens its service and journal, and closes all that it opened when it ends.

`trial`, `serve`, `worker` and `gateway` are each a function that is given a `Standalone`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct, field
from twisted.internet.defer import Deferred

from mud_assistant.assistant.characters import character_folder
from mud_assistant.assistant.config.schema import AssistantConfig, Config
from mud_assistant.assistant.errors import AssistantError, complaint
from mud_assistant.assistant.exit_status import ExitStatus, exit_status
from mud_assistant.assistant.journal import OpeningRefused, ReadOnly, is_news
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.models.bound_keys import AT_THE_COMMAND_LINE
from mud_assistant.assistant.runtime.own_tools import OwnTools
from mud_assistant.assistant.service.embedded import embedded_model
from mud_assistant.assistant.service.host import ServiceConfig, ServiceHooks
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.start_progress import Progress
from mud_assistant.assistant.telemetry import watch_service
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET, Place
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.embedded.supervisor import EmbeddedModel
from mud_assistant.tools import Kind, Principal

#: The exit status when there is no model, or the settings or the journal cannot be used.
CANNOT_START = 2
#: Said behind why a database is away.
WAITS = "It is tried again until it is back; Ctrl-C ends this."


class StandaloneOptions(Struct, frozen=True):
    """What the command line and the settings say of a program outside games."""

    config: Config
    #: The file of the settings; relative paths of key files start from its folder.
    file: SettingsFile
    #: Seconds since 1970.
    wall: Callable[[], float]
    #: The secrets that must not be shown.
    secrets: Secrets = field(default_factory=Secrets)
    #: The reference of a key that was named on the command line: this key may go to a new server.
    entered_key: str = ""
    #: Where its assistants live.
    place: Place = HAMLET
    #: The owner's own tools.
    own_tools: OwnTools = OwnTools()
    #: Whether a supervisor may begin it again: its exit status then tells whether that can help (`exit_status.py`).
    is_supervised: bool = False


class Standalone(Struct, frozen=True):
    """A program that runs: its service, where it tells of its start, and what is closed at its end, the last first."""

    # Any: no single interface of the reactor covers time, network, processes and descriptors.
    reactor: Any
    options: StandaloneOptions
    service: AssistantService
    progress: Progress
    closing: AsyncExitStack


# Any: as above.
async def run_standalone(
    reactor: Any,
    options: StandaloneOptions,
    environment: Mapping[str, str],
    work: Callable[[Standalone], Awaitable[int]],
    *,
    process: str = "",
) -> int:
    """Do `work` once the journal is open, and return the exit status. Nothing that was started is left running.

    What cannot be done is told in a sentence. Cancelling ends it cleanly. `process` is what others call this process
    when the journal is shared; empty for the usual name.
    """
    progress = Progress(scrub=options.secrets.scrub)
    try:
        async with AsyncExitStack() as closing:
            service = service_of(reactor, options, environment, progress, process=process)
            closing.push_async_callback(service.finish)
            if (refused := await _refused_journal(service, progress)) is not None:
                return refused if options.is_supervised else CANNOT_START
            return await work(Standalone(reactor, options, service, progress, closing))
    except AssistantError as error:
        progress.note(complaint(error))
        return exit_status(error) if options.is_supervised else CANNOT_START


# Any: as above.
def service_of(
    reactor: Any,
    options: StandaloneOptions,
    environment: Mapping[str, str],
    progress: Progress,
    *,
    process: str = "",
) -> AssistantService:
    """Return the service of a program, opening. It shows what its embedded model does, and what is left out."""
    config, folder = options.config, options.file.folder
    inputs = ServiceConfig(
        config,
        folder,
        environment,
        options.wall,
        options.secrets,
        folder / config.journal.file if config.journal.file else None,
        characters=character_folder(folder),
        process=process,
        own_tools=options.own_tools,
    )
    for problem in options.own_tools.problems:
        progress.note(complaint(f"{problem}."))

    def embedded(path: Path | None, moved: Callable[[Endpoint], None]) -> EmbeddedModel:
        def lost(error: EmbeddedUnavailable) -> None:
            progress.note(complaint(str(error)))

        return embedded_model(reactor, environment, path, moved, show=progress.fetching, lost=lost)

    hooks = ServiceHooks(
        embedded,
        left_out=lambda why: progress.note(complaint(f"a model is left out: {why}")),
        key_again=AT_THE_COMMAND_LINE,
        better=progress.aside,
    )
    service = AssistantService(reactor, inputs, Random(), hooks)  # noqa: S311  (jitter)
    service.open()
    watch_service(service)
    return service


async def _refused_journal(service: AssistantService, progress: Progress) -> ExitStatus | None:
    """Wait until the journal is open, and say how it was found; return the status when it cannot be used.

    A database that is away is waited for, however long that takes; this is said once. Raises JournalError.
    """
    opened = await service.parts.opened(lambda why: progress.note(f"{why} {WAITS}"))
    if opened is not None and is_news(opened):
        progress.note(opened.sentence)
    if isinstance(opened, ReadOnly):
        may_pass = opened.passes or isinstance(opened.path, Path)  # a disk gets room; a database refuses until a change
        if opened.is_forbidden:
            return ExitStatus.FORBIDDEN
        return ExitStatus.TRY_AGAIN if may_pass else ExitStatus.SETTINGS
    return ExitStatus.SETTINGS if isinstance(opened, OpeningRefused) else None


def until_cancelled() -> Deferred[int]:
    """Return what fires only when it is cancelled, as Ctrl-C and SIGTERM do."""
    return Deferred()


def principal_of(settings: AssistantConfig) -> Principal:
    """Return the identity of an assistant outside games, whose name never changes."""
    return Principal(f"assistant:{settings.name.casefold()}", settings.name, Kind.ASSISTANT, settings.permission)
