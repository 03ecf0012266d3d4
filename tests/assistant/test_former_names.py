"""Settings of the version before are understood under their former names, and the owner is told the new ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.config.options import find_renamed, merged, shown_options, with_option, without_option
from assistant.config.schema import AssistantConfig, Config
from assistant.config.settings import (
    FORMER_NAMES,
    SettingsError,
    is_now_called,
    list_renamed,
    read_settings,
    with_new_names,
)

#: A file for the version before: every setting that has another name now.
BEFORE = """
[assistant]
name = "Rook"
excuse = "hums."
excuse_every_seconds = 30
waking = "stirs."
budget_excuse = "yawns."
rate_excuse = "raises a hand."
needs = { move = 0 }
"""
NOW = {
    "name": "Rook",
    "fallback_line": "hums.",
    "fallback_every_seconds": 30,
    "waking_line": "stirs.",
    "budget_line": "yawns.",
    "rate_line": "raises a hand.",
    "required_permission": {"move": 0},
}


def written(folder: Path, text: str) -> Path:
    path = folder / "assistant.toml"
    path.write_text(text)
    return path


def test_a_file_of_the_version_before_means_what_it_meant(tmp_path: Path) -> None:
    told: list[str] = []
    config = read_settings(written(tmp_path, BEFORE), {}, told.append)
    assert config.assistant == AssistantConfig.model_validate(NOW)
    assert told == [is_now_called("assistant", name) for name in FORMER_NAMES["assistant"]]
    assert "assistant.needs is now called assistant.required_permission" in told


def test_a_file_with_the_names_of_now_is_not_remarked_on(tmp_path: Path) -> None:
    told: list[str] = []
    read_settings(written(tmp_path, '[assistant]\nfallback_line = "hums."\n'), {}, told.append)
    assert told == []


def test_the_present_name_counts_where_both_are_set() -> None:
    both = {"assistant": {"fallback_line": "new", "excuse": "old"}, "model": {"excuse": "no setting of that table"}}
    assert with_new_names(both) == {"assistant": {"fallback_line": "new"}, "model": both["model"]}
    assert list_renamed(both) == ["assistant.excuse is now called assistant.fallback_line"]


@pytest.mark.parametrize("table", ["no table", 7, None])
def test_what_is_no_table_is_left_for_the_validation(table: object) -> None:
    assert with_new_names({"assistant": table}) == {"assistant": table}
    assert list_renamed({"assistant": table}) == []


def test_a_wrong_value_under_a_former_name_is_shown_on_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, '[assistant]\nname = "Rook"\nneeds = { move = 9 }\n')
    with pytest.raises(SettingsError, match=r"line 3: assistant\.required_permission\.move: .* from 0 to 5"):
        read_settings(path, {})


def test_every_setting_that_has_a_former_name_is_there() -> None:
    for table, names in FORMER_NAMES.items():
        fields = type(getattr(Config(), table)).model_fields
        assert [name for name in names.values() if name not in fields] == []
        assert [name for name in names if name in fields] == []


def test_what_was_set_in_a_game_goes_on_counting_above_its_file() -> None:
    own = {"assistant": {"excuse": "hums.", "needs": {"move": 0}}}
    config = merged({"assistant": {"fallback_line": "the game's", "name": "Rook"}}, own)
    assert (config.assistant.fallback_line, config.assistant.required_permission) == ("hums.", {"move": 0})
    shown = {option.name: option for option in shown_options(config, own)}
    assert (shown["fallback_line"].is_set, shown["fallback_line"].value) == (True, "hums.")


@pytest.mark.parametrize("typed", ["needs", "assistant.needs", "Needs ", "required_permission"])
def test_an_option_is_set_and_taken_back_by_either_name(typed: str) -> None:
    own: dict[str, Any] = {"assistant": {"needs": {"say": 1}, "excuse": "hums."}}
    changed = with_option(own, typed, "move 0")
    assert changed == {"assistant": {"required_permission": {"move": 0}, "fallback_line": "hums."}}
    assert without_option(own, typed) == {"assistant": {"fallback_line": "hums."}}


def test_an_option_with_a_former_name_is_found_with_a_sentence_for_the_owner() -> None:
    found = ("rate_line", "assistant.rate_excuse is now called assistant.rate_line")
    assert find_renamed("rate-excuse") == find_renamed("assistant.rate_excuse") == found
    assert [find_renamed(name) for name in ("rate_line", "model.rate_excuse", "excus", "")] == [None] * 4
