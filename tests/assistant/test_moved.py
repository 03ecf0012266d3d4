"""Names of the version before go on working for one release, and say what they are called now."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.moved import MOVED, RENAMED
from assistant.worlds.embedded import EmbeddedWorld
from tests.assistant.living import ANN, Witness

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("former", sorted(MOVED))
def test_a_former_module_gives_what_the_new_one_has(former: str) -> None:
    now = importlib.import_module(MOVED[former])
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"{former} is now called {MOVED[former]}"):
        module = importlib.import_module(former)
    names = [name for name in vars(now) if not name.startswith("_")]
    assert names
    assert all(getattr(module, name) is getattr(now, name) for name in names)
    for (whose, name), new in RENAMED.items():
        if whose == former:
            elsewhere, _, present = new.rpartition(".")
            assert getattr(module, name) is getattr(importlib.import_module(elsewhere) if elsewhere else now, present)
    with pytest.raises(AttributeError):
        _ = module.no_such_name


def test_a_file_of_the_version_before_is_run_as_it_was() -> None:
    code = (
        "import assistant\n"
        "from assistant.build import Surroundings\n"
        "from assistant.worlds.hamlet import HAMLET\n"
        "from tools.trust import Source\n"
        "from tools.world import ALL_WORLD_TOOLS\n"
        "print(Surroundings.__name__, len(HAMLET.rooms), Source.WORLD.name, len(ALL_WORLD_TOOLS) > 10)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["Dependencies", "7", "WORLD", "True"]


def test_a_body_of_the_embedded_world_still_has_ears() -> None:
    world, heard = EmbeddedWorld(), Witness()
    with pytest.warns(DeprecationWarning, match="listener"):
        body = world.add(ANN, ears=heard)
    assert body.ears is body.listener is heard
    with pytest.warns(DeprecationWarning, match="listener"):
        body.ears = None
    assert body.listener is None
