"""What was acknowledged is on disk: seen by killing writers, and in the order of their system calls."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assistant.journal.keeping import rows

ROOT = Path(__file__).parents[4]
CHILD = Path(__file__).with_name("writing_child.py")
KILLS = 40
EVENTS = 200
_CALL = re.compile(r"(?P<name>\w+)\((?P<number>\d+)<(?P<file>[^>]*)>(?P<rest>.*)")


def child(*arguments: str, under: tuple[str, ...] = ()) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*under, sys.executable, str(CHILD), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    lost, told, whole = child("kill", str(tmp_path / "j"), str(KILLS), "1").split()
    assert (lost, whole) == ("0", "ok")
    assert int(told) > 10 * KILLS


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_every_acknowledgement_follows_the_sync_that_covers_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    strace = ("strace", "-f", "-y", "-s", "5000", "-e", "trace=fsync,fdatasync,write,pwrite64", "-o", str(trace))
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)  # noqa: S607
    if probe.returncode:
        pytest.skip("strace may not trace here")
    child("write", str(tmp_path / "j"), str(EVENTS), under=strace)
    assert rows(tmp_path / "j", "SELECT count(*) FROM events") == [(EVENTS,)]
    assert _acknowledged(trace.read_text(errors="replace")) == EVENTS


def _acknowledged(trace: str) -> int:
    """How many acknowledgements there are; fails at the first one that comes too early."""
    written: set[str] = set()  # in the log, not yet synced
    syncing: dict[str, set[str]] = {}  # what a sync under way covers, by thread
    synced: set[str] = set()
    acknowledged = 0
    for thread, line in _lines(trace):
        if "resumed>" in line:
            synced |= syncing.pop(thread, set())
            continue
        call = _CALL.match(line)
        if call is None:
            continue
        if call["name"] == "pwrite64" and call["file"].endswith("-wal"):
            written |= set(re.findall(r"event-\d+", call["rest"]))
        elif call["name"] in {"fsync", "fdatasync"} and call["file"].endswith("-wal"):
            syncing[thread] = set(written)
            if "unfinished" not in line:
                assert line.rstrip().endswith("= 0")
                synced |= syncing.pop(thread)
        elif call["name"] == "write" and call["number"] == "1":
            for name in re.findall(r"event-\d+", call["rest"]):
                assert name in synced, f"{name} was acknowledged before it was on disk"
                acknowledged += 1
    return acknowledged


def _lines(trace: str) -> Iterator[tuple[str, str]]:
    for line in trace.splitlines():
        thread, _, rest = line.partition(" ")
        yield thread, rest.strip()


def test_the_check_of_the_trace_notices_an_early_acknowledgement() -> None:
    early = '7 pwrite64(3</j-wal>, "event-1", 7, 0) = 7\n8 write(1<pipe>, "event event-1\\n", 8) = 8\n'
    with pytest.raises(AssertionError, match="before it was on disk"):
        _acknowledged(early)
    during = early.replace("8 write", "7 fdatasync(3</j-wal> <unfinished ...>\n8 write")
    with pytest.raises(AssertionError, match="before it was on disk"):
        _acknowledged(during)
    assert _acknowledged(during.replace("8 write", "7 <... fdatasync resumed>) = 0\n8 write")) == 1
