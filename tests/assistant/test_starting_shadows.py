from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.starting import OURS, shadowed


def test_nothing_is_in_the_way_here() -> None:
    assert shadowed() == ""


@pytest.mark.parametrize("name", OURS)
def test_another_package_of_the_name_is_told_and_not_run(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('it was run')")
    here = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), here])}
    command = [sys.executable, "-P", "-m", "assistant", "trial"]
    result = subprocess.run(command, env=environment, input="", capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith(f"mud-assistant: the package '{name}' of mud-assistant is hidden")
    assert str(tmp_path) in result.stderr
    assert result.stderr.count("\n") == 1
