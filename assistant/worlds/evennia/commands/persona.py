"""Shows who an assistant is and whom it plays, and lets it play a character of the game's folder or one that ships."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from assistant.characters import (
    FoundCharacter,
    known_characters,
    read_with_sources,
)
from assistant.config.playing import with_character
from assistant.service.wording.characters import played_text, playing_text
from assistant.worlds.evennia import creation, server
from assistant.worlds.evennia.console.showing import count_of, join_names
from assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    find_assistant,
    match_name,
)

PERSONA_USAGE = "assistant/persona NAME = CHARACTER (or: who it is)"
#: A name of a character: one word of a script that has spaces between its words.
_NAME = re.compile(r"[\w'-]{1,60}")
_FIRST_UNSPACED = "\u0e00"
T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, which reads and writes files. Raises its error, CharacterError, ServiceNotRunning.

    It runs off the reactor thread; cancelling does not stop it.
    """
    return await server.service().parts.with_files(work)


def folder_of_characters() -> Path:
    """Return the folder of the game's characters. Raises ServiceNotRunning."""
    return server.service().config.character_folder


def persona(typed: TypedCommand) -> Answer:
    """Show who an assistant is, or let it play a character, or say in words who it is."""
    character = find_assistant(typed.left, PERSONA_USAGE)
    if typed.right is None:
        return _show(character)
    return play(character, typed.right) if typed.right else play_no_more(character)


def play_no_more(character: Any) -> str:
    """Let an assistant play no character of its own, and say who it is now. Raises SettingsError."""
    before = creation.config_of(character).assistant.character
    creation.play_oneself(character)
    now = creation.config_of(character).assistant
    over = f" {before} is played no more." if before and before != now.character else ""
    return f"{character.key}: {now.persona if not now.character else f'plays {now.character}'}{over}"


async def play(character: Any, text: str) -> str:
    """Let an assistant play the character that `text` names; any other text of several words says who it is.

    Raises CommandRefused for one word that names none.
    """
    found = await find_meant(text)
    if found is None:
        return _say_who(character, text)
    gave_way = creation.play_character(character, found.name)
    return played_text(found, character.key, gave_way)


def may_be_a_name(text: str) -> bool:
    """Tell whether a text can only be meant as the name of a character: one word, in a script with spaces."""
    return bool(_NAME.fullmatch(text)) and max(text) < _FIRST_UNSPACED


async def find_meant(text: str) -> FoundCharacter | None:
    """Return the character that a text names, None for several words that name none.

    Raises CommandRefused for one word that names none, and CharacterError.
    """
    folder = folder_of_characters()
    there = await in_thread(partial(known_characters, folder))
    if not may_be_a_name(text) and text.casefold() not in {one.casefold() for one in there}:
        return None
    try:
        name = match_name(text, there, "character")
    except CommandRefused as error:
        raise CommandRefused(f"{error} To say in words who it is, use more than one.") from error
    return await in_thread(partial(read_with_sources, folder, name))


def restarted_text(count: int) -> str:
    """Say how many assistants have taken a change up."""
    return f"{count_of(count, 'assistant')} took it up." if count else "No living assistant plays it now."


async def found_of(character: Any) -> FoundCharacter | None:
    """Return whom an assistant plays, None for no character. Raises CharacterError."""
    name = creation.config_of(character).assistant.character
    if not name:
        return None
    return await in_thread(partial(read_with_sources, folder_of_characters(), name))


async def _show(character: Any) -> str:
    found = await found_of(character)
    settings = creation.config_of(character).assistant
    if found is not None:
        return playing_text(with_character(settings, found.character), found)
    there = await in_thread(partial(known_characters, folder_of_characters()))
    how = f"To let it play a character: assistant/persona {character.key} = NAME. There are: {join_names(there)}."
    return f"{playing_text(settings, None)}\n{how}"


def _say_who(character: Any, text: str) -> str:
    before = creation.config_of(character).assistant.character
    creation.play_oneself(character, text)
    over = f"\n{before} is played no more; to play it again: assistant/persona {character.key} = {before}"
    return f"{character.key}: {creation.config_of(character).assistant.persona}{over if before else ''}"
