"""Opens the operator's page beside a trial."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assistant.service.service import AssistantService
from assistant.surfaces.serve.file import SettingsFile
from assistant.surfaces.serve.run import open_page, with_journal, with_port
from assistant.surfaces.serve.standing import StandingPage
from assistant.surfaces.trial.converse import Trial, TrialOptions
from assistant.surfaces.trial.run import Progress, run_trial


class PageBeside:
    """The page beside a trial."""

    # Any: the reactor as clock and as maker of connections.
    def __init__(self, reactor: Any, file: SettingsFile) -> None:
        self._reactor = reactor
        self._file = file
        self._page: StandingPage | None = None

    def open(self, service: AssistantService, trial: Trial, progress: Progress) -> None:
        """Open the page and say where it is. Raises PageNotOpened."""
        self._page = open_page(self._reactor, service, trial, self._file, progress)

    async def close(self) -> None:
        """Close the page, if it was opened."""
        page, self._page = self._page, None
        if page is not None:
            await page.close()


# Any: as above.
async def run_trial_with_page(
    reactor: Any, options: TrialOptions, file: SettingsFile, environment: Mapping[str, str], port: int | None
) -> int:
    """Run a trial with the page beside it; without a journal a temporary one, so that runs can be shown."""
    options = with_port(options, port)
    with ExitStack() as stack:
        if not (options.config.journal.file or options.config.journal.url):
            folder = stack.enter_context(TemporaryDirectory(prefix="mud-assistant-", ignore_cleanup_errors=True))
            options = with_journal(options, Path(folder) / "trial.journal", is_temporary=True)
        return await run_trial(reactor, options, environment, PageBeside(reactor, file))
