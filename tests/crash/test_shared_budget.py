"""One budget, four processes that spend it at the same time: never more than is allowed, and nearly all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).parents[2]
CHILD = Path(__file__).with_name("sharing_child.py")
PROCESSES = 4
#: Seconds that the processes may take on a busy machine.
PATIENCE = 90


class Spenders:
    """The processes, and the file in which each call that was made is a byte."""

    def __init__(self, parent: subprocess.Popen[str], url: str, log: Path) -> None:
        self.parent, self.url, self.log = parent, url, log
        assert parent.stdout is not None
        self.ids = [int(told) for told in parent.stdout.readline().split()]
        assert len(self.ids) == PROCESSES, parent.communicate(timeout=PATIENCE)[1]

    def begin(self) -> None:
        """Let all begin at once."""
        assert self.parent.stdin is not None
        self.parent.stdin.write("go\n")
        self.parent.stdin.flush()

    def ends(self) -> list[tuple[int, int]]:
        """Wait for each to end; how many calls it made, and how many were refused. A killed one said nothing."""
        told, errors = self.parent.communicate(timeout=PATIENCE)
        assert (self.parent.returncode, errors) == (0, "")
        ends = [line.split() for line in told.splitlines()]
        return [(int(made), int(refused)) for made, refused in ends]

    def made(self) -> int:
        """How many calls were made, also by those that were killed."""
        return self.log.stat().st_size

    def counted(self) -> tuple[int, int, float]:
        """The row in the table."""
        with psycopg.connect(self.url) as db:
            row = db.execute("SELECT calls, tokens, money FROM usage WHERE account = 'all'").fetchone()
        assert row is not None
        return row


@contextmanager
def spending(url: str, log: Path, wishes: int, again: int, *limit: object) -> Iterator[Spenders]:
    """Processes that are ready to spend."""
    log.touch()
    parent = subprocess.Popen(
        [sys.executable, CHILD, *map(str, (PROCESSES, url, log, wishes, again, *limit))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    try:
        yield Spenders(parent, url, log)
    finally:
        if parent.poll() is None:
            os.killpg(parent.pid, signal.SIGKILL)
        parent.communicate()


@pytest.mark.parametrize("limit", [(100, "calls"), (1000, "tokens"), (1.0, "money")], ids=str)
def test_a_thousand_wishes_at_once_are_granted_a_hundred_times(
    postgres_url: str, tmp_path: Path, limit: tuple[float, str]
) -> None:
    with spending(postgres_url, tmp_path / "log", 1000 // PROCESSES, 1, *limit) as spenders:
        spenders.begin()
        ends = spenders.ends()
        counted = spenders.counted()
    print(f"of 100 allowed {spenders.made()} were made, {counted} counted: {ends}")  # noqa: T201
    assert sum(made + refused for made, refused in ends) == 1000
    assert sum(made for made, _ in ends) == spenders.made()
    assert 95 <= spenders.made() <= 100
    assert counted == (spenders.made(), spenders.made() * 10, round(spenders.made() * 0.01, 12))


def test_a_process_that_is_killed_takes_no_more_than_its_calls_in_flight(postgres_url: str, tmp_path: Path) -> None:
    limit, wishes = 2000, 10
    with spending(postgres_url, tmp_path / "log", wishes, limit, limit, "calls") as spenders:
        spenders.begin()
        while spenders.made() < limit // 4:
            assert spenders.parent.poll() is None
        os.kill(spenders.ids[1], signal.SIGKILL)
        at_the_kill = spenders.made()
        ends = spenders.ends()
        counted = spenders.counted()
    print(f"{at_the_kill} of {limit} at the kill, then {spenders.made()} made, {counted} counted: {ends}")  # noqa: T201
    assert at_the_kill < limit / 2
    assert len(ends) == PROCESSES - 1
    assert limit - wishes <= spenders.made() <= counted[0] == limit
