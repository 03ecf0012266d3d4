"""Limits what the worker may do, set before the first page comes.

    everywhere         it ends by itself soon after the time for a page is over, whatever the parser does
    where `resource`   limits on processor time, no files written, no core dump; a limit on memory where the system
                       enforces it (Linux does)
    Linux              it ends with its parent; it is killed first when memory is short; the kernel refuses it
                       sockets, other programs and other processes' memory (seccomp)
    elsewhere          Python's own sockets are taken away, which a fault in a parser's C code could get round

What is not confined: it may read the files that its user may read.
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import os
import platform
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

from mud_assistant.resilience.child import die_with_parent

#: Niceness added to the worker: the game goes first.
_NICENESS = 5
#: Seconds the watchdog waits longer than the reactor's timer, whose error sentence is better.
_WATCHDOG_GRACE = 1.0
_MAX_FILES = 64

# The filter in the Linux kernel that refuses this process, for good, the calls that a page reader has no use for.
# Numbers: linux/seccomp.h, linux/filter.h, linux/audit.h, and the tables of system calls of the two machines.
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _MACHINE_AT = 0, 4
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
#: From this number on, x86-64 takes the calls of its x32 form.
_X32 = 0x40000000
#: socket, connect, bind, sendto, sendmsg, socketpair; execve, execveat; ptrace, process_vm_readv, process_vm_writev;
#: io_uring_setup (another way to all of them); fork and vfork on machines that have them.
_CALLS = {
    "x86_64": (0xC000003E, (41, 42, 49, 44, 46, 53, 59, 322, 101, 310, 311, 425, 57, 58)),
    "aarch64": (0xC00000B7, (198, 203, 200, 206, 211, 199, 221, 281, 117, 270, 271, 425)),
}
_INSTRUCTION = struct.Struct("HBBI")


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


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_network() -> bool:
    """Install the filter; return whether the kernel now refuses these calls, with EPERM.

    False where there is no such kernel or machine.
    """
    table = _CALLS.get(platform.machine()) if sys.platform == "linux" and sys.maxsize > 2**32 else None
    if table is None:
        return False
    code = _filter(*table)
    program = _Program(len(code) // _INSTRUCTION.size, code)
    try:
        control = ctypes.CDLL(None).prctl
        control.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
        if control(_SET_NO_NEW_PRIVS, 1, None, 0, 0) != 0:
            return False
        return bool(control(_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(program), 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _filter(machine: int, calls: tuple[int, ...]) -> bytes:
    """Return the program: calls of another machine end the process, the listed ones fail, all others pass."""
    steps: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_JUMP_EQUAL, 1, 0, machine),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_AT_LEAST, len(calls) + 1, 0, _X32),
    ]
    # Each jump skips the rest of the list and "allow", and lands on "refuse".
    steps += [(_JUMP_EQUAL, len(calls) - place, 0, call) for place, call in enumerate(calls)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE | errno.EPERM)]
    return b"".join(_INSTRUCTION.pack(*step) for step in steps)
