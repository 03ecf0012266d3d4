"""Four processes with forty assistants on one PostgreSQL, and everything that can happen to them, again and again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crash.shared.findings import two_holders
from tests.postgres import MISSING, find_programs

ROOT = Path(__file__).parents[3]
#: How many workers are killed, how often the server is, and how many workers hang; more by hand: 300,50,10.
SIZE = os.environ.get("MUD_SHARED_KILLS", "10,2,1")
#: How often characters with promises pass from a process that hangs to another, and how many; more by hand: 13,12.
TAKEOVERS = os.environ.get("MUD_PROMISE_TAKEOVERS", "1,4")
#: The plan of what happens; what each of it hits is a matter of time as well.
SEED = os.environ.get("MUD_KILL_SEED", "1")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the harness forks, stops and kills"),
    pytest.mark.skipif(find_programs() is None, reason=MISSING),
]


def report_of(module: str, *arguments: str, seconds: int) -> dict[str, Any]:
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    command = [sys.executable, "-m", f"tests.crash.shared.{module}", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=seconds, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"seed {SEED}: {done.stderr}"
    report: dict[str, Any] = json.loads(done.stdout)
    sys.stdout.write(done.stdout)
    return report


@pytest.mark.slow  # a worker must hang for longer than a lease holds, which is 15 seconds
def test_nothing_is_lost_or_done_twice_and_nobody_has_two_holders(tmp_path: Path) -> None:
    kills, servers, hangs = SIZE.split(",")
    seconds = 300 + 3 * int(kills) + 10 * int(servers) + 30 * int(hangs)
    report = report_of("matrix", str(tmp_path), kills, servers, hangs, SEED, seconds=seconds)
    counted = report["counted"]
    assert report["wrong"] == {}, report
    assert counted["events"] >= counted["acknowledged"] > 100
    assert counted["acts"] > 100
    assert counted["killed"] >= int(kills)
    assert "hang" in report["until taken over"], report


def test_who_was_stopped_and_followed_does_not_act_when_it_goes_on(tmp_path: Path) -> None:
    """Its last renewal is young enough; but the server ended its session, and so another was let in."""
    report = report_of("stopped", str(tmp_path), seconds=120)
    assert report["out of turn"] == []
    assert min(report["acts"]["of 1"], report["acts"]["of 2"]) > 0


def test_an_act_of_one_who_was_followed_is_found() -> None:
    acts = [[1, 0.1, "a", 1, "run-1", ["e"]], [2, 0.2, "a", 2, "run-2", ["f"]], [1, 0.3, "a", 1, "run-1", ["g"]]]
    assert len(two_holders(acts)) == 1
    assert two_holders(acts[:2]) == []
    assert len(two_holders([acts[0], [2, 0.2, "a", 1, "run-1", []]])) == 1


@pytest.mark.slow  # each round waits until leases have run out, which is 15 seconds
def test_promises_pass_from_a_process_that_hangs_to_the_next_once_each(tmp_path: Path) -> None:
    """Every second one hangs inside a transaction; what it had locked keeps nobody out."""
    rounds, characters = TAKEOVERS.split(",")
    seconds = 120 + 90 * int(rounds)
    report = report_of("promised_takeovers", str(tmp_path), rounds, characters, SEED, seconds=seconds)
    counted = report["counted"]
    assert report["wrong"] == {}, report
    assert counted["taken_over"] == int(rounds) * int(characters)
    assert min(counted["heard"], counted["kept"]) > 0
