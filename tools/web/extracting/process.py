"""The worker process as the reactor sees it: it starts it with nothing of ours, exchanges messages, and can kill it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from twisted.python.failure import Failure

from mud_assistant.llm.messages import JSONObject
from mud_assistant.resilience.child import ChildProcess, module_command, with_our_packages
from mud_assistant.tools.web.extracting.extracted import ExtractLimits
from mud_assistant.tools.web.extracting.worker import ARGUMENTS, BadFrame, FrameBuffer, pack

_MODULE = "mud_assistant.tools.web.extracting.worker"
#: Variables passed on from the parent; without these, Python does not start or does not find its packages.
_PASSED_ON = frozenset(
    {"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV"}
)
#: A character of the text takes at most four bytes.
_BYTES_PER_CHAR = 4


def worker_command(limits: ExtractLimits, python: str = sys.executable) -> tuple[str, ...]:
    """Return the command that runs the worker."""
    return (*module_command(python, _MODULE), *(str(getattr(limits, name)) for name in ARGUMENTS))


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that the worker gets: where Python is, and nothing else; no key ever."""
    kept = {name: value for name, value in environment.items() if name.upper() in _PASSED_ON}
    return with_our_packages(kept) | {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class Worker(ChildProcess):
    """One worker process. `on_message` is called with each message; `on_end` once, when the process has ended."""

    def __init__(
        self, on_message: Callable[[JSONObject, bytes], None], on_end: Callable[[], None], limits: ExtractLimits
    ) -> None:
        super().__init__()
        self._on_message = on_message
        self._on_end = on_end
        self._buffer = FrameBuffer(_BYTES_PER_CHAR * limits.output_chars)

    def ask(self, head: JSONObject, body: bytes) -> None:
        """Send the worker a page."""
        if self.transport is not None:
            self.transport.write(pack(head, body))

    def last_words(self) -> str:
        """Return the last line the worker wrote to stderr; empty without one."""
        return (self.last_lines()[-1:] or [""])[0]

    def outReceived(self, data: bytes) -> None:
        """Pass on whole messages. Kill a worker that sends anything else: a page has taken it over."""
        try:
            for head, body in self._buffer.feed(data):
                self._on_message(head, body)
        except BadFrame:
            self.signal("KILL")

    def processExited(self, reason: Failure) -> None:
        """Close stdin with the process. The worker has no children that could hold it; this is to be sure."""
        self.close_stdin()

    def processEnded(self, reason: Failure) -> None:
        """Report the end: the process is gone, and all its output was read."""
        self._on_end()
