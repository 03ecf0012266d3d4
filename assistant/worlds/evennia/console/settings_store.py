"""The settings of the game's assistants as operations change them: kept with each assistant's script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from evennia.objects.models import ObjectDB

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.service.operations.operated import KnownAssistant, Operated
from mud_assistant.assistant.service.operations.operators import NotFound
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.stored import script_settings_of


class GameSettings:
    """The store of a game. Its changes are made on the reactor's thread, as those of the game's own commands are."""

    @property
    def store(self) -> Self:
        """The settings, which are kept here."""
        return self

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return every assistant of the game, as it is now."""
        return tuple(_known(*one) for one in creation.assistants_with_state())

    async def start(self, assistant: str) -> None:
        """Let an assistant live. Raises NotFound, SettingsError when its settings do not fit, and ServiceNotRunning."""
        creation.start_assistant(find_character(assistant))

    async def stay_off(self, assistant: str) -> None:
        """Stop an assistant, wait for it, and keep it off through restarts."""
        await creation.stop_assistant(find_character(assistant))

    async def config(self, assistant: str) -> Config:
        """Return the settings of an assistant. Raises NotFound, and SettingsError when they do not fit together."""
        return creation.config_of(find_character(assistant))

    def check_playing(self) -> None:
        """Return: who an assistant is can be changed."""

    async def play(self, assistant: str, name: str) -> Sequence[str]:
        """Let an assistant play a character, and return which of its own settings are laid aside for it."""
        return creation.play_character(find_character(assistant), name)

    async def be(self, assistant: str, persona: str) -> None:
        """Let an assistant be who the words say; without any, what was laid aside or the game says."""
        creation.play_oneself(find_character(assistant), persona)

    async def restart(self, playing: str) -> int:
        """Restart those who play this character. Return how many."""
        return creation.restart_all(playing=playing)


def operated() -> Operated:
    """Return what operations of this game work on. Raises ServiceNotRunning."""
    return Operated(server.service(), GameSettings())


# Any: Evennia has no types.
def find_character(assistant: str) -> Any:
    """Return the character of an assistant with this id. Raises NotFound."""
    kind, _, number = assistant.partition(":")
    if kind == "assistant" and number.isascii() and number.isdigit() and len(number) < len("1000000000"):
        character = ObjectDB.objects.filter(pk=int(number)).first()
        if character is not None and script_settings_of(character) is not None:
            return character
    raise NotFound(f"There is no assistant {assistant[:40]} in this game.")


def _known(character: Any, is_off: bool) -> KnownAssistant:
    place = character.location.key if character.location is not None else ""
    return KnownAssistant(server.id_of(character), character.key, is_off, place)
