"""Shows the progress of a start on standard error: one changing line at a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from shutil import get_terminal_size

from mud_assistant.assistant.surfaces.trial.wrapping import wrapped
from mud_assistant.llm.embedded.progress import FetchProgress, Phase

_PHASES = {Phase.DOWNLOAD: "fetching", Phase.VERIFY: "checking", Phase.JOIN: "putting together"}
_MIB = 1024 * 1024
#: How many percent lie between two lines where there is no terminal.
_STEP = 25


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

    def fetching(self, step: FetchProgress) -> None:
        """Show what the embedded model does until it can be asked."""
        if step.phase is Phase.NOTE:
            self.note(step.note)
        elif step.phase is Phase.START:
            self.aside("loading the embedded model ...")
        else:
            what = f"{_PHASES[step.phase]} the embedded model" + (f" from {step.source}" if step.source else "")
            self.amount(what, step.done_bytes, step.total_bytes)

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
