"""Imports character cards and lorebooks from files of the game's folder, after a preview, and exports characters."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mud_assistant.assistant.characters import (
    CardPreview,
    check_export_name,
    export_card,
    known_characters,
    preview_card,
    read_typed_card,
    write_typed_card,
)
from mud_assistant.assistant.characters.character import file_name
from mud_assistant.assistant.characters.game_files import EXPORTED
from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.service.operations.operators import Operator
from mud_assistant.assistant.service.operations.personas import import_character
from mud_assistant.assistant.service.wording.characters import preview_text
from mud_assistant.assistant.worlds.evennia import creation
from mud_assistant.assistant.worlds.evennia.console.settings_store import operated
from mud_assistant.assistant.worlds.evennia.console.showing import cut
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    confirmed,
    find_assistant,
    operator_of,
)

IMPORT_USAGE = "assistant/import FILE [= yes, NAME]"
EXPORT_USAGE = "assistant/export NAME = FILE.json (or: FILE.png)"


def import_(typed: TypedCommand) -> Answer:
    """Show what a card or lorebook of the game's folder would bring; with "= yes" write it as a character."""
    if not typed.left:
        raise CommandRefused(
            f"Put a card into the folder characters of the game, and name the file: {IMPORT_USAGE}. It is shown first, "
            "and imported with yes."
        )
    words = [word.strip() for word in (typed.right or "").split(",", 1)]
    if words[0] and not confirmed(words[0])[0]:
        raise CommandRefused(f"Type yes behind the =, and then a name if you like: {IMPORT_USAGE}")
    name = words[1] if len(words) > 1 else ""
    return _import(operator_of(typed), typed.left, name) if words[0] else _preview(typed.left)


async def _preview(file: str) -> str:
    preview = await operated().in_thread(partial(_read, operated().folder, file, ""))
    shown = cut(file, 200)
    if preview.kind == "lorebook":
        how = f"To add it to a character: assistant/import {shown} = yes, CHARACTER"
    else:
        known = file_name(preview.character.name)
        how = f"To import it as {known or 'another'}: assistant/import {shown} = yes{', NAME' * (not known)}"
    return f"{preview_text(preview)}\nNothing is imported yet. {how}"


async def _import(who: Operator, file: str, typed_name: str) -> str:
    there = operated()
    preview = await there.in_thread(partial(_read, there.folder, file, file_name(typed_name)))
    name, told = await import_character(there, who, preview, typed_name)
    how = f" To play it: assistant/persona NAME = {name}" if preview.kind != "lorebook" else ""
    return f"{told}{how}"


def _read(folder: Path, file: str, assistant: str) -> CardPreview:
    """Return the preview of a card. Raises CharacterError. Blocks."""
    return preview_card(read_typed_card(folder.parent, file), assistant=assistant)


async def export(typed: TypedCommand) -> str:
    """Write the character that an assistant plays, or one by its own name, as a card."""
    if not typed.right:
        raise CommandRefused(f"Give the name of a file: {EXPORT_USAGE}")
    folder, file = operated().folder, check_export_name(typed.right)
    there = await operated().in_thread(partial(known_characters, folder))
    if typed.left.casefold() in {one.casefold() for one in there}:
        name = match_name(typed.left, there, "character")
    else:
        character = find_assistant(typed.left, EXPORT_USAGE)
        name = creation.config_of(character).assistant.character
        if not name:
            raise CommandRefused(f"{character.key} plays no character that could be exported.")

    def write() -> None:
        card = export_card(folder, name, picture=Path(file).suffix.casefold() == ".png")
        write_typed_card(folder, file, card)

    await operated().in_thread(write)
    return f"{name} is written to characters/{EXPORTED}/{file}, as a card of version 3."
