"""Runs the command `mud-assistant character`: imports cards after a preview, shows, tests and exports characters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.characters import (
    Character,
    CharacterError,
    LoreScanner,
    character_folder,
    export_card,
    import_card,
    list_characters,
    preview_card,
    read_character,
)
from mud_assistant.assistant.characters.character import file_name
from mud_assistant.assistant.characters.container import MAX_FILE
from mud_assistant.assistant.characters.reading import check_file_name, read_file
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.memory.topics import FoundTopics
from mud_assistant.assistant.memory.topics.knowledge import everyday_finder, index_character
from mud_assistant.assistant.service.wording.characters import (
    activated_text,
    character_text,
    found_topics_text,
    preview_text,
)

#: The exit status when the owner says no.
DECLINED = 1
_YES = {"y", "yes"}


class CharacterOptions(Struct, frozen=True):
    """The options of the command line. `folder` is that of the characters; None for the usual one of `config`."""

    action: str
    name: str = ""
    file: Path | None = None
    line: str = ""
    config: Path | None = None
    folder: Path | None = None
    yes: bool = False
    version: int = 3
    #: Finds the topics of a character by a line; None to go by its words alone.
    find: Callable[[Character, str], FoundTopics] | None = None


def run_character(options: CharacterOptions, tell: Callable[[str], None], ask: Callable[[str], str]) -> int:
    """Do what the options say and return the exit status. `tell` shows a text; `ask` returns the answer to a question.

    Raises CharacterError. Blocks.
    """
    settings = options.config.absolute().parent if options.config else Path.cwd()
    folder = options.folder or character_folder(settings)
    match options.action:
        case "import":
            return _import(options, folder, tell, ask)
        case "show" if not options.name:
            tell("\n".join(list_characters(folder)) or f"There are no characters in {folder}.")
        case "show":
            tell(character_text(read_character(folder, options.name)))
        case "test":
            character = read_character(folder, options.name)
            index = index_character(character)
            if character.topics:
                by_words = index.topics.find_by_words(options.line, mine=words_of(character.name))
                found = by_words if options.find is None else options.find(character, options.line)
                everyday = everyday_finder().find_by_words(options.line, mine=words_of(character.name))
                tell(found_topics_text(found, character.name, everyday))
            tell(activated_text(LoreScanner(index.lore).activate([options.line]), character.name))
        case "export":
            _export(options, folder, tell)
    return 0


def _import(options: CharacterOptions, folder: Path, tell: Callable[[str], None], ask: Callable[[str], str]) -> int:
    """Show what a card would bring, and import it once the owner agrees."""
    assert options.file is not None
    if options.name:
        check_file_name(options.name)
    preview = preview_card(read_file(options.file, MAX_FILE), assistant=options.name)
    tell(preview_text(preview))
    name = options.name or file_name(preview.character.name)
    if not options.yes and ask(f"Import it as '{name}' into {folder}? (yes/no) ").strip().casefold() not in _YES:
        tell("Nothing was imported.")
        return DECLINED
    place = import_card(preview, folder, options.name)
    tell(f'Imported into {place}. To play it, write under [assistant] in the settings: character = "{name}"')
    return 0


def _export(options: CharacterOptions, folder: Path, tell: Callable[[str], None]) -> None:
    """Write a character as a card, JSON or a picture as the file's name ends."""
    assert options.file is not None
    ending = options.file.suffix.casefold()
    if ending not in {".json", ".png"}:
        raise CharacterError(f"{options.file}: a card is a file that ends in .json or .png")
    card = export_card(folder, options.name, version=options.version, picture=ending == ".png")
    try:
        with options.file.open("xb") as file:
            file.write(card)
    except FileExistsError:
        raise CharacterError(f"there is a file {options.file} already: choose another name") from None
    except OSError as error:
        raise CharacterError(f"{options.file} cannot be written: {error.strerror}") from error
    tell(f"{options.name} was written to {options.file}.")
