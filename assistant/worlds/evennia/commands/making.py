"""Makes, lists, starts, stops and deletes assistants."""

from __future__ import annotations

from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB

from assistant.config.options import with_option
from assistant.config.settings import SettingsError
from assistant.worlds.evennia import accounts, creation, runners, server
from assistant.worlds.evennia.body import far_speech
from assistant.worlds.evennia.commands.spending import GAME_WIDE
from assistant.worlds.evennia.console.naming import find_assistant, find_exactly, runner_of
from assistant.worlds.evennia.console.showing import cut, join_names, table
from assistant.worlds.evennia.console.typed_command import Answer, CommandRefused, TypedCommand
from assistant.worlds.evennia.identity.subjects import is_played
from assistant.worlds.evennia.upkeep.uninstalling import uninstall

CREATE_USAGE = "assistant/create NAME [= who it is]"
DELETE_USAGE = "assistant/delete NAME = yes (or: yes, forget)"
ACCOUNT_USAGE = "assistant/account NAME = on (or: off, join CHANNEL, leave CHANNEL)"
UNINSTALL_USAGE = "assistant/uninstall = yes (or: yes, forget)"
_YES, _FORGET = "yes", "forget"
_ALL = "all"


def create(typed: TypedCommand) -> Answer:
    """Make an assistant where its maker stands."""
    name = " ".join(typed.left.split())
    if not name:
        raise CommandRefused(f"Give it a name: {CREATE_USAGE}")
    if taken := why_no_name(name):
        raise CommandRefused(taken)
    overrides = with_option({}, "persona", typed.right) if typed.right else {}
    where = typed.character.location if typed.character is not None else None
    character = creation.create_assistant(name, where, overrides=overrides)
    place = character.location.key if character.location is not None else "nowhere"
    trouble = runners.trouble_of(character) if server.is_open() else "the service of the assistants is not running"
    how = f" It cannot live yet: {trouble}." if trouble and server.runner_of(character) is None else ""
    return (
        f"{character.key} is here: {place}.{how} See what it is up to: assistant/status {character.key}. "
        f"Choose its model: assistant/provider {character.key}"
    )


def why_no_name(name: str) -> str:
    """Say why no assistant may have this name; empty when one may."""
    if name.casefold() in GAME_WIDE:
        return f"assistant/budget means others by {cut(name)}: choose another name."
    theirs = AccountDB.objects.filter(username__iexact=name)
    if any(not isinstance(one, accounts.AssistantAccount) for one in theirs) or _is_played(name):
        return f"A player is named {cut(name)}, and the two could not be told apart: choose another name."
    return ""


def _is_played(name: str) -> bool:
    """Tell whether a character of this name belongs to a player."""
    return any(is_played(one) for one in ObjectDB.objects.filter(db_key__iexact=name))


def list_all(typed: TypedCommand) -> Answer:
    """Show every assistant."""
    return list_text(typed)


def list_text(typed: TypedCommand) -> str:
    """List every assistant: where it is, its state, and the model it thinks with."""
    there = creation.assistants()
    if not there:
        return f"There is no assistant yet. Make one with: {CREATE_USAGE}"
    head = ("name", "where", "state", "thinks with")
    return table(head, [_line(character) for character in there], typed.width, wraps=True)


def _line(character: Any) -> tuple[str, str, str, str]:
    runner = server.runner_of(character)
    where = character.location.key if character.location is not None else "nowhere"
    if runner is None:
        return character.key, where, state_of(character), runners.trouble_of(character)
    return character.key, where, state_of(character), runner.models[0].why if runner.models else runner.trouble


def state_of(character: Any) -> str:
    """Describe the state of an assistant in a word or two."""
    runner = server.runner_of(character)
    if runner is None:
        return "off" if creation.is_off(character) else "not running"
    return "emergency stop" if runner.emergency else str(runner.state)


