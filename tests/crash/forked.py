"""Processes that are forked from one that has loaded everything and has no reactor: each makes a reactor of its own."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.crash import game, served

now = time.monotonic  # noqa: TID251  (a process of its own)
#: In the end a process that says nothing is a mistake.
MUTE_SECONDS = 20.0


class Process:
    """One life: a forked process and the two lines of talk, its own and the model's."""

    def __init__(self, life: game.Life, model: int) -> None:
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            ours.close()
            _never_return(lambda: game.live(life, theirs))
        theirs.close()
        self._control = ours
        self._model = model
        self._rest = {ours.fileno(): b"", model: b""}
        self.ended = False

    def send(self, command: dict[str, str]) -> None:
        """Tell the process; one that is gone does not hear it."""
        try:
            self._control.sendall(json.dumps(command).encode() + b"\n")
        except OSError:
            self.ended = True

    def words(self, seconds: float) -> list[list[str]]:
        """What was told by now, waiting for it some seconds at most; each line as words."""
        ready, _, _ = select.select(list(self._rest), [], [], max(0.0, seconds))
        lines: list[bytes] = []
        for number in ready:
            try:
                got = os.read(number, 65536)
            except ConnectionResetError:  # it died with something unheard; what it told is still to be read
                continue
            self.ended |= not got and number != self._model
            *whole, self._rest[number] = (self._rest[number] + got).split(b"\n")
            lines += whole
        return [line.decode().split(" ", 2) for line in lines]

    def kill(self) -> list[list[str]]:
        """Kill it; what it had told before."""
        os.kill(self.pid, signal.SIGKILL)
        return self.close()

    def close(self) -> list[list[str]]:
        """Wait for its end; what it had told before."""
        os.waitpid(self.pid, 0)
        told: list[list[str]] = []
        while not self.ended:
            told += self.words(MUTE_SECONDS)
        self._control.close()
        return told


def start_model(folder: Path, seed: int) -> tuple[str, int]:
    """The URL of a model server in a process of its own, and where it tells of each request."""
    telling, told = os.pipe()
    until, closes = os.pipe()
    if not os.fork():
        os.close(closes)
        _never_return(lambda: served.serving(folder / "model.log", told, until, seed))
    os.close(told)
    os.close(until)
    url = b""
    while not url.endswith(b"\n"):
        url += os.read(telling, 1)
    _HELD.append(closes)
    return url.decode().strip(), telling


#: Ends of pipes that are open as long as this process lives.
_HELD: list[int] = []


def _never_return(work: Callable[[], object]) -> None:
    """Do the work of a forked process, and end it."""
    try:
        work()
    except BaseException:  # noqa: BLE001  (a process of its own: all it can do is say so)
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(1)


def print_report(run: Callable[[], dict[str, Any]]) -> None:
    """Print what it came to, as JSON. Forked processes do without the garbage of this one, and without its reactor."""
    gc.collect()
    gc.freeze()
    assert "twisted.internet.reactor" not in sys.modules, "a reactor must not be shared"
    sys.stdout.write(json.dumps(run(), indent=1))
