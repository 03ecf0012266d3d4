"""The exit statuses of programs that a supervisor begins again: which of them say that trying again can help.

    0   stopped on purpose: Ctrl-C, SIGTERM
    1   a fault in this program; `doctor`: something is wrong
    64  EX_USAGE: the command line is wrong
    75  EX_TEMPFAIL: try again: a port in use, a full disk, a database that went away
    77  EX_NOPERM: a file, a folder or a port that this user may not use
    78  EX_CONFIG: the settings are wrong, or what they name refuses: until somebody changes something

`serve`, `worker`, `gateway` and `doctor` leave with them. With systemd that is `RestartPreventExitStatus=64 77 78`. The
numbers are those of sysexits.h, https://man.openbsd.org/sysexits.3.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from enum import IntEnum

from mud_assistant.assistant.errors import AssistantError

#: Errors of the system that can be over later without anybody changing the settings.
_PASSING = frozenset(
    {
        errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EAGAIN, errno.ECONNREFUSED, errno.ECONNRESET, errno.EDQUOT,
        errno.EHOSTUNREACH, errno.EIO, errno.EMFILE, errno.ENETUNREACH, errno.ENFILE, errno.ENOMEM, errno.ENOSPC,
        errno.ETIMEDOUT,
    }
)  # fmt: skip
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class ExitStatus(IntEnum):
    """How a program left."""

    STOPPED = 0
    FAULT = 1
    USAGE = 64
    TRY_AGAIN = 75
    FORBIDDEN = 77
    SETTINGS = 78


def exit_status(error: BaseException) -> ExitStatus:
    """Return the status for an error that keeps a program from starting.

    What the system said decides, wherever it stands in the chain of causes; else whether the error `passes`.
    """
    for number in _numbers(error):
        if number in _FORBIDDEN:
            return ExitStatus.FORBIDDEN
        if number in _PASSING:
            return ExitStatus.TRY_AGAIN
    if isinstance(error, AssistantError):
        return ExitStatus.TRY_AGAIN if error.passes else ExitStatus.SETTINGS
    return ExitStatus.FAULT


def _numbers(error: BaseException) -> Iterator[int]:
    """Yield the numbers that the system gave, from the error to its first cause."""
    cause: BaseException | None = error
    while cause is not None:
        told = getattr(cause, "socketError", cause)  # of Twisted's CannotListenError
        if isinstance(told, OSError) and told.errno is not None:
            yield told.errno
        cause = cause.__cause__
