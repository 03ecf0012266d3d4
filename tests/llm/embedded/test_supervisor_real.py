"""The supervisor with real processes, which are small scripts and load no model."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.embedded.supervisor import Commands, EmbeddedModel

READY = 'import os, sys; print(\'{"url": "http://127.0.0.1:4711", "model": "%d"}\' % os.getpid(), flush=True)\n'
UNTIL_STDIN_CLOSES = READY + "sys.stdin.read()"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + "while True: signal.pause()"
ABORTING = "import os; os.write(2, b'0.1 E out of luck\\n'); os.abort()"


@dataclass
class Rig:
    """An embedded model that runs a script as its server; time is the test's."""

    script: str
    reactor: Any
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        script = (sys.executable, "-c", self.script)
        self.model = EmbeddedModel(
            self.reactor,
            self.clock,
            environment=os.environ,
            data_dir=Path("unused"),
            model_file=Path("own.gguf"),
            commands=Commands(("unused",), script),
        )


def is_alive(endpoint: Endpoint) -> bool:
    """Whether the process lives, which wrote its number as the model's name."""
    try:
        os.kill(int(endpoint.model), 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_server_is_started_and_stopped(reactor: Any) -> None:
    rig = Rig(UNTIL_STDIN_CLOSES, reactor)

    endpoint = await rig.model.start()
    assert is_alive(endpoint)
    await rig.model.stop()

    assert not is_alive(endpoint)


async def test_a_server_that_ignores_sigterm_is_killed(reactor: Any) -> None:
    rig = Rig(DEAF, reactor)
    endpoint = await rig.model.start()

    stopped = rig.model.stop()
    rig.clock.advance(3)
    await stopped

    assert not is_alive(endpoint)


async def test_an_abort_in_the_library_is_told_and_not_shared(reactor: Any) -> None:
    rig = Rig(ABORTING, reactor)

    with pytest.raises(EmbeddedUnavailable, match="signal 6: out of luck"):
        await rig.model.start()


async def test_a_python_that_is_not_there_is_told(reactor: Any) -> None:
    rig = Rig("", reactor)
    rig.model._commands = Commands(("unused",), ("/nowhere/python",))

    with pytest.raises(EmbeddedUnavailable):
        await rig.model.start()
