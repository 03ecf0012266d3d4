"""How a child process makes sure that it never outlives its parent."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_STDIN = 0


def die_with_parent(number: int) -> None:
    """Nothing; on Linux the system sends this process signal `number` when its parent dies, however it dies."""
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    except (OSError, AttributeError):
        return  # stdin still tells


def wait_for_parent_to_go() -> None:
    """Nothing, once stdin is closed: the parent holds its other end for as long as it lives."""
    while True:
        try:
            if not os.read(_STDIN, 4096):
                return
        except OSError:
            return


def when_parent_goes(act: Callable[[], None]) -> None:
    """Nothing; `act` is called in another thread when stdin is closed."""

    def watch() -> None:
        wait_for_parent_to_go()
        act()

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
