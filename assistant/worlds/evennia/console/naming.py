"""Finds what a player means by the beginning of a name; a text that fits no name is answered with those there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assistant.runtime.character import Assistant
from assistant.service.runner import AssistantRunner
from assistant.worlds.evennia import creation, server
from assistant.worlds.evennia.console.showing import cut, join_names
from assistant.worlds.evennia.console.typed_command import CommandRefused

#: The most names that an error lists.
_LISTED = 60


def match_name(text: str, names: Iterable[str], what: str) -> str:
    """Return the one name that `text` is or begins. Raises CommandRefused with the known ones.

    `what` says what they name.
    """
    known = list(dict.fromkeys(names))
    wanted = text.strip().casefold()
    if exact := [name for name in known if name.casefold() == wanted]:
        return exact[0]
    found = [name for name in known if wanted and name.casefold().startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandRefused(f"'{cut(text)}' is the beginning of {join_names(found[:_LISTED])}: type more of it.")
    raise CommandRefused(f"There is no {what} '{cut(text)}'. There are: {join_names(known[:_LISTED])}.")


def find_assistant(text: str, usage: str) -> Any:
    """Return the assistant that `text` names: by its name, the beginning of it, or #NUMBER.

    Without a text it is the only assistant of the game. Raises CommandRefused; `usage` is what to type.
    """
    there = creation.assistants()
    if not there:
        raise CommandRefused("There is no assistant yet. Make one with: assistant/create NAME")
    return find_among(there, text, usage)


def find_among(there: Sequence[Any], text: str, usage: str) -> Any:
    """Return the one of these assistants that `text` names. Raises CommandRefused."""
    if not text:
        if len(there) == 1:
            return there[0]
        raise CommandRefused(f"Which one: {join_names(one.key for one in there)}? Type: {usage}")
    by_number = [one for one in there if text == f"#{one.pk}"]
    if by_number:
        return by_number[0]
    name = match_name(text, (one.key for one in there), "assistant")
    same = [one for one in there if one.key == name]
    if len(same) > 1:
        raise CommandRefused(
            f"There are several named {name}: type {join_names(f'#{one.pk}' for one in same)} instead."
        )
    return same[0]


def find_exactly(text: str, usage: str) -> Any:
    """Return the assistant of just this name or #NUMBER: for what cannot be undone. Raises CommandRefused."""
    one = find_assistant(text, usage)
    if text.casefold() not in {one.key.casefold(), f"#{one.pk}"}:
        raise CommandRefused(f"This cannot be undone, so type the whole name: {one.key}.")
    return one


def split_assistant(text: str, usage: str) -> tuple[Any, str]:
    """Return the assistant that the first words name, and the words after them. Raises CommandRefused.

    When there is only one assistant, its name may be left out before a number.
    """
    words = text.split()
    if not words or (len(creation.assistants()) == 1 and words[0].isdigit()):
        return find_assistant("", usage), text
    for size in range(len(words), 1, -1):
        try:
            return find_assistant(" ".join(words[:size]), usage), " ".join(words[size:])
        except CommandRefused:
            continue
    return find_assistant(words[0], usage), " ".join(words[1:])


def runner_of(character: Any) -> AssistantRunner:
    """Return the runner of a character. Raises CommandRefused when it does not run, ServiceNotRunning."""
    server.service()
    runner = server.runner_of(character)
    if runner is None:
        raise CommandRefused(f"{character.key} is not running. Start it with: assistant/start {character.key}")
    return runner


def awake_assistant(character: Any) -> Assistant:
    """Return the awake assistant of a character. Raises CommandRefused with the reason when it is not awake."""
    runner = runner_of(character)
    if runner.assistant is None:
        why = f": {runner.trouble}" if runner.trouble else ""
        raise CommandRefused(
            f"{character.key} is not awake yet ({runner.state}{why}). See: assistant/status {character.key}"
        )
    return runner.assistant
