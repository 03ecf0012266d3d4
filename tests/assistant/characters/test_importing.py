"""A card is imported as a folder that its owner can edit, and comes out again with all that it had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.characters import (
    CharacterError,
    export_card,
    import_card,
    list_characters,
    preview_card,
    read_character,
)
from mud_assistant.assistant.characters.character import LoreEntry
from mud_assistant.assistant.characters.importing import lore_toml
from mud_assistant.assistant.characters.written import lore_of_toml
from tests.assistant.characters.cards import (
    BOOK,
    ENTRY,
    LOREBOOK,
    ODD,
    V1,
    V2,
    V3,
    WORLD,
    archive,
    as_json,
    packed,
    picture,
    text_chunk,
)


def imported(data: bytes, folder: Path, name: str = "") -> Path:
    return import_card(preview_card(data, assistant=name), folder, name)


@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (as_json(V1), ".json"),
        (as_json(V2), ".json"),
        (as_json(V3), ".json"),
        (picture(text_chunk("chara", packed(V2))), ".png"),
        (archive({"card.json": as_json(V3)}), ".charx"),
    ],
)
def test_what_was_previewed_is_what_is_read_afterwards(data: bytes, ending: str, tmp_path: Path) -> None:
    preview = preview_card(data)
    place = import_card(preview, tmp_path)
    assert read_character(tmp_path, place.name) == preview.character
    assert (place / f"original{ending}").read_bytes() == data
    assert list_characters(tmp_path) == [place.name]


@pytest.mark.parametrize(("card", "version"), [(V2, 2), (V3, 3)])
def test_a_card_comes_out_as_it_went_in(card: dict[str, Any], version: int, tmp_path: Path) -> None:
    place = imported(as_json(card), tmp_path)
    assert json.loads(export_card(tmp_path, place.name, version=version)) == card


def test_a_card_of_version_2_comes_out_as_3_with_everything_unknown(tmp_path: Path) -> None:
    imported(as_json(V2), tmp_path)
    whole = json.loads(export_card(tmp_path, "wren"))
    assert (whole["spec"], whole["spec_version"], whole["beside"]) == ("chara_card_v3", "3.0", ODD)
    assert {**whole["data"], **V2["data"]} == whole["data"]


def test_what_was_edited_is_exported_and_the_rest_kept(tmp_path: Path) -> None:
    place = imported(as_json(V2), tmp_path)
    file = place / "character.toml"
    file.write_text(file.read_text().replace("bell tower", "lighthouse"))
    (place / "lore" / "mine.md").write_text("# The lamp\nkeys: lamp\nIt burns whale oil.\n")
    data = json.loads(export_card(tmp_path, "wren"))["data"]
    assert "lighthouse" in data["description"]
    assert data["first_mes"] == V1["first_mes"]
    assert data["extensions"] == ODD
    assert data["system_prompt"] == V2["data"]["system_prompt"]
    first, second = data["character_book"]["entries"]
    assert first == ENTRY
    assert (second["keys"], second["content"]) == (["lamp"], "It burns whale oil.")
    assert data["character_book"]["extensions"] == BOOK["extensions"]


def test_a_picture_keeps_its_picture_and_both_versions_of_the_card(tmp_path: Path) -> None:
    data = picture(text_chunk("Software", b"brush"), text_chunk("chara", packed(V2)))
    imported(data, tmp_path)
    made = export_card(tmp_path, "wren", picture=True)
    assert made.count(b"IDAT") == made.count(b"brush") == 1
    assert preview_card(made).version == "V3"
    assert preview_card(made.replace(b"ccv3", b"cold")).version == "V2"


def test_a_character_of_ones_own_is_exported_as_a_card(tmp_path: Path) -> None:
    (tmp_path / "sage.toml").write_text(
        'name = "Sage"\npersona = "You keep books."\nspeech = "In riddles."\ngreeting = "Hush, {{user}}."\n'
        '[[examples]]\nheard = "Hi"\nsaid = "Hush."\n[[lore]]\ntitle = "Vault"\ntext = "It is shut."\n'
    )
    mine = read_character(tmp_path, "sage")
    for made in (export_card(tmp_path, "sage"), export_card(tmp_path, "sage", picture=True)):
        again = preview_card(made).character
        assert (again.name, again.greetings, again.examples) == (mine.name, mine.greetings, mine.examples)
        assert "You keep books." in again.persona
        assert "In riddles." in again.persona
        assert again.lore.entries[0].keys == ("Vault",)


def test_a_lorebook_is_added_to_a_character_there_is(tmp_path: Path) -> None:
    (tmp_path / "sage.toml").write_text('persona = "You keep books."\n')
    for data in (as_json(LOREBOOK), as_json(WORLD)):
        imported(data, tmp_path, "sage")
    assert {entry.keys[0] for entry in read_character(tmp_path, "sage").lore.entries} == {"bell", "mill"}
    with pytest.raises(CharacterError, match="already"):
        imported(as_json(WORLD), tmp_path, "sage")
    with pytest.raises(CharacterError, match="to which of your characters"):
        imported(as_json(WORLD), tmp_path)


def test_a_card_in_the_folder_of_characters_is_imported_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "wren.json").write_bytes(as_json(V2))
    imported(as_json(V2), tmp_path, "wren")
    assert (tmp_path / "wren" / "character.toml").is_file()
    (tmp_path / "other.json").write_bytes(as_json(V1))
    with pytest.raises(CharacterError, match="already"):
        imported(as_json(V2), tmp_path, "other")


def test_nothing_is_overwritten_and_nothing_leaves_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "characters"
    imported(as_json(V2), folder)
    with pytest.raises(CharacterError, match="already"):
        imported(as_json(V1), folder)
    for name in ("../out", "a/b", ".hidden", "c:d"):
        with pytest.raises(CharacterError, match="no name of a character"):
            imported(as_json(V1), folder, name)
    imported(as_json({**V1, "name": "../../Out & about"}), folder)
    assert list_characters(folder) == ["out-about", "wren"]
    assert [path.name for path in tmp_path.iterdir()] == ["characters"]
    assert not list(folder.glob(".*"))


def test_lore_is_written_so_that_it_reads_the_same() -> None:
    entries = (
        LoreEntry(
            'A "title" \\', 'Two\nlines, """ quotes\\\nand "', ("a", 'b"'), ("c",), "not_all", priority=-3, order=9
        ),
        LoreEntry("Always", "x", constant=True, case_sensitive=True, reached=False, reaches=False),
    )
    assert lore_of_toml(lore_toml(entries), "here") == entries
