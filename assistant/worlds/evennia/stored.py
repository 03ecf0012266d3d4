"""What the game's database keeps of ours: settings made in the game, each assistant's own, accounts' command sets.

Settings of the whole game, such as its budget, are plain tables on top of `assistant.toml`, in Evennia's ServerConfig.
Those of an assistant are on its script. A key is never among them, only its reference. The command sets of each
account are stored with it: ours is given to all, and taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from django.conf import settings
from django.db.models import Value
from django.db.models.functions import Replace
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.utils.dbserialize import deserialize

from mud_assistant.assistant.config.settings import with_new_names
from mud_assistant.assistant.worlds.evennia.install import APP, CMDSET

#: The name under which the settings are stored.
KEY = "mud_assistant_settings"
#: The name under which is stored which account was told of which trouble.
KEPT_ALERTS = "mud_assistant_alerts"
#: The name under which are stored the search providers that were in use when the web was switched off.
KEPT_SEARCH = "mud_assistant_search_before"
#: The one Attribute: the tables of settings that differ from the game's. Keys are in it only as references.
OVERRIDES = "overrides"
#: The Attribute with what an assistant's own settings said of who it is, while it plays a character instead.
LAID_ASIDE = "laid_aside"
#: The script's tag while the assistant is switched off, through any restart, until it is started again.
OFF = "off"
#: The category of our tags: of such a script, and of an account, whose tag names its character.
CATEGORY = "mud_assistant"

#: Where our classes were in the version before, as the rows of a game may name them.
FORMER_APP = "assistant.worlds.evennia"


def rename_paths() -> None:
    """Name our classes in the database by where they are now. Called before Evennia has read a row that names one."""
    fields = ((ObjectDB, "typeclass_path"), (ScriptDB, "typeclass_path"), (AccountDB, "typeclass_path"))
    for model, field in (*fields, (ObjectDB, "cmdset_storage"), (AccountDB, "cmdset_storage")):
        rows = model.objects.filter(**{f"db_{field}__contains": f"{FORMER_APP}."})
        present = Replace(f"db_{field}", Value(f"{FORMER_APP}."), Value(f"{APP}."))
        rows.exclude(**{f"db_{field}__contains": f"{APP}."}).update(**{f"db_{field}": present})


class ScriptSettings:
    """The settings of one assistant, on the script of its character. For a typeclass of Evennia's scripts."""

    # Any: Evennia has no types.
    attributes: Any
    tags: Any

    @property
    def overrides(self) -> dict[str, Any]:
        """The settings of this assistant that differ from the game's, as plain tables."""
        return with_new_names(deserialize(self.attributes.get(OVERRIDES)) or {})

    @overrides.setter
    def overrides(self, tables: dict[str, Any]) -> None:
        self.attributes.add(OVERRIDES, tables)

    @property
    def laid_aside(self) -> dict[str, Any]:
        """The fields of its own settings that are laid aside while it plays a character."""
        return dict(deserialize(self.attributes.get(LAID_ASIDE)) or {})

    @laid_aside.setter
    def laid_aside(self, fields: dict[str, Any]) -> None:
        if fields:
            self.attributes.add(LAID_ASIDE, fields)
        else:
            self.attributes.remove(LAID_ASIDE)

    @property
    def is_off(self) -> bool:
        """Whether the assistant was switched off."""
        return bool(self.tags.has(OFF, category=CATEGORY))

    @is_off.setter
    def is_off(self, off: bool) -> None:
        if off:
            self.tags.add(OFF, category=CATEGORY)
        else:
            self.tags.remove(OFF, category=CATEGORY)


def script_settings_of(character: Any) -> ScriptSettings | None:
    """Return the script of an assistant's character as its settings, None when it has none."""
    if not character.pk:
        return None
    found = [script for script in character.scripts.all() if isinstance(script, ScriptSettings)]
    return found[0] if found else None


def game_overrides() -> dict[str, Any]:
    """Return the tables as they were last stored."""
    kept = read_stored(KEY)
    return dict(kept) if isinstance(kept, Mapping) else {}


def read_stored(key: str) -> Any:
    """Return what is stored under a name as plain lists and tables, None when nothing is."""
    return deserialize(ServerConfig.objects.conf(key))


def keep_game_overrides(overrides: Mapping[str, Any]) -> None:
    """Store these tables in place of those before. With no tables, the stored value is deleted."""
    if overrides:
        ServerConfig.objects.conf(KEY, deepcopy(dict(overrides)))
    else:
        ServerConfig.objects.conf(KEY, delete=True)


def last_search_providers() -> list[str]:
    """Return the search providers that were in use when the web was switched off; empty when it never was."""
    kept = read_stored(KEPT_SEARCH)
    return [str(name) for name in kept] if isinstance(kept, list) else []


def keep_last_search_providers(names: list[str]) -> None:
    """Store the search providers in use for when the web is switched on again."""
    ServerConfig.objects.conf(KEPT_SEARCH, names)


def forget_all() -> None:
    """Delete everything of ours in the game's database that belongs to no object."""
    for key in (KEY, KEPT_ALERTS, KEPT_SEARCH):
        if ServerConfig.objects.conf(key) is not None:
            ServerConfig.objects.conf(key, delete=True)


#: Under this name Evennia stores which set accounts had at the last start.
_KNOWN = "CMDSET_ACCOUNT"


def game_cmdset() -> str:
    """Return the path of the set that accounts have without our commands."""
    return str(getattr(settings, "MUD_ASSISTANT_CMDSET_ACCOUNT", settings.CMDSET_ACCOUNT))


def give_commands_to_all() -> None:
    """Give our set also to accounts with further sets: Evennia itself changes only those with just the game's own."""
    _replace(game_cmdset(), CMDSET)


def take_commands_from_all() -> None:
    """Give every account the game's own set back, as if ours had never been there.

    While our line is still in the settings, the next start gives our set out again.
    """
    _replace(CMDSET, game_cmdset())
    ServerConfig.objects.conf(_KNOWN, game_cmdset())


def _replace(old: str, new: str) -> None:
    """Replace one set by another in each account's list, at the same place."""
    for account in _holders(old):
        paths = [new if path == old else path for path in account.cmdset_storage]
        account.cmdset_storage = paths
        account.cmdset.update(init_mode=True)


def _holders(path: str) -> list[Any]:
    return [
        account
        for account in AccountDB.objects.filter(db_cmdset_storage__contains=path)
        if path in account.cmdset_storage
    ]
