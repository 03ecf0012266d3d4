"""Lets an assistant play a character: what the character's file says stands where the settings say nothing."""

from __future__ import annotations

from pathlib import Path

from mud_assistant.assistant.characters.character import MAX_EXAMPLES, Character
from mud_assistant.assistant.characters.macros import insert_names
from mud_assistant.assistant.characters.reading import character_folder, read_character
from mud_assistant.assistant.config.schema import AssistantConfig, Config

#: The settings that a character has as well. Further greetings belong to the first.
OF_A_CHARACTER = ("persona", "voice", "greeting", "more_greetings")
#: Stands for the player's name in a greeting of the settings.
_PLAYER = "{name}"


def with_character(settings: AssistantConfig, character: Character) -> AssistantConfig:
    """Return the settings with the character's persona, voice and greetings where the settings give none.

    Their texts name the assistant as the settings do. Asked again with its own result, it changes nothing.
    """
    name = settings.name
    heard = ((insert_names(line, char=name), insert_names(said, char=name)) for line, said in character.examples)
    greetings = tuple(insert_names(one, char=name, user=_PLAYER) for one in character.greetings)
    theirs = {
        "persona": insert_names(character.front, char=name),
        "voice": dict(list(heard)[:MAX_EXAMPLES]),
        "greeting": next(iter(greetings), ""),
        "more_greetings": greetings[1:],
    }
    own = settings.model_fields_set | ({"more_greetings"} if "greeting" in settings.model_fields_set else set())
    wanted = {field: value for field, value in theirs.items() if value and field not in own}
    return settings.model_copy(update=wanted) if wanted else settings


def play(config: Config, folder: Path, *, name_too: bool = False) -> Config:
    """Return the settings with what the character they name adds to them; `folder` is that of the settings.

    With `name_too` the character gives its name, unless the settings give one. Raises CharacterError. Blocks.
    """
    mine = config.assistant
    if not mine.character:
        return config
    character = read_character(character_folder(folder), mine.character)
    if name_too and "name" not in mine.model_fields_set:
        mine = mine.model_copy(update={"name": character.name})
    return config.model_copy(update={"assistant": with_character(mine, character)})
