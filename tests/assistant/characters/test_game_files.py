"""Files that people name in a game: found in the game's folder, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.characters import CharacterError, read_typed_card, write_typed_card


def game_in(folder: Path) -> Path:
    """A game's folder with a card in its folder of characters, one beside it, and one outside."""
    game = folder / "game"
    (game / "characters").mkdir(parents=True)
    (game / "characters" / "in.json").write_bytes(b"in")
    (game / "beside.PNG").write_bytes(b"beside")
    (folder / "out.json").write_bytes(b"out")
    return game


@pytest.mark.parametrize(
    ("typed", "content"),
    [("in.json", b"in"), ("characters/in.json", b"in"), ("./in.json", b"in"), ("beside.PNG", b"beside")],
)
def test_a_card_is_found_in_the_folder_of_characters_and_in_the_games(
    tmp_path: Path, typed: str, content: bytes
) -> None:
    assert read_typed_card(game_in(tmp_path), typed) == content


def test_a_link_may_lead_to_a_file_of_the_game_and_to_no_other(tmp_path: Path) -> None:
    game = game_in(tmp_path)
    (game / "characters" / "good.json").symlink_to(game / "beside.PNG")
    (game / "characters" / "bad.json").symlink_to(tmp_path / "out.json")
    assert read_typed_card(game, "good.json") == b"beside"
    with pytest.raises(CharacterError, match="leads out of the game's folder"):
        read_typed_card(game, "bad.json")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    game = game_in(tmp_path)
    with (game / "characters" / "large.json").open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(CharacterError, match="is larger than 8192 KiB"):
        read_typed_card(game, "large.json")


def test_a_card_is_written_once_and_not_through_a_link(tmp_path: Path) -> None:
    folder = game_in(tmp_path) / "characters"
    path = write_typed_card(folder, "sage.json", b"{}")
    assert path.read_bytes() == b"{}"
    with pytest.raises(CharacterError, match="already"):
        write_typed_card(folder, "sage.json", b"[]")
    (folder / "exported" / "link.json").symlink_to(tmp_path / "new.json")
    with pytest.raises(CharacterError, match="already"):
        write_typed_card(folder, "link.json", b"{}")
    assert not (tmp_path / "new.json").exists()


def test_no_card_is_written_where_the_folder_leads_out(tmp_path: Path) -> None:
    folder = game_in(tmp_path) / "characters"
    (folder / "exported").symlink_to(tmp_path)
    with pytest.raises(CharacterError, match="leads out"):
        write_typed_card(folder, "sage.json", b"{}")
    assert not (tmp_path / "sage.json").exists()
