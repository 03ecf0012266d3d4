"""The three characters that ship with the demo game: what each file holds, and that it can be used as it is."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import assistant
from assistant.config.schema import AssistantConfig

SHIPPED = Path(assistant.__file__).parent / "characters" / "shipped"
FILES = sorted(SHIPPED.glob("*.toml"))


def written(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_three_characters_ship() -> None:
    assert [path.stem for path in FILES] == ["innkeeper", "librarian", "stranger"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_character_can_be_an_assistants(path: Path) -> None:
    told = written(path)
    voice = {example["heard"]: example["said"] for example in told["examples"]}
    AssistantConfig(name=told["name"], persona=told["persona"], voice=voice, greeting=told["greeting"][0])
    assert len(voice) == len(told["examples"]) in range(4, 9)
    assert len(told["persona"]) <= 900
    assert len(set(told["greeting"])) == 3
    assert all(len(greeting) <= 300 for greeting in told["greeting"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lore_is_short_and_can_be_found(path: Path) -> None:
    lore = written(path)["lore"]
    assert len(lore) in range(8, 16)
    assert len({entry["title"] for entry in lore}) == len(lore)
    for entry in lore:
        assert len(entry["text"].split()) in range(30, 81), entry["title"]
        assert all(key == key.strip() != "" for key in entry["keys"]), entry["title"]
        assert entry["keys"], entry["title"]


def test_every_secret_of_the_stranger_can_be_asked_for_with_a_thing_that_stands_elsewhere() -> None:
    keys = {key.casefold() for entry in written(SHIPPED / "stranger.toml")["lore"] for key in entry["keys"]}
    others = " ".join(
        entry["text"] for path in FILES if path.stem != "stranger" for entry in written(path)["lore"]
    ).casefold()
    for clue in ("brass button", "keeping of bees", "mail chest", "tom", "agnes pell", "room three"):
        assert clue in keys
        assert clue in others
