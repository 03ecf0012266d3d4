"""Makes sure that a child process never outlives its parent."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_STDIN = 0


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
