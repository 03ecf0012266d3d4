"""A child process of ours, from both sides: it is heard, it is ended, and it never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

import mud_assistant
from mud_assistant.resilience.child import TAIL_BYTES, ChildProcess, module_command, with_our_packages
from tests.llm.embedded.processes import FakeProcess, FakeProcesses


def spawned() -> tuple[ChildProcess, FakeProcess]:
    child, processes = ChildProcess(), FakeProcesses()
    child.spawn(processes, ("python", "-m", "thing"), {"A": "b"})
    return child, processes.latest


def test_a_child_is_started_with_the_command_and_the_environment_alone() -> None:
    _, process = spawned()
    assert (process.command, process.environment) == (("python", "-m", "thing"), {"A": "b"})


def test_only_the_end_of_stderr_is_kept_and_its_blank_lines_are_left_out() -> None:
    child, process = spawned()
    process.grumbles("x" * 10_000 + "\n\n  the end \n")
    assert len(child.tail) == TAIL_BYTES
    assert child.last_lines()[1:] == ["the end"]


def test_a_child_that_has_ended_is_signalled_in_vain() -> None:
    child, process = spawned()
    child.signal("KILL")
    child.signal("KILL")
    assert process.signals == ["KILL"]


def test_what_was_not_started_has_nothing_to_end() -> None:
    child = ChildProcess()
    child.close_stdin()
    child.signal("KILL")


def test_our_packages_come_first_on_the_path() -> None:
    assert with_our_packages({"A": "b"}).keys() == {"A", "PYTHONPATH"}
    first, rest = with_our_packages({"PYTHONPATH": "/game"})["PYTHONPATH"].split(os.pathsep)
    assert (Path(first) / "mud_assistant" / "__init__.py").samefile(mud_assistant.__file__)
    assert rest == "/game"
    assert module_command("python3", "llm.x") == ("python3", "-P", "-m", "llm.x")


#: Says its process id, then waits for its end as the code that is put in says.
CHILD = """if True:
    import os, signal, sys, time
    from mud_assistant.resilience.child import die_with_parent, wait_for_parent_to_go, when_parent_goes
    {watch}
    sys.stdout.write(f"{{os.getpid()}}\\n")
    sys.stdout.flush()
    {wait}
    """
#: Starts the child with its own stdout, and holds the child's stdin, or lets the child have one that never ends.
PARENT = """if True:
    import os, subprocess, sys, time
    stdin = subprocess.PIPE if sys.argv[2] == "pipe" else os.pipe()[0]
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=stdin)
    time.sleep(600)
    """


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
@pytest.mark.parametrize(
    ("watch", "wait", "stdin"),
    [
        pytest.param(
            "die_with_parent(signal.SIGTERM)",
            "time.sleep(600)",
            "deaf",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux only"),
        ),
        ("pass", "wait_for_parent_to_go()", "pipe"),
        ("when_parent_goes(lambda: os._exit(0))", "time.sleep(600)", "pipe"),
    ],
)
def test_a_child_ends_when_its_parent_is_killed(watch: str, wait: str, stdin: str) -> None:
    code = CHILD.format(watch=watch, wait=wait)
    command = (sys.executable, "-c", PARENT, code, stdin)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=with_our_packages(os.environ)) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        try:
            assert parent.stdout.read() == b""  # comes when the child, which has the other end too, is gone
        finally:
            _kill(child)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


async def test_a_real_child_is_heard_and_killed(reactor: Any) -> None:
    class Heard(ChildProcess):
        def __init__(self) -> None:
            super().__init__()
            self.out = b""
            self.gone: Deferred[None] = Deferred()

        def outReceived(self, data: bytes) -> None:
            self.out += data

        def processEnded(self, reason: object) -> None:
            self.gone.callback(None)

    child = Heard()
    code = "import sys, time; sys.stderr.write('oh\\n'); print('hello', flush=True); time.sleep(600)"
    child.spawn(reactor, (sys.executable, "-c", code), os.environ)
    while not child.out or not child.tail:
        await deferLater(reactor, 0.01)
    child.signal("KILL")
    await child.gone
    child.signal("KILL")
    assert (child.out.split(), child.last_lines()) == ([b"hello"], ["oh"])
