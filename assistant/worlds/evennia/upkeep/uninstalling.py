"""Takes everything of ours out of a game, so that the line in its settings can be removed."""

from __future__ import annotations

from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB

from assistant.worlds.evennia import creation, server
from assistant.worlds.evennia.accounts import AssistantAccount
from assistant.worlds.evennia.characters import AssistantCharacter
from assistant.worlds.evennia.console.showing import count_of
from assistant.worlds.evennia.install import APP
from assistant.worlds.evennia.scripts import AssistantScript
from assistant.worlds.evennia.stored import forget_all
from assistant.worlds.evennia.upkeep import account_cmdsets

#: The line that the owner removes afterwards.
LINE = "from assistant.worlds.evennia.install import install; install(globals())"


async def uninstall(*, forget: bool = False) -> str:
    """Delete every object of ours in the game's database; say what was deleted and what the owner has left to do.

    With `forget`, what the assistants remember is deleted too. Until the line is removed, the game's next start gives
    every account our commands again.
    """
    journal = server.service().config.journal if server.is_open() else None
    there = creation.assistants()
    for character in there:
        await creation.delete_assistant(character, forget=forget)
    left = _leftovers()
    for thing in left:
        thing.delete()
    forget_all()
    account_cmdsets.take_from_all()
    files = f" Then delete {journal} and the files beside it of the same name." if journal else ""
    return (
        f"Deleted: {count_of(len(there), 'assistant')} and {count_of(len(left), 'other object')} of mud-assistant. Now "
        f"remove this line from server/conf/settings.py and reload the game: {LINE}{files}"
    )


def _leftovers() -> list[Any]:
    """Return objects of our types: characters without a script, scripts without a character, and accounts."""
    found: list[Any] = []
    for model, kind in ((ScriptDB, AssistantScript), (ObjectDB, AssistantCharacter), (AccountDB, AssistantAccount)):
        ours = model.objects.filter(db_typeclass_path__startswith=f"{APP}.")
        found += [thing for thing in ours if isinstance(thing, kind)]
    return found
