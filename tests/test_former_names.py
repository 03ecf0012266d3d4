"""What was imported as `tools` in the version before is one module with `mud_assistant.tools`; another's is theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def printed(code: str, folder: Path, *first: Path) -> str:
    """What a fresh process prints that finds `first` before our checkout, run in another folder."""
    places = os.pathsep.join(map(str, [*first, ROOT]))
    told = subprocess.run(
        [sys.executable, "-P", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": places},
    )
    return told.stdout.strip()


@pytest.mark.parametrize("name", ["assistant.loop.react", "llm.client", "resilience.pipeline", "tools.verbs"])
def test_a_former_name_is_the_same_module(name: str, tmp_path: Path) -> None:
    package = name.partition(".")[0]
    code = (
        f"import mud_assistant, {name}, mud_assistant.{name}\n"
        f"print({name} is mud_assistant.{name}, {package} is mud_assistant.{package}, {name}.__name__)"
    )
    assert printed(code, tmp_path) == f"True True mud_assistant.{name}"


@pytest.mark.parametrize("order", ["import llm, mud_assistant.llm", "import mud_assistant.llm, llm"])
def test_a_package_of_another_with_such_a_name_is_theirs(order: str, tmp_path: Path) -> None:
    (tmp_path / "llm").mkdir()
    (tmp_path / "llm/__init__.py").write_text("THEIRS = True\n")
    (tmp_path / "llm/client.py").write_text("THEIRS = 'the client'\n")
    code = f"{order}\nimport llm.client; print(llm.THEIRS, llm.client.THEIRS, mud_assistant.llm.__name__)"
    assert printed(code, tmp_path, tmp_path) == "True the client mud_assistant.llm"


def test_a_module_that_never_was_is_not_found(tmp_path: Path) -> None:
    code = (
        "import mud_assistant\n"
        "try:\n    import tools.no_such_thing\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    assert printed(code, tmp_path) == "No module named 'mud_assistant.tools.no_such_thing'"
