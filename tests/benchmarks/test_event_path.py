"""The way of one event is measured from end to end. How long it may be stands in `limits.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.event_path import TEST_DOUBLES, measure


async def test_it_begins_in_the_world_and_ends_with_the_verb_and_holds_no_test_double(reactor: Any) -> None:
    path = await measure(reactor)
    files = list(path.files)
    assert "worlds/embedded" in files[0]
    assert {"assistant/loop/react.py", "tools/verbs/speaking.py", "llm/client.py", "resilience/pipeline.py"} <= set(
        files
    )
    assert [file for file in files if TEST_DOUBLES & set(Path(file).parts)] == []
