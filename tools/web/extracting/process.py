"""The worker process as the reactor sees it: it starts it with nothing of ours, exchanges messages, and can kill it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IReactorProcess
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

import llm
from llm.embedded.child import module_command
from llm.messages import JSONObject
from tools.web.extracting.extracted import ExtractLimits
from tools.web.extracting.frames import BadFrame, FrameBuffer, pack
from tools.web.extracting.worker import ARGUMENTS

_MODULE = "tools.web.extracting.worker"
#: Variables passed on from the parent; without these, Python does not start or does not find its packages.
_PASSED_ON = frozenset(
    {"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV"}
)
#: A character of the text takes at most four bytes.
_BYTES_PER_CHAR = 4
_TAIL_BYTES = 2048
_STDOUT, _STDERR = 1, 2


def worker_command(limits: ExtractLimits, python: str = sys.executable) -> tuple[str, ...]:
    """Return the command that runs the worker."""
    return (*module_command(python, _MODULE), *(str(getattr(limits, name)) for name in ARGUMENTS))


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that the worker gets: where Python is, and nothing else; no key ever."""
    kept = {name: value for name, value in environment.items() if name.upper() in _PASSED_ON}
    ours = str(Path(llm.__file__).parents[1])
    kept["PYTHONPATH"] = os.pathsep.join(part for part in (ours, kept.get("PYTHONPATH", "")) if part)
    return kept | {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class Worker(ProcessProtocol):
    """One worker process. `on_message` is called with each message; `on_end` once, when the process has ended."""

    def __init__(
        self, on_message: Callable[[JSONObject, bytes], None], on_end: Callable[[], None], limits: ExtractLimits
    ) -> None:
        self.ended = False
        self.tail = b""
        self._on_message = on_message
        self._on_end = on_end
        self._buffer = FrameBuffer(_BYTES_PER_CHAR * limits.output_chars)

    def spawn(self, processes: IReactorProcess, command: tuple[str, ...], environment: Mapping[str, str]) -> None:
        """Start the worker. Raises OSError when the system cannot start it."""
        processes.spawnProcess(self, command[0], command, dict(environment))

    def ask(self, head: JSONObject, body: bytes) -> None:
        """Send the worker a page."""
        if self.transport is not None:
            self.transport.write(pack(head, body))

    def dismiss(self) -> None:
        """Close the worker's input: it ends when it has done what it was sent."""
        if self.transport is not None:
            self.transport.closeStdin()

    def kill(self) -> None:
        """Kill the worker. It ends a moment later; no effect when it has ended."""
        if self.transport is not None:
            with suppress(ProcessExitedAlready):
                self.transport.signalProcess("KILL")

    def last_words(self) -> str:
        """Return the last line the worker wrote to stderr; empty without one."""
        lines = self.tail.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def outReceived(self, data: bytes) -> None:
        """Pass on whole messages. Kill a worker that sends anything else: a page has taken it over."""
        try:
            for head, body in self._buffer.feed(data):
                self._on_message(head, body)
        except BadFrame:
            self.kill()

    def errReceived(self, data: bytes) -> None:
        """Keep the end of what the worker writes to stderr."""
        self.tail = (self.tail + data)[-_TAIL_BYTES:]

    def processExited(self, reason: Failure) -> None:
        """Close the pipes with the process. The worker has no children that could hold them; this is to be sure."""
        if self.transport is not None:
            self.transport.closeStdin()

    def processEnded(self, reason: Failure) -> None:
        """Report the end: the process is gone, and all its output was read."""
        self.ended = True
        self._on_end()
