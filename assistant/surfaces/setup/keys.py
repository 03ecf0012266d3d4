"""Asks where a key is kept, and lets a key that is entered anew go to a new server.

A key is kept in a file of its own, in the environment, or in the keyring; never in the settings. The journal remembers
the old server of a key, so it is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mud_assistant.assistant.checks.journal import bindings
from mud_assistant.assistant.config.known_providers import usual_key_variable
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal import JournalError, OpeningRefused, ReadOnly
from mud_assistant.assistant.keys.binding import KeyBinding, Voided, binding_state
from mud_assistant.assistant.keys.redaction import MIN_CHARS, Secrets
from mud_assistant.assistant.keys.reference import MAX_BYTES, anchor, check_reference, key_sources
from mud_assistant.assistant.models.bound_keys import BoundKeys, bindings_of
from mud_assistant.assistant.runtime.opening import WantedJournal, kept_journal
from mud_assistant.assistant.surfaces.setup.dialogue import Dialogue
from mud_assistant.assistant.surfaces.setup.writing import NewKey, SettingsDraft
from mud_assistant.resilience import DeadlineExceeded
from mud_assistant.resilience.background import in_daemon_thread

#: The folder of key files: beside the settings, closed to all other users.
FOLDER = "keys"
_SECONDS = 60.0
#: What other processes that share the journal call the set-up while it writes.
_NAME = "mud-assistant setup"


async def reference(dialogue: Dialogue, draft: SettingsDraft, secrets: Secrets, name: str, current: str) -> str:
    """Ask where the key of `name` is kept, and return the reference. An entered key is added to draft and secrets."""
    ways = _ways(current)
    way = await dialogue.choice(f"Where is the key of {name} kept?", ways, ways[0])
    if way == "keep":
        return current
    if way == "env":
        where = await _variable(dialogue, draft, name)
    elif way == "keyring":
        where = await _entry(dialogue, draft, secrets, name)
    else:
        where = await _file(dialogue, draft, secrets, name)
    draft.entered.add(where)
    return where


def _ways(current: str) -> list[str]:
    """Return the ways to keep a key on this system, the best first."""
    ways = ["keep"] if current else []
    if hasattr(os, "geteuid"):
        ways.append("file")
    ways.append("env")
    if find_spec("keyring") is not None:
        ways.append("keyring")
    return ways


async def _variable(dialogue: Dialogue, draft: SettingsDraft, name: str) -> str:
    def check(answer: str) -> str:
        try:
            check_reference(f"env:{answer}")
        except KeyReferenceError:
            raise ValueError("give the name of the environment variable, not the key") from None
        return answer

    variable = await dialogue.checked("The name of the variable", check, usual_key_variable(name))
    if not draft.environment.get(variable, "").strip():
        dialogue.tell(f"  It is not set here. Set it where the assistant starts: export {variable}=...")
    return f"env:{variable}"


async def _file(dialogue: Dialogue, draft: SettingsDraft, secrets: Secrets, name: str) -> str:
    path = draft.folder / FOLDER / name
    where = f"file:{FOLDER}/{name}"
    if path.exists() and not await dialogue.yes(f"{path} is there already; replace it?", proposed=False):
        return where
    draft.keys[where] = NewKey(await _entered(dialogue, secrets, name), path)
    return where


async def _entry(dialogue: Dialogue, draft: SettingsDraft, secrets: Secrets, name: str) -> str:
    entry = await dialogue.text("The name of the keyring's entry", name)
    where = f"keyring:{entry}"
    draft.keys[where] = NewKey(await _entered(dialogue, secrets, name), entry=entry)
    return where


async def _entered(dialogue: Dialogue, secrets: Secrets, name: str) -> str:
    """Ask for a key, typed or pasted. No error message repeats it."""

    def check(answer: str) -> str:
        if not answer.isascii() or " " in answer:
            raise ValueError("a key is one word of plain characters")
        if not MIN_CHARS <= len(answer) <= MAX_BYTES:
            raise ValueError(f"a key has from {MIN_CHARS} to {MAX_BYTES} characters")
        secrets.add(answer)
        return answer

    return await dialogue.secret(f"The key of {name} (it is not shown)", check)


# Any: the reactor as clock and as what other threads call into.
async def rebind(
    reactor: Any, wall: Callable[[], float], folder: Path, config: Config, entered: Collection[str]
) -> None:
    """Let the keys of these references go to the servers of the present settings.

    Leaves a journal that cannot be used as it is.
    """
    wanted = bindings_of(config, folder)
    entered = {anchor(reference, folder) for reference in entered}
    file = folder / config.journal.file if config.journal.file else None
    if not entered or (file is not None and not await _is_void(reactor, wall, file, wanted, entered)):
        return
    try:
        journal, _ = kept_journal(WantedJournal(config.journal, file, _NAME, config.memory.language), reactor, wall)
        await journal.unlock(key_sources(reactor, os.environ, folder, Secrets()))
    except (JournalError, KeyReferenceError):  # the doctor will report it
        return
    try:
        if isinstance(await journal.open(), OpeningRefused | ReadOnly):
            return
        keys = BoundKeys(await journal.bindings.load())
        keys.admit(wanted, entered)
        await journal.bindings.remember(keys.remembered)
    except JournalError:  # the doctor will report this too
        return
    finally:
        await journal.close()


# Any: as above.
async def _is_void(
    reactor: Any, wall: Callable[[], float], file: Path, wanted: Sequence[KeyBinding], entered: Collection[str]
) -> bool:
    """Tell whether the journal in this file keeps one of the entered keys from its new server."""
    try:
        known = await in_daemon_thread(reactor, _SECONDS, partial(bindings, file, wall()))
    except DeadlineExceeded:  # the doctor will report it
        return False
    states = [binding_state(each.reference, each.origin, known) for each in wanted if each.reference in entered]
    return any(isinstance(state, Voided) for state in states)
