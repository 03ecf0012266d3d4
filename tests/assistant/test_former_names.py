"""Settings files and games that were made before some settings got other names: they mean what they meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.logger import capturedLogs, formatEvent

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.config.settings import FORMER_NAMES, SettingsError, read_settings, with_new_names
from mud_assistant.assistant.surfaces.serve.file import SettingsFile

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


def test_a_file_with_former_names_means_what_it_meant(tmp_path: Path) -> None:
    path = written(tmp_path, BEFORE)
    assert [name for name in FORMER_NAMES if f"\n{name} = " not in BEFORE] == []
    assert read_settings(path, {}).assistant == AssistantConfig.model_validate(NOW)
    assert SettingsFile(path).config().assistant == AssistantConfig.model_validate(NOW)


def test_the_log_says_what_a_setting_is_called_now(tmp_path: Path) -> None:
    with capturedLogs() as logged:
        read_settings(written(tmp_path, BEFORE), {})
    assert "assistant.excuse is now called assistant.fallback_line" in list(map(formatEvent, logged))
    assert len(logged) == len(FORMER_NAMES)


def test_a_setting_is_changed_in_a_file_that_has_it_under_its_former_name(tmp_path: Path) -> None:
    path = written(tmp_path, BEFORE)
    SettingsFile(path).change({("assistant", "waking_line"): "yawns."})
    assert read_settings(path, {}).assistant == AssistantConfig.model_validate({**NOW, "waking_line": "yawns."})


def test_the_present_name_counts_where_both_are_set() -> None:
    both = {"assistant": {"fallback_line": "new", "excuse": "old"}, "model": {"excuse": "no setting of that table"}}
    assert with_new_names(both) == {"assistant": {"fallback_line": "new"}, "model": both["model"]}


@pytest.mark.parametrize("table", ["no table", 7, None])
def test_what_is_no_table_is_left_for_the_validation(table: object) -> None:
    assert with_new_names({"assistant": table}) == {"assistant": table}


def test_a_wrong_value_under_a_former_name_is_shown_on_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, '[assistant]\nname = "Rook"\nneeds = { move = 9 }\n')
    with pytest.raises(SettingsError, match=r"line 3: assistant\.required_permission\.move: .* from 0 to 5"):
        read_settings(path, {})
