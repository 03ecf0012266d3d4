"""Making, changing and deleting assistants in a running game: what the commands call, and the code of a game may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from evennia.objects.models import ObjectDB
from evennia.utils import create
from evennia.utils.search import search_object

from assistant.config import Config
from assistant.service.member import Member
from assistant.service.options import merged
from assistant.settings import SettingsError
from assistant.worlds.evennia import accounts, house, lives
from assistant.worlds.evennia.characters import AssistantCharacter
from assistant.worlds.evennia.game_wide import game_overrides
from assistant.worlds.evennia.scripts import CATEGORY, OFF, OVERRIDES, AssistantScript, script_of


def create_assistant(
    name: str,
    location: Any = None,
    home: Any = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    start: bool = True,
) -> AssistantCharacter:
    """A new assistant's character. It stands in the game's start room unless a location is given.

    `overrides` are tables of docs/settings.md. With `start` it lives at once, or when the Server has started; without,
    it is switched off. Raises SettingsError for settings that cannot be, or a name that an assistant has already.
    """
    name = " ".join(name.split())
    tables = dict(overrides or {})
    config_with(tables, name)
    check_new_name(name)
    place = location or _room(settings.START_LOCATION) or _room(settings.DEFAULT_HOME)
    character: AssistantCharacter = create.create_object(
        AssistantCharacter, key=name, location=place, home=home or place
    )
    create.create_script(
        AssistantScript,
        key="assistant",
        obj=character,
        persistent=True,
        autostart=False,
        attributes=[(OVERRIDES, tables)] if tables else [],
        tags=[] if start else [(OFF, CATEGORY)],
    )
    lives.begin(character)
    return character


async def delete_assistant(character: AssistantCharacter, *, forget: bool = False) -> None:
    """Returns when the assistant lives no more and its character is gone; with `forget`, what it remembers as well.

    Raises HouseNotOpen when it is to forget and there is nothing open to forget from, and JournalError.
    """
    member_id = house.id_of(character)
    home = house.household() if forget else None
    await lives.end(character)
    if home is not None:
        await home.erase(member_id)
    if character.pk:
        accounts.close_account(character)
        character.delete()


def check_new_name(name: str, character: Any = None) -> None:
    """Raise SettingsError when an assistant other than this one has the name, or none could have it."""
    config_with({}, " ".join(name.split()))
    if any(other.key.casefold() == name.casefold() and other != character for other in assistants()):
        raise SettingsError(f"there is an assistant named {name} already: choose another name")


def rename_assistant(character: AssistantCharacter, name: str) -> None:
    """Give an assistant's character, and its account, another name; a living one starts anew with it.

    Raises SettingsError when it cannot have the name, and AccountTaken; nothing is changed then.
    """
    name = " ".join(name.split())
    check_new_name(name, character)
    accounts.rename_account(character, name)
    script = _script(character)
    tables = script.overrides
    tables.get("assistant", {}).pop("name", None)
    script.overrides = tables
    character.key = name
    if house.member_of(character) is not None:
        lives.restart(character)


def assistants() -> list[AssistantCharacter]:
    """Every assistant of the game, the oldest first, living or not."""
    known = {script.obj.pk: script.obj for script in AssistantScript.objects.all() if script.obj is not None}
    return [known[pk] for pk in sorted(known)]


def settings_of(character: AssistantCharacter) -> dict[str, Any]:
    """The settings of this assistant that differ from the game's: a copy, as plain tables. Raises SettingsError."""
    return _script(character).overrides


def config_of(character: AssistantCharacter) -> Config:
    """The settings this assistant has to live with. Raises SettingsError when they do not go together any more."""
    return lives.config_of(character, settings_of(character))


def config_with(overrides: Mapping[str, Any], name: str | None = None) -> Config:
    """The settings an assistant would have with these, under this name if one is given. Raises SettingsError."""
    named = {} if name is None else {"assistant": {"name": name}}
    return merged(lives.base(), named, game_overrides(), overrides)


def change_settings(character: AssistantCharacter, overrides: Mapping[str, Any], *, entered: str = "") -> Member | None:
    """Keep these in place of the former settings of its own; the assistant, started anew with them if it lives.

    A run that goes is taken up again with the new settings. `entered` is the reference of a key that was given just
    now: it may go to a new server. Raises SettingsError; nothing is changed then.
    """
    script = _script(character)
    tables = dict(overrides)
    lives.config_of(character, tables)
    script.overrides = tables
    return lives.restart(character, entered) if house.member_of(character) is not None else None


def restart_all() -> int:
    """How many assistants were started anew, with settings of the whole game that were changed."""
    living = [character for character in assistants() if house.member_of(character) is not None]
    return sum(lives.restart(character) is not None for character in living)


def start_assistant(character: AssistantCharacter) -> Member:
    """The assistant, switched on: it lives now, and after every restart.

    Raises SettingsError when its settings do not go together, and HouseNotOpen.
    """
    script = _script(character)
    lives.config_of(character, script.overrides)
    house.household()
    script.is_off = False
    member = lives.begin(character)
    if member is None:
        raise SettingsError(lives.trouble_of(character) or f"{character.key} cannot be started")
    return member


async def stop_assistant(character: AssistantCharacter) -> None:
    """Returns when the assistant is stopped; it stays so, through any restart, until it is started."""
    _script(character).is_off = True
    await lives.end(character)


def is_off(character: AssistantCharacter) -> bool:
    """Whether the assistant was switched off."""
    return _script(character).is_off


def _script(character: Any) -> AssistantScript:
    script = script_of(character)
    if script is None:
        raise SettingsError(f"{character.key} is no assistant")
    return script


def _room(reference: str) -> ObjectDB | None:
    """The room a setting of the game names by its number."""
    found = search_object(reference, use_dbref=True)
    return found[0] if found else None
