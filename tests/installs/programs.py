"""Programs of an environment, as their owner runs them: with a home of their own, and nothing of this checkout."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from urllib.request import ProxyHandler, build_opener

#: How long a program may take on a busy machine, in seconds.
PATIENCE = 900.0
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the product in it, and a folder to work in."""

    extras: tuple[str, ...]
    folder: Path

    @property
    def name(self) -> str:
        """What was installed, as pip is told."""
        return f"mud-assistant[{','.join(self.extras)}]" if self.extras else "mud-assistant"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "venv/bin/python"

    @property
    def home(self) -> Path:
        """The home of whoever runs its programs; they are run there."""
        return self.folder / "home"

    def _variables(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.python.parent), "/usr/bin", "/bin"])
        return {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}

    def run(self, *arguments: str, given: str = "") -> tuple[str, int]:
        """Return what the command `mud-assistant` printed, and its exit status."""
        done = subprocess.run(
            [str(self.python.parent / "mud-assistant"), *arguments], cwd=self.home, env=self._variables(), text=True,
            input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=PATIENCE,
        )  # fmt: skip
        return done.stdout, done.returncode

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """The interpreter with these arguments, killed at the end if it still runs; its output is one pipe."""
        program = subprocess.Popen(
            [str(self.python), *arguments], cwd=self.home, env=self._variables(), text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            yield program
        finally:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.communicate()


def seen(program: subprocess.Popen[str], wanted: re.Pattern[str] = _ADDRESS) -> str:
    """Return what a program printed that is wanted. Raises AssertionError when it ends or time runs out before."""
    assert program.stdout is not None
    watch = Timer(PATIENCE, os.killpg, (program.pid, signal.SIGKILL))
    watch.start()
    printed = []
    try:
        for line in program.stdout:
            printed.append(line)
            if found := wanted.search(line):
                return found[0]
    finally:
        watch.cancel()
    raise AssertionError(f"it ended: {''.join(printed[-5:])}")


def stopped(program: subprocess.Popen[str]) -> int:
    """Return the exit status of a program after Ctrl-C. Raises TimeoutExpired."""
    program.send_signal(signal.SIGINT)
    program.communicate(timeout=PATIENCE)
    return program.returncode


@contextmanager
def fake_model(environment: Environment) -> Iterator[str]:
    """The address of a scripted Ollama, one of those that the wheel brings for tests."""
    with environment.running("-m", "mud_assistant.llm.testing", "ollama", "--port", "0") as program:
        yield seen(program)


def asked(url: str, body: bytes | None = None) -> str:
    """Return what a server on this machine answers. Raises OSError."""
    opener = build_opener(ProxyHandler({}))
    opener.addheaders = [("Content-Type", "application/json")]
    with opener.open(url, body, timeout=PATIENCE) as response:
        text: str = response.read().decode()
    return text
