"""A whole game that is killed at any moment, hundreds of times in one long life, and one that is taken over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.effort import times

ROOT = Path(__file__).parents[2]
#: How often the process is killed; fewer while working on it.
KILLS = int(os.environ.get("MUD_KILLS", str(times(120))))
#: The plan of the kills; what each of them hits is a matter of time as well.
SEED = int(os.environ.get("MUD_KILL_SEED", "1"))
TAKEOVERS = 8
#: With so many kills each kind of thing was met.
ENOUGH = 100

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the harness forks, stops and kills")


def harness(name: str, folder: Path, times: int) -> dict[str, Any]:
    command = [sys.executable, "-m", f"tests.crash.{name}", str(folder), str(times), str(SEED)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60 + 2 * times, check=False
    )
    assert done.returncode == 0, f"seed {SEED}: {done.stderr}"
    report: dict[str, Any] = json.loads(done.stdout)
    sys.stdout.write(done.stdout)
    return report


@pytest.mark.slow  # many processes, each of which lives for a quarter of a second before it is killed
def test_no_kill_loses_an_event_or_repeats_an_utterance_or_a_paid_call(tmp_path: Path) -> None:
    report = harness("killing", tmp_path, KILLS)
    counted = report["counted"]
    assert report["wrong"] == {}, report
    assert counted["kills"] == KILLS
    assert counted["events"] == counted["acknowledged"]
    assert counted["unknown"] <= 3 * KILLS
    if KILLS >= ENOUGH:  # the kills met what they are for, also on a busy machine, where each process does less
        assert counted["acts"] > KILLS
        assert min(counted["unknown"], counted["parked"], counted["requests made again"], counted["sent again"]) > 0


@pytest.mark.slow  # each process must be met in its work, and one of them with the file locked, for 5 seconds
def test_a_process_that_was_taken_over_is_shut_out_and_says_why(tmp_path: Path) -> None:
    report = harness("two_at_once", tmp_path, TAKEOVERS)
    counted = report["counted"]
    assert report["wrong"] == {}, report
    assert counted["taken over"] == TAKEOVERS
    assert counted["shut out: failed"] + counted["shut out: refused"] >= 3 * TAKEOVERS
    assert counted["why"] == [f"another process has taken over assistant:{number}" for number in (1, 2, 3)]
