"""Assistants come and go: made, listed, started, stopped, deleted."""

from __future__ import annotations

from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB

from assistant.service.options import with_option
from assistant.worlds.evennia import accounts, creation, far_speech, house, lives
from assistant.worlds.evennia.commands.naming import exactly_named, member_of, named
from assistant.worlds.evennia.commands.order import Answer, Order, Refused
from assistant.worlds.evennia.commands.showing import cut, listed, table
from assistant.worlds.evennia.commands.spending import GAME_WIDE
from assistant.worlds.evennia.principals import is_played
from assistant.worlds.evennia.uninstalling import uninstall

CREATE_USAGE = "assistant/create NAME [= who it is]"
DELETE_USAGE = "assistant/delete NAME = yes (or: yes, forget)"
ACCOUNT_USAGE = "assistant/account NAME = on (or: off, join CHANNEL, leave CHANNEL)"
UNINSTALL_USAGE = "assistant/uninstall = yes (or: yes, forget)"
_YES, _FORGET = "yes", "forget"


def create(order: Order) -> Answer:
    """A new assistant, where its maker stands."""
    name = " ".join(order.left.split())
    if not name:
        raise Refused(f"Give it a name: {CREATE_USAGE}")
    if name.casefold() in GAME_WIDE:
        raise Refused(f"assistant/budget means others by {cut(name)}: choose another name.")
    if AccountDB.objects.filter(username__iexact=name).exists() or _is_played(name):
        raise Refused(f"A player is named {cut(name)}, and the two could not be told apart: choose another name.")
    overrides = with_option({}, "persona", order.right) if order.right else {}
    where = order.character.location if order.character is not None else None
    character = creation.create_assistant(name, where, overrides=overrides)
    place = character.location.key if character.location is not None else "nowhere"
    trouble = lives.trouble_of(character) if house.is_open() else "the household of the assistants is not open"
    how = f" It cannot live yet: {trouble}." if trouble and house.member_of(character) is None else ""
    return (
        f"{character.key} is here: {place}.{how} See what it is up to: assistant/status {character.key}. "
        f"Choose its model: assistant/provider {character.key}"
    )


def _is_played(name: str) -> bool:
    """Whether a character of this name belongs to a player."""
    return any(is_played(one) for one in ObjectDB.objects.filter(db_key__iexact=name))


def list_all(_: Order) -> Answer:
    """Every assistant: where it is, how it is, what it thinks with."""
    there = creation.assistants()
    if not there:
        return f"There is no assistant yet. Make one with: {CREATE_USAGE}"
    return table(("name", "where", "state", "thinks with"), [_line(character) for character in there])


def _line(character: Any) -> tuple[str, str, str, str]:
    member = house.member_of(character)
    where = character.location.key if character.location is not None else "nowhere"
    if member is None:
        return character.key, where, state_of(character), lives.trouble_of(character)
    return character.key, where, state_of(character), member.models[0].why if member.models else member.trouble


def state_of(character: Any) -> str:
    """In a word or two, how an assistant is."""
    member = house.member_of(character)
    if member is None:
        return "off" if creation.is_off(character) else "not running"
    return "emergency stop" if member.emergency else str(member.state)


def start(order: Order) -> Answer:
    """Let an assistant live, now and after every restart of the game."""
    character = named(order.left, "assistant/start NAME")
    if house.member_of(character) is not None:
        return f"{character.key} runs already. See: assistant/status {character.key}"
    creation.start_assistant(character)
    return f"{character.key} starts. See: assistant/status {character.key}"


def stop(order: Order) -> Answer:
    """Stop an assistant until somebody starts it."""
    return _stop(named(order.left, "assistant/stop NAME"))


async def _stop(character: Any) -> str:
    await creation.stop_assistant(character)
    return f"{character.key} is stopped, and stays so through restarts. Start it with: assistant/start {character.key}"


