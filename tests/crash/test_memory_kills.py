"""A memory that is killed at any moment: nothing is lost, nothing is there twice, and nothing forgotten comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
#: How often the process is killed; MUD_MEMORY_KILLS=300 is the proof of a release.
KILLS = int(os.environ.get("MUD_MEMORY_KILLS", "40"))
SEED = int(os.environ.get("MUD_KILL_SEED", "1"))


@pytest.mark.skipif(sys.platform != "linux", reason="the harness forks and kills")
@pytest.mark.slow  # 40 processes, each of which lives for half a second before it is killed
def test_no_kill_loses_a_memory_or_brings_one_back(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.crash.memory_killing", str(folder), str(KILLS), str(SEED)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120 + 5 * KILLS, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, Any] = json.loads(done.stdout)
    sys.stdout.write(done.stdout)
    counted = report["counted"]
    assert report["wrong"] == [], (report, done.stderr[-2000:])
    assert counted["checked"] >= KILLS / 2, "hardly any life came so far as to be checked"
    assert counted["over"] == 1
    for deed in ("keep", "supersede", "drop", "forget", "night"):
        assert counted[f"begin {deed}"] > KILLS / 4, "the kills met hardly any of it"
