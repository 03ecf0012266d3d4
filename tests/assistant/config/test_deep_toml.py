"""TOML that is nested without end is told in one sentence, wherever an owner writes it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from mud_assistant.assistant.characters.character import CharacterError
from mud_assistant.assistant.characters.written import character_of
from mud_assistant.assistant.config.settings import SettingsError, read_settings
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.toml_text import MAX_DEPTH, parse_toml
from mud_assistant.assistant.worlds.embedded.place_file import PlaceFileError, read_place

MANY = 20_000
DEEP = {
    "lists": f"a = {'[' * MANY}{']' * MANY}",
    "tables": f"a = {'{a = ' * MANY}1{'}' * MANY}",
    "both": f"a = {'[{a = ' * MANY}1{'}]' * MANY}",
    "an end that never comes": "a = " + "[" * MANY,
    "a dotted name": f"{'.'.join(['a'] * MANY)} = 1",
    "a spaced one": f"""{" . ".join(['"a b"', "'c'", "d-_"] * MANY)} = 1""",
    "a header": f"[{'.'.join(['a'] * MANY)}]",
    "a header of a list": f"[[{'.'.join(['a'] * MANY)}]]",
    "a name in a table": f"a = {{ {'.'.join(['a'] * MANY)} = 1 }}",
    "not too deep for the parser": f"[model]\nextra_params = {'{a = ' * (MAX_DEPTH + 1)}1{'}' * (MAX_DEPTH + 1)}",
}


@pytest.mark.parametrize("kind", DEEP)
def test_deep_settings_are_refused_in_a_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "assistant.toml"
    path.write_text(f"# mine\n{DEEP[kind]}\n")
    said = rf"^{re.escape(str(path))}(, line 2)?: tables and lists stand more than 64 deep in each other$"
    with pytest.raises(SettingsError, match=said):
        read_settings(path, {})
    with pytest.raises(SettingsError, match="64 deep"):
        SettingsFile(path, {}).config()
    with pytest.raises(SettingsError, match="64 deep"):
        SettingsFile(path, {}).change({("model", "model"): "sage"})


@pytest.mark.parametrize("kind", DEEP)
def test_so_are_characters_and_places(tmp_path: Path, kind: str) -> None:
    with pytest.raises(CharacterError, match="64 deep"):
        character_of(DEEP[kind], "sage.toml", "sage")
    (tmp_path / "place.toml").write_text(DEEP[kind])
    with pytest.raises(PlaceFileError, match=r"64 deep|too large"):
        read_place(tmp_path / "place.toml")


def test_what_is_deep_enough_is_read() -> None:
    deep = f"a = {'[' * (MAX_DEPTH - 1)}{']' * (MAX_DEPTH - 1)}\nb.{'.'.join(['c'] * 60)} = '{'x.y ' * 100}'"
    assert parse_toml(deep) == tomllib.loads(deep)


@pytest.mark.parametrize("text", ["x" * 200_000, "a = '" + "b " * 100_000 + "'", "a = '" + '"' * 200_000 + "'"])
def test_long_words_cost_no_time(text: str) -> None:
    """A search that tried every beginning would take hours for these."""
    try:
        parse_toml(text)
    except tomllib.TOMLDecodeError:
        return