def reset(order: Order) -> Answer:
    """Lift the emergency stop."""
    character = named(order.left, "assistant/reset NAME")
    member = member_of(character)
    if not member.emergency:
        return f"{character.key} is not under an emergency stop, so nothing was done."
    member.clear()
    return f"The emergency stop of {character.key} is lifted: it thinks again."


def delete(order: Order) -> Answer:
    """Delete an assistant for good, with its memory when that is asked for."""
    character = exactly_named(order.left, DELETE_USAGE)
    sure, forget = _sure(order.right)
    if not sure:
        raise Refused(
            f"This deletes {character.key} for good. Its memory stays in the journal unless it is to be forgotten as "
            f"well. Type: {DELETE_USAGE.replace('NAME', character.key)}"
        )
    return _delete(character, forget=forget)


async def _delete(character: Any, *, forget: bool) -> str:
    name = character.key
    await creation.delete_assistant(character, forget=forget)
    return f"{name} is deleted{', and all it remembered' if forget else '; what it remembered stays in the journal'}."


def account(order: Order) -> Answer:
    """Show an assistant's account, make it, delete it, or let it join and leave channels."""
    character = named(order.left, ACCOUNT_USAGE)
    word, _, rest = (order.right or "").partition(" ")
    there = accounts.account_of(character)
    if order.right is not None and not order.right:
        raise Refused(f"Type: {ACCOUNT_USAGE}")
    match word.casefold():
        case "":
            return _account(character)
        case "on":
            try:
                accounts.open_account(character)
            except accounts.AccountTaken as taken:
                raise Refused(f"{taken}."[0].upper() + f"{taken}."[1:]) from taken
            _start_anew(character)
        case "off":
            if not accounts.close_account(character):
                return f"{character.key} has no account."
            _start_anew(character)
        case "join" | "leave" if there is None:
            raise Refused(f"{character.key} has no account yet. Make one with: assistant/account {character.key} = on")
        case "join":
            _join(there, rest)
        case "leave":
            _leave(there, rest)
        case _:
            raise Refused(f"Type: {ACCOUNT_USAGE}")
    return _account(character)


def _start_anew(character: Any) -> None:
    """Let a living assistant learn of its account."""
    if house.member_of(character) is not None:
        lives.restart(character)


def _account(character: Any) -> str:
    there = accounts.account_of(character)
    if there is None:
        return (
            f"{character.key} has no account: it is heard and hears where its character is, and nowhere else. "
            f"To let it be paged and hear channels: assistant/account {character.key} = on"
        )
    channels = listed(channel.key for channel in far_speech.channels_of(there))
    return f"{character.key} has an account: it can be paged, and listens to: {channels}. Change it: {ACCOUNT_USAGE}"


def _join(account: Any, name: str) -> None:
    found = [one for one in far_speech.all_channels() if one.key.casefold() == name.strip().casefold()]
    if not found or not found[0].access(account, "listen"):
        may = listed(one.key for one in far_speech.all_channels() if one.access(account, "listen"))
        raise Refused(f"It cannot listen to a channel '{cut(name)}'. It may listen to: {may}.")
    found[0].connect(account)


def _leave(account: Any, name: str) -> None:
    found = [one for one in far_speech.channels_of(account) if one.key.casefold() == name.strip().casefold()]
    if not found:
        mine = listed(one.key for one in far_speech.channels_of(account))
        raise Refused(f"It does not listen to a channel '{cut(name)}'. It listens to: {mine}.")
    found[0].disconnect(account)


def uninstall_all(order: Order) -> Answer:
    """Delete everything of ours from the game, and say which line to remove."""
    sure, forget = _sure(order.right)
    if not sure:
        raise Refused(f"This deletes all assistants from the game. Type: {UNINSTALL_USAGE}")
    return _uninstall(forget=forget)


async def _uninstall(*, forget: bool) -> str:
    return await uninstall(forget=forget)


def _sure(text: str | None) -> tuple[bool, bool]:
    """Whether somebody is sure, and whether memory goes as well."""
    words = (text or "").casefold().replace(",", " ").split()
    return words[:1] == [_YES], words == [_YES, _FORGET]
