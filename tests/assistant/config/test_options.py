"""Settings laid over settings, as an owner types them in a game."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.config.options import merged, shown_options, with_option, without_option
from mud_assistant.assistant.config.settings import SettingsError


def test_the_last_table_lies_on_top_and_leaves_what_it_does_not_name() -> None:
    game = {"model": {"provider": "ollama", "temperature": 0.5}, "budget": {"total": {"calls": 5}}}
    own = {"model": {"temperature": 0.1}, "budget": {"player": {"calls": 1}}}
    config = merged(game, own)
    assert (config.model.provider, config.model.temperature) == ("ollama", 0.1)
    assert (config.budget.total.calls, config.budget.player.calls) == (5, 1)
    assert game["model"] == {"provider": "ollama", "temperature": 0.5}


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("max_steps", "7", {"assistant": {"max_steps": 7}}),
        ("MAX-STEPS", "7", {"assistant": {"max_steps": 7}}),
        ("temperature", "0.3", {"model": {"temperature": 0.3}}),
        ("model.think", "true", {"model": {"think": True}}),
        ("aliases", '["Old Sage", "Wise One"]', {"assistant": {"aliases": ["Old Sage", "Wise One"]}}),
        ("persona", "You are a baker.", {"assistant": {"persona": "You are a baker."}}),
        ("persona", "7", {"assistant": {"persona": "7"}}),
        ("room_speech", "trigger", {"assistant": {"room_speech": "trigger"}}),
        ("required_permission", "{ move = 0 }", {"assistant": {"required_permission": {"move": 0}}}),
    ],
)
def test_a_typed_value_becomes_what_the_setting_is(name: str, text: str, found: dict[str, Any]) -> None:
    assert with_option({}, name, text) == found


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("max_steps", "99", "give a whole number from 1 to 10, as in: max_steps = 10"),
        ("max_steps", "many", "max_steps"),
        ("max_step", "7", "max_steps"),
        ("model.max_steps", "7", "max_steps"),
        ("key", "sk-a-real-key", "by reference"),
    ],
)
def test_what_cannot_be_is_told_and_changes_nothing(name: str, text: str, says: str) -> None:
    own: dict[str, Any] = {"assistant": {"max_steps": 3}}
    with pytest.raises(SettingsError) as refused:
        with_option(own, name, text)
    assert says in str(refused.value)
    assert "sk-a-real-key" not in str(refused.value)
    assert own == {"assistant": {"max_steps": 3}}


def test_a_setting_that_is_taken_back_is_the_games_again() -> None:
    assert without_option({"assistant": {"max_steps": 3, "permission": 2}}, "max_steps") == {
        "assistant": {"permission": 2}
    }
    assert without_option({"assistant": {"max_steps": 3}}, "max_steps") == {}
    assert without_option({}, "max_steps") == {}


def test_all_settings_are_shown_with_what_they_mean_and_whether_they_are_set_here() -> None:
    own = {"model": {"temperature": 0.1}}
    shown = {option.name: option for option in shown_options(merged(own), own)}
    assert (shown["model.temperature"].value, shown["model.temperature"].is_set) == ("0.1", True)
    assert (shown["max_steps"].value, shown["max_steps"].is_set) == ("5", False)
    assert shown["model.context_tokens"].meaning == "The context window in tokens."
    assert shown["tools"].value == "(not set)"
