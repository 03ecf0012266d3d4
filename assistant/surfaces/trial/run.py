"""Runs one whole trial: a service of one assistant in the embedded world, with a visitor beside it.

The progress of start-up is shown on standard error: one changing line at a terminal, a line now and then elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from shutil import get_terminal_size
from typing import Any, Protocol

from assistant.characters import character_folder
from assistant.errors import AssistantError, complaint
from assistant.journal import OpeningRefused, ReadOnly, Sound
from assistant.models import offer
from assistant.models.bound_keys import AT_THE_COMMAND_LINE
from assistant.service.embedded import embedded_model
from assistant.service.host import ServiceConfig, ServiceHooks
from assistant.service.service import AssistantService
from assistant.surfaces.trial.converse import Trial, TrialOptions
from assistant.surfaces.trial.wrapping import wrapped
from assistant.telemetry import watch_service
from llm.embedded.errors import EmbeddedUnavailable
from llm.embedded.progress import Endpoint, FetchProgress, Phase
from llm.embedded.supervisor import EmbeddedModel

#: The exit status when there is no model, or the settings or the journal cannot be used.
CANNOT_START = 2
#: Said behind why a database is away.
WAITS = "It is tried again until it is back; Ctrl-C ends this."
_PHASES = {Phase.DOWNLOAD: "fetching", Phase.VERIFY: "checking", Phase.JOIN: "putting together"}
_MIB = 1024 * 1024
#: How many percent lie between two lines where there is no terminal.
_STEP = 25


class Beside(Protocol):
    """Something that runs beside a trial."""

    def open(self, service: AssistantService, trial: Trial, progress: Progress) -> None:
        """Begin. Raises AssistantError."""
        ...

    async def close(self) -> None:
        """End, also when it never began."""
        ...


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_trial(
    reactor: Any, options: TrialOptions, environment: Mapping[str, str], beside: Beside | None = None
) -> int:
    """Run a trial and return its exit status. Cancelling ends it cleanly: nothing it started is left running.

    `beside` runs as long as the trial does; it is given the service, the trial, and the progress to tell of it.
    """
    progress = Progress(scrub=options.secrets.scrub)
    environment = offer.deciding(environment, is_watched=sys.stdin.isatty())
    service = service_of(reactor, options, environment, progress)
    trial = Trial(reactor, options, service)
    try:
        return await _run(service, trial, progress, beside)
    finally:
        trial.close()
        if beside is not None:
            await beside.close()
        await service.finish()


# Any: as above.
def service_of(
    reactor: Any, options: TrialOptions, environment: Mapping[str, str], progress: Progress, *, process: str = ""
) -> AssistantService:
    """Return the service of a trial, opening. It shows what its embedded model does, and which models are left out.

    `process` is what others call this process when the journal is shared; empty for the usual name.
    """
    config, file = options.config, options.config.journal.file
    inputs = ServiceConfig(
        config,
        options.folder,
        environment,
        options.wall,
        options.secrets,
        options.folder / file if file else None,
        characters=character_folder(options.folder),
        process=process,
        own_tools=options.own_tools,
    )
    for problem in options.own_tools.problems:
        progress.note(complaint(f"{problem}."))
    hooks = ServiceHooks(
        partial(_embedded, reactor, environment, progress),
        left_out=lambda why: progress.note(complaint(f"a model is left out: {why}")),
        key_again=AT_THE_COMMAND_LINE,
        better=progress.aside,
    )
    service = AssistantService(reactor, inputs, Random(), hooks)  # noqa: S311  (jitter)
    service.open()
    watch_service(service)
    return service


async def has_journal(service: AssistantService, progress: Progress) -> bool:
    """Wait until the journal is open, say how it was found, and return False when it cannot be used.

    A database that is away is waited for, however long that takes; this is said once. Raises JournalError.
    """
    opened = await service.parts.opened(lambda why: progress.note(f"{why} {WAITS}"))
    if opened is not None and (not isinstance(opened, Sound) or opened.new):
        progress.note(opened.sentence)
    return not isinstance(opened, OpeningRefused | ReadOnly)


async def _run(service: AssistantService, trial: Trial, progress: Progress, beside: Beside | None) -> int:
    """Start the assistant and converse; return the exit status."""
    progress.tell_aside = trial.tell
    try:
        if not await has_journal(service, progress):
            return CANNOT_START
        if beside is not None:
            beside.open(service, trial, progress)
        models = await trial.start()
    except AssistantError as error:
        progress.note(complaint(error))
        return CANNOT_START
    progress.note(f"{trial.assistant_name} thinks with {models[0].why}.")
    for model in models[1:]:
        progress.note(f"When that fails: {model.why}.")
    return await trial.converse()


def _embedded(
    reactor: Any,
    environment: Mapping[str, str],
    progress: Progress,
    path: Path | None,
    moved: Callable[[Endpoint], None],
) -> EmbeddedModel:
    """Return the embedded model, not started; its progress goes to standard error."""

    def show(step: FetchProgress) -> None:
        if step.phase is Phase.NOTE:
            progress.note(step.note)
        elif step.phase is Phase.START:
            progress.aside("loading the embedded model ...")
        else:
            what = f"{_PHASES[step.phase]} the embedded model" + (f" from {step.source}" if step.source else "")
            progress.amount(what, step.done_bytes, step.total_bytes)

    def lost(error: EmbeddedUnavailable) -> None:
        progress.note(complaint(str(error)))

    return embedded_model(reactor, environment, path, moved, show=show, lost=lost)


class Progress:
    """The progress shown for work that takes long."""

    def __init__(
        self,
        write: Callable[[str], None] | None = None,
        *,
        terminal: bool | None = None,
        scrub: Callable[[str], str] = str,
    ) -> None:
        self._write = write or _to_stderr
        self._scrub = scrub
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._what = ""
        self._last_step = -1
        self._open = False
        #: Shows a sentence beside the talk and returns True, or returns False while there is no talk.
        self.tell_aside: Callable[[str], bool] = lambda _: False

    def aside(self, text: str) -> None:
        """Write a line about something that goes on behind the talk, where it is not in the way of it."""
        if not self.tell_aside(self._scrub(text)):
            self.note(text)

    def note(self, text: str) -> None:
        """Write a line of its own, without keys."""
        self._close()
        told = self._scrub(text)
        self._write(f"{wrapped(told, get_terminal_size().columns) if self._terminal else told}\n")

    def amount(self, what: str, done_bytes: int, total_bytes: int) -> None:
        """Show how much of a number of bytes is done."""
        percent = 100 * done_bytes // total_bytes if total_bytes else 0
        step = percent // (1 if self._terminal else _STEP)
        if what == self._what and step == self._last_step:
            return
        if what != self._what:
            self._close()
        self._what, self._last_step = what, step
        text = f"{what}: {percent} % of {total_bytes // _MIB} MiB"
        if self._terminal:
            self._open = True
            self._write(f"\r\x1b[K{text}")
        else:
            self._write(f"{text}\n")

    def _close(self) -> None:
        if self._open:
            self._write("\n")
            self._open = False
        self._what = ""


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
