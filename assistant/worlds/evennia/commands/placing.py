"""Shows and sets the home of an assistant, and brings the assistant to its owner."""

from __future__ import annotations

from typing import Any

from assistant.worlds.evennia import creation
from assistant.worlds.evennia.body import scenery
from assistant.worlds.evennia.body.game_calls import border
from assistant.worlds.evennia.console.naming import find_assistant
from assistant.worlds.evennia.console.typed_command import Answer, CommandRefused, TypedCommand
from tools.errors import ToolFailed

HOME_USAGE = "assistant/home NAME [= here]"
SUMMON_USAGE = "assistant/summon NAME"
_HERE = "here"


def home(typed: TypedCommand) -> Answer:
    """Show the home of an assistant, or make it the room its owner is in."""
    character = find_assistant(typed.left, HOME_USAGE)
    if typed.right is None:
        place = character.home
        if place is None:
            return f"{character.key} has no home. To make it where you stand: assistant/home {character.key} = here"
        return f"{character.key} is at home in {place.key} (#{place.pk}). {_alone(character)}"
    if typed.right.strip().casefold() != _HERE:
        raise CommandRefused(f"Go to the room that is to be its home, and type: assistant/home {character.key} = here")
    character.home = place = _room(typed)
    return f"{character.key} is at home in {place.key} (#{place.pk}) now. {_alone(character)}"


def summon(typed: TypedCommand) -> Answer:
    """Bring an assistant to the room its owner is in."""
    character, room = find_assistant(typed.left, SUMMON_USAGE), _room(typed)
    if character.location is room:
        return f"{character.key} is here already."
    try:
        with border(character.key):
            scenery.move_to(character, room)
    except ToolFailed as failed:
        raise CommandRefused(f"{character.key} did not come: {failed}") from failed
    return f"{character.key} is here now. {_alone(character)}"


def _room(typed: TypedCommand) -> Any:
    """Return the room of the player who typed the command. Raises CommandRefused when they are in none."""
    if typed.character is None or typed.character.location is None:
        raise CommandRefused("You are nowhere in the game: go into character first, with ic.")
    return typed.character.location


def _alone(character: Any) -> str:
    """Say what the assistant does when it is left alone. Raises SettingsError."""
    minutes = creation.config_of(character).assistant.go_home_minutes
    if not minutes:
        return "It stays where it is when it is left alone."
    return f"Left alone elsewhere for {minutes:g} minutes, it goes home (go_home_minutes)."
