"""A process that has loaded the product and has no reactor: it forks for each command, which need not load all again.

A command finds its modules loaded, and everything else as if it had been started: its arguments, its environment, its
folder, its streams. The process ends when the one that began it does.
"""

from __future__ import annotations

import gc
import io
import json
import os
import runpy
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet import epollreactor  # noqa: F401  (none of these takes a reactor)

import mud_assistant.assistant.__main__
import mud_assistant.assistant.checks.doctor
import mud_assistant.assistant.surfaces.replay.command
import mud_assistant.assistant.surfaces.setup.run
import mud_assistant.assistant.surfaces.trial.run
import mud_assistant.assistant.worlds.embedded.game  # noqa: F401

#: More than a request can have: arguments and an environment, as JSON.
MOST_BYTES = 1 << 20
REACTOR = "twisted.internet.reactor"


def main() -> None:
    """Fork for each request that comes: its streams and a pipe for its exit status come with it."""
    assert REACTOR not in sys.modules
    control = socket.socket(fileno=int(sys.argv[1]))
    del sys.modules["mud_assistant.assistant.__main__"]  # each command runs it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for a command
    gc.collect()
    gc.freeze()
    while True:
        request, files, *_ = socket.recv_fds(control, MOST_BYTES, 4)
        if not request:
            return
        if not os.fork():
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _run(json.loads(request), *files)
        for file in files:
            os.close(file)


def _run(request: dict[str, Any], stdin: int, stdout: int, stderr: int, told: int) -> None:
    """Be the command in a process of its own, and tell its exit status when it has ended."""
    if pid := os.fork():
        for file in (stdin, stdout, stderr):
            os.close(file)
        _, status = os.waitpid(pid, 0)
        os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    os.close(told)
    _take_streams((stdin, stdout, stderr))
    _be_started(**request)
    runpy.run_module("mud_assistant", run_name="__main__", alter_sys=True)
    sys.exit(0)


def _take_streams(files: Sequence[int]) -> None:
    """Read and write these, unbuffered, as Python does when PYTHONUNBUFFERED is set."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors)  # noqa: SIM115
    sys.stdout = _unbuffered(1, sys.stdout.encoding, sys.stdout.errors)
    sys.stderr = _unbuffered(2, sys.stderr.encoding, sys.stderr.errors)


def _unbuffered(number: int, encoding: str, errors: str | None) -> io.TextIOWrapper:
    raw = open(number, "wb", buffering=0)  # noqa: SIM115
    return io.TextIOWrapper(raw, encoding, errors, write_through=True)


def _be_started(arguments: Sequence[str], environment: Mapping[str, str], folder: str) -> None:
    """Have this command line, environment and folder."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = ["assistant", *arguments]
    sys.path[:1] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]


if __name__ == "__main__":
    main()
