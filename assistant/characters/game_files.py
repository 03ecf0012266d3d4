"""Finds files by the names that people type in a game, inside the game's folder and nowhere else. Blocks.

Whoever may type these commands need not have an account on the machine: no name leads out of the folder, and of what
is in it only cards are read.
"""

from __future__ import annotations

from pathlib import Path

from mud_assistant.assistant.characters.character import CharacterError
from mud_assistant.assistant.characters.container import MAX_FILE
from mud_assistant.assistant.characters.reading import CARD_ENDINGS, FOLDER, read_file

#: The folder of exported cards, in that of the characters: a card there is no character by itself.
EXPORTED = "exported"
_EXPORTS = (".json", ".png")
#: The longest name of a file, and the most of it that an error repeats, in characters.
_MAX_NAME, _SHOWN = 200, 60


def read_typed_card(game: Path, typed: str) -> bytes:
    """Return the content of a card's file, looked for in the folder of characters, then in the game's.

    Raises CharacterError for a path that leads out of the folder, also by a link.
    """
    shown = typed[:_SHOWN]
    where = Path(typed)
    if not typed or len(typed) > _MAX_NAME or "\0" in typed or where.is_absolute() or ".." in where.parts:
        raise CharacterError(f"give the name of a file in the game's folder {FOLDER}, and not {shown!r}")
    if where.suffix.casefold() not in CARD_ENDINGS:
        raise CharacterError(f"a card is a file that ends in {', '.join(CARD_ENDINGS)}, and {shown!r} does not")
    try:
        root = game.resolve(strict=True)
        for base in (game / FOLDER, game):
            path = (base / where).resolve()
            if not path.is_relative_to(root):
                raise CharacterError(f"{shown!r} leads out of the game's folder: copy the file into {FOLDER}")
            if path.is_file():
                return read_file(path, MAX_FILE)
    except (OSError, ValueError, RuntimeError) as error:
        raise CharacterError(f"{shown!r} cannot be read") from error
    raise CharacterError(f"there is no file {shown!r} in the game's folder; put it into its folder {FOLDER}")


def write_typed_card(folder: Path, typed: str, card: bytes) -> Path:
    """Write an exported card into the folder of characters and return its path; no file is replaced.

    Raises CharacterError, as for a name with folders in it.
    """
    path = folder / EXPORTED / check_export_name(typed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.parent.resolve().is_relative_to(folder.resolve()):
            raise CharacterError(f"{path.parent} leads out of the game's folder")
        with path.open("xb") as file:
            file.write(card)
    except FileExistsError:
        raise CharacterError(f"there is a file {path.name} in {FOLDER}/{EXPORTED} already: give another name") from None
    except OSError as error:
        raise CharacterError(f"{path.name} cannot be written: {error.strerror}") from error
    return path


def check_export_name(typed: str) -> str:
    """Return the name of a file for an exported card. Raises CharacterError for any other."""
    name = Path(typed).name
    is_plain = name == typed and not typed.startswith(".") and not any(char in typed for char in "/\\:\0")
    if not is_plain or len(typed) > _MAX_NAME or Path(typed).suffix.casefold() not in _EXPORTS:
        raise CharacterError(f"give a name such as sage.json or sage.png, and not {typed[:_SHOWN]!r}")
    return name
