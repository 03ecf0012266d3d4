"""Makes, changes and deletes assistants in a running game, for the commands and for a game's own code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from evennia.objects.models import ObjectDB
from evennia.utils import create
from evennia.utils.search import search_object

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.playing import OF_A_CHARACTER
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.worlds.evennia import accounts, runners, server
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.assistant.worlds.evennia.characters import AssistantCharacter
from mud_assistant.assistant.worlds.evennia.scripts import AssistantScript
from mud_assistant.assistant.worlds.evennia.stored import (
    CATEGORY,
    OFF,
    OVERRIDES,
    ScriptSettings,
    game_overrides,
    script_settings_of,
)


def create_assistant(
    name: str,
    location: Any = None,
    home: Any = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    description: str = "",
    start: bool = True,
) -> AssistantCharacter:
    """Make an assistant's character. It stands in the game's start room unless a location is given.

    `overrides` are tables of docs/settings.md. `description` is what others see who look at it. With `start` the
    assistant starts at once, or as soon as the Server has started; without, it is switched off. Raises SettingsError
    for invalid settings, or when another assistant has the name.
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
    describe_assistant(character, description)
    runners.begin(character)
    return character


def describe_assistant(character: AssistantCharacter, description: str) -> None:
    """Let others see this when they look at it, in its owner's words; an empty text leaves what they see.

    Its name and description count as the game's own texts from now on (docs/policy.md), until others change them.
    """
    if description:
        character.db.desc = description
    character.note_as_given()


async def delete_assistant(character: AssistantCharacter, *, forget: bool = False) -> None:
    """Stop the assistant and delete its character; with `forget`, delete what it remembers as well.

    The other assistants forget what it said. Raises ServiceNotRunning when it is to forget and no service runs, and
    JournalError.
    """
    member_id = server.id_of(character)
    home = server.service() if forget else None
    await runners.end(character)
    if home is not None:
        await home.erase(member_id)
    if server.is_open():
        await server.service().forget_words(principal_of(character, character))
    if character.pk:
        accounts.close_account(character)
        character.delete()


def check_new_name(name: str, character: Any = None) -> None:
    """Raise SettingsError when another assistant has the name, or when no assistant could have it."""
    config_with({}, " ".join(name.split()))
    if any(other.key.casefold() == name.casefold() and other != character for other in assistants()):
        raise SettingsError(f"there is an assistant named {name} already: choose another name")


def rename_assistant(character: AssistantCharacter, name: str) -> None:
    """Rename an assistant's character and its account; a living assistant is restarted.

    Raises SettingsError for a name it cannot have, and AccountTaken; nothing is changed then.
    """
    name = " ".join(name.split())
    check_new_name(name, character)
    accounts.rename_account(character, name)
    script = _script(character)
    tables = script.overrides
    tables.get("assistant", {}).pop("name", None)
    script.overrides = tables
    was_given = character.is_as_given
    character.key = name
    if was_given:  # else somebody else changed the description, which the owner may not have seen
        character.note_as_given()
    if server.runner_of(character) is not None:
        runners.restart(character)


def assistants() -> list[AssistantCharacter]:
    """Return every assistant of the game, the oldest first, living or not."""
    known = {script.obj.pk: script.obj for script in AssistantScript.objects.all() if script.obj is not None}
    return [known[pk] for pk in sorted(known)]


def assistants_with_state() -> list[tuple[AssistantCharacter, bool]]:
    """Return every assistant of the game, the oldest first, and whether it is switched off, with two queries."""
    tagged = AssistantScript.objects.filter(db_tags__db_key=OFF, db_tags__db_category=CATEGORY)
    off = set(tagged.values_list("db_obj_id", flat=True))
    return [(character, character.pk in off) for character in assistants()]


def settings_of(character: AssistantCharacter) -> dict[str, Any]:
    """Return a copy, as plain tables, of this assistant's own settings. Raises SettingsError for no assistant."""
    return _script(character).overrides


