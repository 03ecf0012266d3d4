"""What was there when the heap was settled is not collected again; what comes later is, by gentler thresholds."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from mud_assistant.assistant.starting import GENTLE, PYTHONS_OWN, settle_heap

#: A command, and what becomes of its collector.
_COMMAND = """
import atexit, gc, sys
from mud_assistant.assistant.__main__ import main
atexit.register(lambda: print(gc.get_threshold()))
sys.exit(main(sys.argv[1:]))
"""


class Knot:
    """Something that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector_as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_later_collections_look_only_at_what_came_later() -> None:
    kept = Knot()
    assert settle_heap() > 0
    assert not any(one is kept for one in gc.get_objects())
    later = weakref.ref(Knot())
    gc.collect()
    assert later() is None


@pytest.mark.parametrize("before", sorted(PYTHONS_OWN), ids=str)
def test_the_thresholds_of_python_become_gentler(before: tuple[int, int, int]) -> None:
    gc.set_threshold(*before)
    settle_heap()
    assert gc.get_threshold() == GENTLE


def test_thresholds_that_the_game_chose_are_left_alone() -> None:
    gc.set_threshold(50_000, 20, 30)
    settle_heap()
    assert gc.get_threshold() == (50_000, 20, 30)


def test_a_command_has_the_gentler_thresholds_as_well() -> None:
    arguments = ["trial", "--provider", "ollama", "--url", "http://127.0.0.1:9", "--model", "sage"]
    command = [sys.executable, "-c", _COMMAND, *arguments]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ended.stdout.endswith(f"{GENTLE}\n"), ended.stderr


def test_a_full_collection_comes_once_for_400_000_objects_and_the_others_look_at_few() -> None:
    objects, between, middle = GENTLE
    assert 380_000 <= objects * (between + 1) * (middle + 1) <= 420_000
    assert objects * (between + 1) <= 400
