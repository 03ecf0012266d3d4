"""Shows who an assistant is and whom it plays, and lets it play a character of the game's folder or one that ships."""

from __future__ import annotations

from functools import partial
from typing import Any

from mud_assistant.assistant.characters import FoundCharacter, known_characters
from mud_assistant.assistant.config.playing import with_character
from mud_assistant.assistant.service.operations import personas
from mud_assistant.assistant.service.operations.operators import Operator
from mud_assistant.assistant.service.wording.characters import playing_text
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.console.settings_store import operated
from mud_assistant.assistant.worlds.evennia.console.showing import join_names
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    TypedCommand,
    find_assistant,
    operator_of,
)

PERSONA_USAGE = "assistant/persona NAME = CHARACTER (or: who it is)"


def persona(typed: TypedCommand) -> Answer:
    """Show who an assistant is, or let it play a character, or say in words who it is."""
    character = find_assistant(typed.left, PERSONA_USAGE)
    if typed.right is None:
        return _show(character)
    return play(operator_of(typed), character, typed.right)


async def play(who: Operator, character: Any, text: str) -> str:
    """Do what `personas.set_persona` does, and say what to type to go back."""
    changed = await personas.set_persona(operated(), who, server.id_of(character), text)
    if changed.found is not None:
        return f"{changed.sentence}{played_hints(changed.found, character.key)}"
    again = f" To play it again: assistant/persona {character.key} = {changed.before}"
    return f"{changed.sentence}{again if changed.before and text else ''}"


def played_hints(found: FoundCharacter, name: str) -> str:
    """Return what to type to name an assistant as the character it plays, and to go back."""
    its = found.character.name
    rename = "" if its == name else f" To name it as the character: assistant/set {name}/name = {its}."
    return f"{rename} To go back: assistant/persona {name} ="


async def _show(character: Any) -> str:
    there = operated()
    settings = creation.config_of(character).assistant
    found = await personas.found_named(there, settings.character)
    if found is not None:
        return playing_text(with_character(settings, found.character), found)
    known = await there.in_thread(partial(known_characters, there.folder))
    how = f"To let it play a character: assistant/persona {character.key} = NAME. There are: {join_names(known)}."
    return f"{playing_text(settings, None)}\n{how}"
