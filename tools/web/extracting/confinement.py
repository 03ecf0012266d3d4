"""Limits what the worker may do, set before the first page comes.

    everywhere         it ends by itself soon after the time for a page is over, whatever the parser does
    where `resource`   limits on processor time, no files written, no core dump; a limit on memory where the system
                       enforces it (Linux does)
    Linux              it ends with its parent; it is killed first when memory is short; the kernel refuses it
                       sockets, other programs and other processes' memory (`seccomp`)
    elsewhere          Python's own sockets are taken away, which a fault in a parser's C code could get round

What is not confined: it may read the files that its user may read.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from resilience.child import die_with_parent
from tools.web.extracting.seccomp import refuse_network

#: Niceness added to the worker: the game goes first.
_NICENESS = 5
#: Seconds the watchdog waits longer than the reactor's timer, whose error sentence is better.
_WATCHDOG_GRACE = 1.0
_MAX_FILES = 64


def confine(memory_bytes: int) -> str:
    """Confine this process and return what refuses the network: "kernel" or "python".

    Call it once, after the imports.
    """
    if sys.platform != "win32":
        die_with_parent(signal.SIGKILL)
        os.nice(_NICENESS)
    with suppress(OSError):  # Linux only
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    _limit(memory_bytes)
    socket.socket = _NoSocket  # type: ignore[assignment,misc]  # that is the point
    return "kernel" if refuse_network() else "python"


class Watchdog:
    """Ends this process when a page takes too long. It does not need the interpreter, which may be stuck in C."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._nowhere = Path(os.devnull).open("wb")  # noqa: SIM115  (for as long as the process)

    def __enter__(self) -> None:
        """Start counting, for this page only."""
        faulthandler.dump_traceback_later(self._seconds + _WATCHDOG_GRACE, exit=True, file=self._nowhere)
        _limit_processor(self._seconds)

    def __exit__(self, *_: object) -> None:
        """Stop counting."""
        faulthandler.cancel_dump_traceback_later()


class _NoSocket:
    """The stand-in for `socket.socket`, which always refuses."""

    def __init__(self, *_: object, **__: object) -> None:
        raise PermissionError("the page reader has no network")


def _limit(memory_bytes: int) -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415  (not on Windows)

    memory = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    for limit, most in (
        (memory, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _MAX_FILES),
    ):
        with suppress(OSError, ValueError):  # a lower limit is set already, or the system does not know this one
            resource.setrlimit(limit, (most, most))


def _limit_processor(seconds: float) -> None:
    """Let this process use `seconds` more of processor time."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415  (not on Windows)

    usage = resource.getrusage(resource.RUSAGE_SELF)
    most = int(usage.ru_utime + usage.ru_stime + seconds) + 2
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
