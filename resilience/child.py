"""A child process of ours: how its parent starts, hears and ends it, and how it notices that its parent is gone.

A subclass of ChildProcess reads what the child writes to stdout and decides how it is ended: one is asked first and
killed later, another is killed at once. The child itself calls `die_with_parent`, and reads stdin to its end, which
comes when the parent is gone or closes it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IReactorProcess
from twisted.internet.protocol import ProcessProtocol

#: How many bytes of stderr are kept.
TAIL_BYTES = 4096
_PR_SET_PDEATHSIG = 1
_STDIN = 0


def module_command(python: str, module: str) -> tuple[str, ...]:
    """Return the command that runs one of our modules. -P keeps the folder it runs in off Python's path."""
    return (python, "-P", "-m", module)


def with_our_packages(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the folder of our packages first on Python's search path."""
    ours, rest = str(Path(__file__).parents[2]), environment.get("PYTHONPATH", "")
    return {**environment, "PYTHONPATH": os.pathsep.join(part for part in (ours, rest) if part)}


class ChildProcess(ProcessProtocol):
    """The parent's side of a child process. `tail` is the end of what the child has written to stderr."""

    def __init__(self) -> None:
        self.tail = b""

    def spawn(self, processes: IReactorProcess, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the child. Raises OSError when the system cannot start one."""
        processes.spawnProcess(self, command[0], tuple(command), dict(environment))

    def close_stdin(self) -> None:
        """Close the child's stdin, which asks it to end when it has done its work."""
        if self.transport is not None:
            self.transport.closeStdin()

    def signal(self, name: str) -> None:
        """Send the child a signal, such as "TERM" or "KILL". No effect when it has ended."""
        if self.transport is not None:
            with suppress(ProcessExitedAlready):
                self.transport.signalProcess(name)

    def errReceived(self, data: bytes) -> None:
        """Keep the end of what the child writes to stderr."""
        self.tail = (self.tail + data)[-TAIL_BYTES:]

    def last_lines(self) -> list[str]:
        """Return the lines of `tail` that are not blank, without the space around them."""
        return [line.strip() for line in self.tail.decode(errors="replace").splitlines() if line.strip()]


def die_with_parent(number: int) -> None:
    """Ask Linux to send this process signal `number` when its parent dies, however it dies. No effect elsewhere."""
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    except (OSError, AttributeError):
        return  # the end of stdin still shows that the parent is gone


def wait_for_parent_to_go() -> None:
    """Wait until stdin is closed. The parent holds its other end for as long as it lives."""
    while True:
        try:
            if not os.read(_STDIN, 4096):
                return
        except OSError:
            return


def when_parent_goes(act: Callable[[], None]) -> None:
    """Call `act` in another thread when stdin is closed."""

    def watch() -> None:
        wait_for_parent_to_go()
        act()

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
