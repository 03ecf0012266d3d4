from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assistant.settings import SettingsError, read_settings


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
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, line: str) -> None:
    told = problem(tmp_path, text)
    assert line in told
    assert "\n" not in told
    assert "planted" not in told


def test_an_unknown_setting_is_told_with_those_there_are(tmp_path: Path) -> None:
    assert "provider" in problem(tmp_path, "[model]\nprovder = 'ollama'\n")


def test_a_wrong_option_is_called_an_option(tmp_path: Path) -> None:
    assert "--key" in problem(tmp_path, "", {"model": {"key": "sk-planted"}})


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    assert "UTF-8" in problem(tmp_path, b"\xff\xfe\x00")
