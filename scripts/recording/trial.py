"""Plays a real `mud-assistant trial` at a terminal of its own, types lines, and records what it shows."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte

from scripts.recording.asciicast import Recording

WIDTH, HEIGHT = 80, 24
TITLE = "The first two minutes with Sage"
#: What stands in the last row while the trial waits for a line.
_READY = "/help for commands"
#: Seconds: between two keys, before typing, until it is sure that nothing follows, the most a line takes.
_KEY, _READING, _QUIET, _PATIENCE = 0.07, 1.5, 2.0, 300.0
#: Time to read the room, in which the model reads its prompt, in seconds.
_ARRIVING = 20.0


class Player:
    """A child process with a terminal. It keeps the screen as the terminal has it."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.output: list[tuple[float, str]] = []
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self.screen.write_process_input = self.write
        self._stream = pyte.Stream(self.screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._began = time.monotonic()  # noqa: TID251  (this is what records it: a root of its own)
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execve(command[0], list(command), {**os.environ, "TERM": "xterm-256color"})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))

    def write(self, keys: str) -> None:
        """Press keys, or answer what the program asks the terminal."""
        os.write(self._terminal, keys.encode())

    def type(self, line: str) -> None:
        """Type a line key by key, and the return key."""
        self.watch(_READING)
        for key in f"{line}\r":
            self.write(key)
            self.watch(_KEY)

    def until(self, is_there: Callable[[], bool]) -> None:
        """Watch until it holds for a while. Raises TimeoutError."""
        deadline = self._now() + _PATIENCE
        while self._now() < deadline:
            self.watch(0.2)
            if is_there() and self.watch(_QUIET) and is_there():
                return
        raise TimeoutError("\n".join(self.screen.display))

    def is_ready(self) -> bool:
        """Tell whether the trial waits for a line."""
        return any(_READY in row for row in self.screen.display)

    def watch(self, seconds: float) -> bool:
        """Take what is shown for so many seconds."""
        end = self._now() + seconds
        while (left := end - self._now()) > 0:
            if select.select([self._terminal], [], [], left)[0]:
                text = self._decoder.decode(os.read(self._terminal, 65536))
                self.output.append((self._now(), text))
                self._stream.feed(text)
        return True

    def end(self) -> None:
        """End the process and wait for it."""
        os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)

    def _now(self) -> float:
        return time.monotonic() - self._began  # noqa: TID251  (the same)


def record(command: Sequence[str], folder: Path, lines: Sequence[str]) -> Recording:
    """Play a trial in a folder. Raises TimeoutError, and ValueError when what it shows names a folder of ours."""
    player = Player(command, folder)
    try:
        player.until(player.is_ready)
        player.watch(_ARRIVING)
        for line in lines:
            player.type(line)
            player.until(player.is_ready)
    finally:
        player.end()
    whole = "".join(text for _, text in player.output)
    for place in {str(Path.home()), str(folder), str(Path.cwd())}:
        if place in whole:
            raise ValueError(f"the recording names {place}")
    typed = "$ make trial ARGS=--small\r\n"
    return Recording(WIDTH, HEIGHT, TITLE, [(0.0, typed), *((at + 1.0, text) for at, text in player.output)])
