"""The local model of a new game, at a terminal and without one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TextIO

import pytest

from assistant.surfaces.game.command import with_model
from assistant.surfaces.game.making import GameOptions
from llm.embedded import machine
from llm.embedded.fetching.models import MODELS

EMBEDDED = GameOptions({"provider": "embedded"})


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder, without a model."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "mud-assistant" / "models"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """The keyboard of the terminal of a machine that has enough of everything."""
    for name, value in (("BETTER_BYTES", 0), ("FAST_CORES", 1), ("FAST_SECONDS", 1e9)):
        monkeypatch.setattr(machine, name, value)
    master, slave = os.openpty()
    with os.fdopen(master, "w") as typed, os.fdopen(slave) as read:
        monkeypatch.setattr("sys.stdin", read)
        yield typed


def chosen(wanted: GameOptions) -> tuple[dict[str, str], str]:
    said: list[str] = []
    return dict(with_model(wanted, perf_counter, said.append).model), "\n".join(said)


@pytest.mark.parametrize(
    ("typed", "model"), [("\n", "better"), ("better\n", "better"), ("huge\nsmall\n", ""), ("small\n", "")]
)
def test_the_owner_of_a_new_game_chooses(
    keyboard: TextIO, typed: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", sys.stdin)  # here, because pytest puts its own in between the phases of a test
    keyboard.write(typed)
    keyboard.flush()
    given, said = chosen(EMBEDDED)
    assert given.get("model", "") == model
    assert given["provider"] == "embedded"
    assert "1117 MB, about 2 minutes" in said


def test_without_a_terminal_it_is_the_small_one_and_one_line() -> None:
    given, said = chosen(EMBEDDED)
    assert given == EMBEDDED.model
    assert said.startswith("A better local model exists: --model better")


def test_the_one_that_is_there_is_used_in_silence(data: Path) -> None:
    with (data / MODELS["better"].file_name).open("wb") as file:
        file.truncate(MODELS["better"].size_bytes)
    assert chosen(EMBEDDED) == ({"provider": "embedded", "model": "better"}, "")


@pytest.mark.parametrize(
    "model",
    [
        {"provider": "ollama"},
        {"provider": "embedded", "model": "small"},
        {"url": "http://127.0.0.1:1/v1"},
        {"model": "better"},
    ],
)
def test_who_names_a_model_is_not_asked(model: dict[str, str]) -> None:
    assert chosen(GameOptions(model)) == (model, "")