def start(typed: TypedCommand) -> Answer:
    """Start an assistant, or all of them; they start again after every restart of the game."""
    if typed.left.casefold() == _ALL:
        return _start_all()
    character = find_assistant(typed.left, "assistant/start NAME (or: all)")
    if server.runner_of(character) is not None:
        return f"{character.key} runs already. See: assistant/status {character.key}"
    creation.start_assistant(character)
    return f"{character.key} starts. See: assistant/status {character.key}"


def _start_all() -> str:
    """Start each assistant that does not run; one that cannot live does not stop the others."""
    server.service()
    started, failed = [], []
    for character in creation.assistants():
        if server.runner_of(character) is not None:
            continue
        try:
            creation.start_assistant(character)
        except SettingsError as error:
            failed.append(f"{character.key} cannot live: {error}")
        else:
            started.append(character.key)
    if not started and not failed:
        return "Every assistant runs already. See: assistant/list"
    return "\n".join([f"Started: {join_names(started)}. See: assistant/list", *failed])


def stop(typed: TypedCommand) -> Answer:
    """Stop an assistant, or all of them, until they are started again."""
    if typed.left.casefold() != _ALL:
        return _stop([find_assistant(typed.left, "assistant/stop NAME (or: all)")])
    living = [one for one in creation.assistants() if server.runner_of(one) is not None]
    if not living:
        return "No assistant runs, so nothing was done."
    if not _sure(typed.right)[0]:
        raise CommandRefused(
            f"This stops {join_names(one.key for one in living)}, through restarts as well, and nothing was done yet. "
            "If you are sure, type: assistant/stop all = yes. To undo it afterwards: assistant/start all"
        )
    return _stop(living)


async def _stop(characters: list[Any]) -> str:
    for character in characters:
        await creation.stop_assistant(character)
    names = join_names(character.key for character in characters)
    again = characters[0].key if len(characters) == 1 else _ALL
    is_one = len(characters) == 1
    verb, stays = ("is", "stays") if is_one else ("are", "stay")
    return f"{names} {verb} stopped, and {stays} so through restarts. Start again with: assistant/start {again}"


def reset(typed: TypedCommand) -> Answer:
    """Lift the emergency stop."""
    character = find_assistant(typed.left, "assistant/reset NAME")
    runner = runner_of(character)
    if not runner.emergency:
        return f"{character.key} is not under an emergency stop, so nothing was done."
    runner.clear()
    return f"The emergency stop of {character.key} is lifted: it thinks again."


def delete(typed: TypedCommand) -> Answer:
    """Delete an assistant for good, with its memory if the owner asks for that."""
    character = find_exactly(typed.left, DELETE_USAGE)
    sure, forget = _sure(typed.right)
    if not sure:
        raise CommandRefused(
            f"This deletes {character.key} for good, and nothing was done yet. Its memory stays in the journal unless "
            f"it is to be forgotten as well. If you are sure, type: {DELETE_USAGE.replace('NAME', character.key)}"
        )
    return _delete(character, forget=forget)


async def _delete(character: Any, *, forget: bool) -> str:
    name = character.key
    await creation.delete_assistant(character, forget=forget)
    return f"{name} is deleted{', and all it remembered' if forget else '; what it remembered stays in the journal'}."


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
            return _close_account(character, there, sure=_sure(rest)[0])
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


def uninstall_all(typed: TypedCommand) -> Answer:
    """Delete everything of ours from the game, and say which line of the settings to remove."""
    sure, forget = _sure(typed.right)
    if not sure:
        names = join_names(one.key for one in creation.assistants())
        raise CommandRefused(
            f"This deletes all assistants from the game ({names}) and cannot be undone. Nothing was done yet. If you "
            f"are sure, type: {UNINSTALL_USAGE}"
        )
    return _uninstall(forget=forget)


async def _uninstall(*, forget: bool) -> str:
    return await uninstall(forget=forget)


def _sure(text: str | None) -> tuple[bool, bool]:
    """Return whether the owner is sure, and whether memory is deleted as well."""
    words = (text or "").casefold().replace(",", " ").split()
    return words[:1] == [_YES], words == [_YES, _FORGET]
