"""Gives an assistant its place in the game: a home, the room it is brought to, and an account with channels."""

from __future__ import annotations

from typing import Any

from mud_assistant.assistant.worlds.evennia import accounts, creation, runners, server
from mud_assistant.assistant.worlds.evennia.body import far_speech, scenery
from mud_assistant.assistant.worlds.evennia.body.border import border
from mud_assistant.assistant.worlds.evennia.console.showing import cut, join_names
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    confirmed,
    find_assistant,
)
from mud_assistant.tools.errors import ToolFailed

HOME_USAGE = "assistant/home NAME [= here]"
SUMMON_USAGE = "assistant/summon NAME"
ACCOUNT_USAGE = "assistant/account NAME = on (or: off, join CHANNEL, leave CHANNEL)"
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


def account(typed: TypedCommand) -> Answer:
    """Show an assistant's account, make it, delete it, or let it join and leave channels."""
    character = find_assistant(typed.left, ACCOUNT_USAGE)
    word, _, rest = (typed.right or "").replace(",", " ").partition(" ")
    there = accounts.account_of(character)
    if typed.right is not None and not typed.right:
        raise CommandRefused(f"Type: {ACCOUNT_USAGE}")
    match word.casefold():
        case "":
            return _account(character)
        case "on":
            try:
                accounts.open_account(character)
            except accounts.AccountTaken as taken:
                raise CommandRefused(f"{taken}."[0].upper() + f"{taken}."[1:]) from taken
            _start_anew(character)
        case "off":
            return _close_account(character, there, sure=confirmed(rest)[0])
        case "join" | "leave" if there is None:
            raise CommandRefused(
                f"{character.key} has no account yet. Make one with: assistant/account {character.key} = on"
            )
        case "join":
            _join(there, rest)
        case "leave":
            _leave(there, rest)
        case _:
            raise CommandRefused(f"Type: {ACCOUNT_USAGE}")
    return _account(character)


def _close_account(character: Any, there: Any, *, sure: bool) -> str:
    """Delete the account of an assistant. Raises CommandRefused, whose text asks, unless the owner is sure."""
    if there is None:
        return f"{character.key} has no account, so nothing was done."
    if not sure:
        raise CommandRefused(_before_off(character, there))
    accounts.close_account(character)
    _start_anew(character)
    return _account(character)


def _before_off(character: Any, there: Any) -> str:
    """Ask whether the account of an assistant shall be deleted, and say what that changes."""
    channels = join_names((channel.key for channel in far_speech.channels_of(there)), "no channels")
    return (
        f"This deletes the account of {character.key}: it can be paged no more, and leaves {channels}. Nothing was "
        f"done yet. If you are sure, type: assistant/account {character.key} = off yes. To undo it afterwards: "
        f"assistant/account {character.key} = on, and join its channels again."
    )


def _start_anew(character: Any) -> None:
    """Restart a living assistant, so that it knows of its account or of the loss of it."""
    if server.runner_of(character) is not None:
        runners.restart(character)


def _account(character: Any) -> str:
    there = accounts.account_of(character)
    if there is None:
        return (
            f"{character.key} has no account: it is heard and hears where its character is, and nowhere else. "
            f"To let it be paged and hear channels: assistant/account {character.key} = on"
        )
    channels = join_names(channel.key for channel in far_speech.channels_of(there))
    return f"{character.key} has an account: it can be paged, and listens to: {channels}. Change it: {ACCOUNT_USAGE}"


def _join(account: Any, name: str) -> None:
    found = [one for one in far_speech.all_channels() if one.key.casefold() == name.strip().casefold()]
    if not found or not found[0].access(account, "listen"):
        may = join_names(one.key for one in far_speech.all_channels() if one.access(account, "listen"))
        raise CommandRefused(f"It cannot listen to a channel '{cut(name)}'. It may listen to: {may}.")
    found[0].connect(account)


def _leave(account: Any, name: str) -> None:
    found = [one for one in far_speech.channels_of(account) if one.key.casefold() == name.strip().casefold()]
    if not found:
        mine = join_names(one.key for one in far_speech.channels_of(account))
        raise CommandRefused(f"It does not listen to a channel '{cut(name)}'. It listens to: {mine}.")
    found[0].disconnect(account)