def config_of(character: AssistantCharacter) -> Config:
    """Return the full settings of this assistant. Raises SettingsError when they no longer fit together."""
    return runners.config_of(character, settings_of(character))


def config_with(overrides: Mapping[str, Any], name: str | None = None) -> Config:
    """Return an assistant's settings with these overrides, under this name if one is given. Raises SettingsError."""
    named = {} if name is None else {"assistant": {"name": name}}
    return merged(runners.base(), named, game_overrides(), overrides)


def change_settings(
    character: AssistantCharacter, overrides: Mapping[str, Any], *, entered: str = ""
) -> AssistantRunner | None:
    """Replace the assistant's own settings by these. Restart it if it lives, and return the new runner.

    A run in progress is taken up again with the new settings. `entered` is the reference of a key that was given just
    now: it may go to a new server. Raises SettingsError; nothing is changed then.
    """
    script = _script(character)
    tables = dict(overrides)
    runners.config_of(character, tables)
    script.overrides = tables
    return runners.restart(character, entered) if server.runner_of(character) is not None else None


def play_character(character: AssistantCharacter, name: str) -> tuple[str, ...]:
    """Let the assistant play a character of the game's folder, and return which of its own settings give way to it.

    What they said of who it is is laid aside until `play_oneself`. It is restarted if it lives, also when it plays this
    character already. Raises SettingsError.
    """
    script = _script(character)
    tables = script.overrides
    own = tables.setdefault("assistant", {})
    is_first = not own.get("character")
    aside = {field: own.pop(field) for field in (*OF_A_CHARACTER, "character") if field in own}
    own["character"] = name
    change_settings(character, tables)
    if is_first:
        script.laid_aside = aside
    return tuple(field for field in OF_A_CHARACTER if field in aside)


def play_oneself(character: AssistantCharacter, persona: str = "") -> None:
    """Let the assistant play no character, but who its own settings say, or this persona. It is restarted if it lives.

    Without a persona and a character of its own, its own persona is taken back: that of the game's settings counts.
    Raises SettingsError.
    """
    script = _script(character)
    tables = script.overrides
    own = tables.setdefault("assistant", {})
    played = own.pop("character", "")
    if played:
        own.update(script.laid_aside)
    if persona:
        own["persona"] = persona
        if runners.config_of(character, tables).assistant.character:
            own["character"] = ""  # else that of the game's settings would be played
    elif not played:
        own.pop("persona", None)
    if not own:
        del tables["assistant"]
    change_settings(character, tables)
    script.laid_aside = {}


def restart_all(*, playing: str = "") -> int:
    """Restart all living assistants, after a change of the game's settings. Return how many were started.

    With `playing`, only those that play this character are restarted, after a change of its files.
    """
    living = [
        character
        for character in assistants()
        if (runner := server.runner_of(character)) is not None
        and (not playing or runner.config.assistant.character == playing)
    ]
    return sum(runners.restart(character) is not None for character in living)


def start_assistant(character: AssistantCharacter) -> AssistantRunner:
    """Switch the assistant on: it starts now, and after every restart of the Server. Return its runner.

    Raises SettingsError when its settings do not fit together, and ServiceNotRunning.
    """
    script = _script(character)
    runners.config_of(character, script.overrides)
    server.service()
    script.is_off = False
    runner = runners.begin(character)
    if runner is None:
        raise SettingsError(runners.trouble_of(character) or f"{character.key} cannot be started")
    return runner


async def stop_assistant(character: AssistantCharacter) -> None:
    """Stop the assistant and wait for it. It stays off, through any restart of the Server, until it is started."""
    _script(character).is_off = True
    await runners.end(character)


def is_off(character: AssistantCharacter) -> bool:
    """Tell whether the assistant was switched off."""
    return _script(character).is_off


def _script(character: Any) -> ScriptSettings:
    script = script_settings_of(character)
    if script is None:
        raise SettingsError(f"{character.key} is no assistant")
    return script


def _room(reference: str) -> ObjectDB | None:
    """Return the room that a setting of the game names by its number, or None."""
    found = search_object(reference, use_dbref=True)
    return found[0] if found else None
