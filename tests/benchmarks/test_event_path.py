"""The way of one event does not grow: how many files stand between a heard line and its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.event_path import TEST_DOUBLES, measure

#: What it is now, and what it is to be. Lower the first when the way gets shorter.
MOST_FILES, GOAL = 116, 55


async def test_a_line_passes_no_more_files_than_it_did(reactor: Any) -> None:
    path = await measure(reactor)
    assert len(path.files) <= MOST_FILES, (
        f"a line passes {len(path.files)} files until the character speaks; it was {MOST_FILES}, the goal is {GOAL}: "
        "python -m benchmarks.event_path --files"
    )


async def test_it_begins_in_the_world_and_ends_with_the_verb_and_holds_no_test_double(reactor: Any) -> None:
    path = await measure(reactor)
    files = list(path.files)
    assert "worlds/embedded" in files[0]
    assert {"assistant/loop/react.py", "tools/verbs/speaking.py", "llm/client.py", "resilience/pipeline.py"} <= set(
        files
    )
    assert [file for file in files if TEST_DOUBLES & set(Path(file).parts)] == []
