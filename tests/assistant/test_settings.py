from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.config.settings import SettingsError, read_settings


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "assistant.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problem(folder: Path, text: str | bytes, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        read_settings(write(folder, text), overrides or {})
    return str(caught.value)


def test_without_a_file_everything_has_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = read_settings(None, {})
    assert config.model.provider == "auto"
    assert config.assistant.name == "Sage"


def test_the_file_in_this_folder_is_read_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, '[assistant]\nname = "Rook"\n')
    monkeypatch.chdir(tmp_path)
    assert read_settings(None, {}).assistant.name == "Rook"


def test_options_come_before_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, '[model]\nprovider = "ollama"\nmodel = "a"\n')
    model = read_settings(path, {"model": {"provider": "local"}}).model
    assert (model.provider, model.model) == ("local", "a")


def test_a_named_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no file"):
        read_settings(tmp_path / "x.toml", {})


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_settings(tmp_path, {})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[model]\nprovider = \n", "line 2"),
        ("[model\n", "line 1"),
        ('[model]\nprovider = "a"\nprovider = "b"\n', "line 3"),
        ("[assistant]\nname = 'Sage'\nmax_steps = 50\n", "line 3"),
        ("[assistant]\n\n\nplain_text = 'shout'\n", "line 4"),
        ("[model]\nprovder = 'ollama'\n", "line 2"),
        ("\n[modle]\n", "line 2"),
        ("[model]\nkey = 'sk-planted'\n", "line 2"),
        ("model = 3\n", "line 1"),
        ("[model.prices]\ninput = 1\noutput = -1\n", "line 3: model.prices.output"),
        ("[model]\nprices = { input = -1, output = 1 }\n", "line 2: model.prices.input"),
        ("[model]\nprices.input = -1\nprices.output = 1\n", "line 2: model.prices.input"),
        ("[assistant]\ntools = ['say', 3]\n", "line 2: assistant.tools[1]"),
        ("[model]\n[budget.player]\ncalls = -1\n", "line 3: budget.player.calls"),
        ("[budget]\n'player'.calls = -1\n", "line 2: budget.player.calls"),
        ("[model]\n[budget.player]\ncals = 1\n", "line 3: budget.player.cals: there is no such setting; those there"),
        ("[budget]\nutc_offset_hours = 15\n", "line 2: budget.utc_offset_hours"),
        ("fallback = 3\n", "line 1: fallback"),
        ("[fallback]\nmodel = 'x'\n", "line 1: fallback"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, line: str) -> None:
    told = problem(tmp_path, text)
    assert line in told
    assert "\n" not in told
    assert "planted" not in told


TWO_FALLBACKS = """
[model]
provider = "openai"
url = "http://127.0.0.1:1/v1"

[[fallback]]
provider = "ollama"
model = "qwen3:4b"

[[ fallback ]]
provider = "embedded"
{}
[fallback.prices]
input = 1
output = {}
"""


def test_fallbacks_are_kept_in_their_order(tmp_path: Path) -> None:
    config = read_settings(write(tmp_path, TWO_FALLBACKS.format("max_attempts = 1", "2")), {})
    assert [model.provider for model in (config.model, *config.fallback)] == ["openai", "ollama", "embedded"]
    assert [model.max_attempts for model in config.fallback] == [3, 1]
    assert config.fallback[1].prices is not None


@pytest.mark.parametrize(
    ("extra", "output", "told"),
    [
        ("modle = 'x'", "1", "line 12: fallback[1].modle: there is no such setting; those there are: provider, model"),
        ("max_attempts = 0", "1", "line 12: fallback[1].max_attempts"),
        ("key = 'sk-planted'", "1", "line 12: fallback[1].key"),
        ("", "-1", "line 15: fallback[1].prices.output"),
    ],
)
def test_a_mistake_in_the_second_fallback_is_told_with_its_own_line(
    tmp_path: Path, extra: str, output: str, told: str
) -> None:
    said = problem(tmp_path, TWO_FALLBACKS.format(extra, output))
    assert told in said
    assert "planted" not in said


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[assistant]\nmax_stepps = 3", "max_steps"),
        ("[assistent]\nmax_steps = 3", "assistant"),
        ("[web]\nserch_provider = 'tavily'", "search_provider"),
        ("[gateway.models.small]\nprovidr = 'ollama'", "provider"),
    ],
)
def test_a_misspelt_setting_is_answered_with_the_one_that_was_meant(tmp_path: Path, text: str, meant: str) -> None:
    assert problem(tmp_path, text).endswith(f"; did you mean '{meant}'?")


def test_a_setting_that_is_like_none_gets_no_guess(tmp_path: Path) -> None:
    assert "did you mean" not in problem(tmp_path, "[assistant]\nxyzzy = 3")


def test_a_mistake_in_the_first_fallback_is_not_that_in_the_second(tmp_path: Path) -> None:
    text = TWO_FALLBACKS.format("", "1").replace("model = ", "modle = ")
    assert "line 8: fallback[0].modle" in problem(tmp_path, text)


def test_a_budget_is_read(tmp_path: Path) -> None:
    text = "[budget]\nutc_offset_hours = -5.5\ntotal.calls = 100\n[budget.player]\ntokens = 5000\nmoney = 0.5\n"
    budget = read_settings(write(tmp_path, text), {}).budget
    assert (budget.total.calls, budget.player.tokens, budget.player.money) == (100, 5000, 0.5)
    assert budget.assistant.calls is None
    assert budget.utc_offset_hours == -5.5


@pytest.mark.parametrize("whose", ["total", "assistant", "player"])
@pytest.mark.parametrize(
    ("models", "name"),
    [
        ("[model]\nprovider = 'openai'\n", "model.prices"),
        ("[model]\nprovider = 'ollama'\n[[fallback]]\nprovider = 'anthropic'\n", "fallback[0].prices"),
    ],
)
def test_a_budget_in_money_needs_prices(tmp_path: Path, models: str, name: str, whose: str) -> None:
    told = problem(tmp_path, f"{models}[budget.{whose}]\nmoney = 1\n")
    assert f"set {name}" in told
    assert "\n" not in told


@pytest.mark.parametrize(
    "models",
    [
        "[model]\nprovider = 'openai'\nprices = { input = 1, output = 2 }\n",
        "[model]\nprovider = 'openrouter'\n[[fallback]]\nprovider = 'embedded'\n",
        "",
    ],
)
def test_a_budget_in_money_is_taken_where_the_cost_is_known(tmp_path: Path, models: str) -> None:
    config = read_settings(write(tmp_path, f"{models}[budget.player]\nmoney = 1\n"), {})
    assert config.budget.player.money == 1.0


def test_an_unknown_setting_is_told_with_those_there_are(tmp_path: Path) -> None:
    assert "provider" in problem(tmp_path, "[model]\nprovder = 'ollama'\n")


def test_a_wrong_option_is_called_an_option(tmp_path: Path) -> None:
    assert "--key" in problem(tmp_path, "", {"model": {"key": "sk-planted"}})


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    assert "UTF-8" in problem(tmp_path, b"\xff\xfe\x00")
