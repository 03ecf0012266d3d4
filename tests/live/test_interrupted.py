"""Ctrl-C while the command still loads its modules."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.live.command import start

#: Makes one module load for ever, and says when that begins.
_SLOW = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            print("loading", flush=True)
            while True:
                try:
                    time.sleep(60)
                except {swallowed}:
                    pass
sys.meta_path.insert(0, Slow())
"""
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("module", "swallowed"),
    [
        ("mud_assistant.assistant.checks.finding", "()"),  # loaded by the command itself
        ("mud_assistant.assistant.surfaces.standalone", "()"),
        ("mud_assistant.assistant.surfaces.worker.run", "BaseException"),  # a module that takes it for another error
    ],
)
async def test_ctrl_c_ends_it_without_a_traceback(tmp_path: Path, module: str, swallowed: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(_SLOW.format(name=module, swallowed=swallowed))
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = start("worker", environment=environment, folder=str(tmp_path))
    await command.saw("loading")
    transport: Any = command.transport
    transport.signalProcess(signal.SIGINT.name.removeprefix("SIG"))
    ended = await command.ended
    assert (ended.status, ended.err) == (130, "")
