"""Runs one whole trial: opens the journal, chooses a model, puts the assistant into the place, and cleans up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from assistant.config.settings import SettingsError
from assistant.journal import JournalError, OpeningRefused, ReadOnly, Sound
from assistant.keys.reference import KeyReferenceError, KeySources, key_sources
from assistant.models import offer
from assistant.models.bound_keys import BoundKeys
from assistant.models.choose import Chooser, NoModelError
from assistant.models.chosen import ChosenModel
from assistant.runtime.build import granted_tools
from assistant.runtime.storage import JournalFile
from assistant.service.troubles import Troubles
from assistant.service.wiring import bindings_of, embedded_model, web_of
from assistant.surfaces.setup.dialogue import Dialogue, NotSetUp
from assistant.surfaces.setup.typed import StandardInput
from assistant.surfaces.trial.converse import Trial, TrialOptions
from assistant.surfaces.trial.progress import Progress
from llm.embedded.errors import EmbeddedUnavailable
from llm.embedded.progress import Endpoint, FetchProgress, Phase
from llm.embedded.supervisor import EmbeddedModel
from resilience import HttpExchange
from resilience.background import in_daemon_thread
from tools import Registry
from tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS

if TYPE_CHECKING:
    from assistant.web.web import Web

_PHASES = {Phase.DOWNLOAD: "fetching", Phase.VERIFY: "checking", Phase.JOIN: "putting together"}
#: The most seconds that measuring this machine may take.
MEASURE_SECONDS = 60.0
#: The exit status when there is no model, or the settings or the journal cannot be used.
CANNOT_START = 2


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_trial(reactor: Any, options: TrialOptions, environment: Mapping[str, str]) -> int:
    """Run a trial and return its exit status. Cancelling ends it cleanly: nothing it started is left running."""
    exchange = HttpExchange(reactor)
    try:
        return await _Start(reactor, options, environment, exchange, Progress(scrub=options.secrets.scrub)).run()
    finally:
        await exchange.close()


# Any: as above.
async def models_of(
    reactor: Any, options: TrialOptions, environment: Mapping[str, str], exchange: HttpExchange
) -> list[ChosenModel]:
    """Choose the models as a trial of these options does, the preferred one first. The caller stops embedded ones.

    Progress goes to standard error. Raises NoModelError and KeyReferenceError.
    """
    start = _Start(reactor, options, environment, exchange, Progress(scrub=options.secrets.scrub))
    return await start.models(await start.bound(None))


@dataclass(frozen=True, slots=True)
class _Start:
    """The start of a trial, with all that it needs."""

    reactor: Any
    options: TrialOptions
    environment: Mapping[str, str]
    exchange: HttpExchange
    progress: Progress
    troubles: Troubles = field(default_factory=Troubles)

    async def run(self) -> int:
        """Open the journal, if the settings name one, and converse; return the exit status."""
        config = self.options.config.journal
        if not config.file:
            return await self._converse(None)
        path = self.options.folder / config.file
        journal = JournalFile(path, self.reactor, self.options.wall, config, self.troubles.of_journal)
        opened = await journal.open()
        try:
            if not isinstance(opened, Sound) or opened.new:
                self.progress.note(opened.sentence)
            if isinstance(opened, OpeningRefused | ReadOnly):
                return CANNOT_START
            return await self._converse(journal)
        except JournalError as error:
            self.progress.note(f"mud-assistant: the journal cannot be used: {error}")
            return CANNOT_START
        finally:
            await journal.close()

    async def _converse(self, journal: JournalFile | None) -> int:
        """Choose the models and let the visitor in; return the exit status."""
        config = self.options.config
        models: list[ChosenModel] = []
        try:
            bound = await self.bound(journal)
            web = await self._web(bound)
            granted_tools(
                config.assistant, Registry([*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS, *(web.tools("") if web else ())])
            )
            models = await self.models(bound)
        except (SettingsError, NoModelError, KeyReferenceError) as error:
            self.progress.note(f"mud-assistant: {error}")
            return CANNOT_START
        self.progress.note(f"{config.assistant.name} thinks with {models[0].why}.")
        for model in models[1:]:
            self.progress.note(f"When that fails: {model.why}.")
        trial = Trial(
            self.reactor, self.options, models, self.exchange, journal=journal, web=web, troubles=self.troubles
        )
        try:
            return await trial.converse()
        finally:
            await trial.close()

    async def models(self, bound: BoundKeys) -> list[ChosenModel]:
        """Choose the models of the settings. Raises NoModelError."""
        config = self.options.config
        return await self._chooser(bound).choose_all(
            config.model,
            config.fallback,
            lambda why: self.progress.note(f"mud-assistant: a model is left out: {why}"),
        )

    @property
    def _keys(self) -> KeySources:
        options = self.options
        return key_sources(self.reactor, self.environment, options.folder, options.secrets)

    async def bound(self, journal: JournalFile | None) -> BoundKeys:
        """Return which key may go to which server, from the remembered bindings and the new ones in the settings.

        With a journal, the result is remembered there.
        """
        folder = self.options.folder
        bound = BoundKeys(await journal.bindings.load() if journal else (), folder)
        bound.admit(bindings_of(self.options.config, folder), {self.options.entered_key} - {""})
        if journal:
            await journal.bindings.remember(bound.remembered)
        return bound

    async def _web(self, bound: BoundKeys) -> Web | None:
        """Return the web of the settings, None when it is off. Raises SettingsError and KeyReferenceError."""
        config = self.options.config.web
        return await web_of(
            config,
            bound,
            self._keys,
            self.exchange,
            reactor=self.reactor,
            random=Random(),  # noqa: S311  (jitter)
            wall=self.options.wall,
        )

    def _chooser(self, bound: BoundKeys) -> Chooser:
        """Return the chooser of models, which sends each key only to the servers it was given for."""
        embedded = partial(_embedded, self.reactor, self.environment, self.progress)
        return Chooser(self.exchange, self.reactor, self._keys, embedded, bound, offer=self._offered)

    async def _offered(self) -> Path | None:
        """Return the embedded model for settings that name none: one that is there, else one chosen at the terminal.

        None when there is neither. Raises NoModelError when the question at the terminal gets no answer.
        """
        found = in_daemon_thread(self.reactor, MEASURE_SECONDS, partial(offer.needed, self.reactor.seconds))
        names, machine = await found
        if machine is None:
            return offer.kept(names)
        if not (machine.is_for_better and sys.stdin.isatty() and sys.stderr.isatty()):
            self.progress.note(offer.hint())
            return None
        dialogue = Dialogue(StandardInput(self.reactor), _to_stderr)
        dialogue.tell(offer.question(machine))
        try:
            chosen = await dialogue.choice("Which one?", (offer.SMALL, offer.BETTER), offer.BETTER)
        except NotSetUp as error:
            raise NoModelError(f"no model was chosen: {error}") from error
        return offer.kept([chosen])


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


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
            progress.note("loading the embedded model ...")
        else:
            what = f"{_PHASES[step.phase]} the embedded model" + (f" from {step.source}" if step.source else "")
            progress.amount(what, step.done_bytes, step.total_bytes)

    def lost(error: EmbeddedUnavailable) -> None:
        progress.note(f"mud-assistant: {error}")

    return embedded_model(reactor, environment, path, moved, show=show, lost=lost)
