"""A filter in the Linux kernel that refuses this process, for good, the calls that a page reader has no use for.

Numbers: linux/seccomp.h, linux/filter.h, linux/audit.h, and the tables of system calls of the two machines.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

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
