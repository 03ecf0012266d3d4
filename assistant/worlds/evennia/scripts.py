"""The script that makes a character an assistant: it holds the assistant's settings and starts it.

It has no timer. Evennia's own timers stay dead after a crash of the Server, and do not wait for what they began.
"""

from __future__ import annotations

from typing import Any

from evennia.scripts.scripts import DefaultScript
from evennia.utils.dbserialize import deserialize

from assistant.worlds.evennia import runners, server

#: The one Attribute: the tables of settings that differ from the game's. Keys are in it only as references.
OVERRIDES = "overrides"
#: The script's tag while the assistant is switched off, through any restart, until it is started again.
OFF = "off"
CATEGORY = "mud_assistant"


class AssistantScript(DefaultScript):  # type: ignore[misc]  # Evennia has no types
    """The life of one assistant. Deleting it ends that life, and leaves the character as an empty shell."""

    def at_script_creation(self) -> None:
        """In a running game, start the assistant in the next turn of the reactor, however the script was made."""
        self.desc = "The life of an AI character (mud-assistant)."
        server.soon(self.at_server_start)

    def at_server_start(self) -> None:
        """Start the assistant. Evennia calls this at every start and reload, and after a crash as well."""
        if self.pk and self.obj is not None:
            runners.begin(self.obj)

    def at_script_delete(self) -> bool:
        """Stop the assistant; what it remembers stays in the journal."""
        if self.obj is not None:
            runners.end_soon(self.obj)
        return True

    @property
    def overrides(self) -> dict[str, Any]:
        """The settings of this assistant that differ from the game's, as plain tables."""
        return dict(deserialize(self.attributes.get(OVERRIDES)) or {})

    @overrides.setter
    def overrides(self, tables: dict[str, Any]) -> None:
        self.attributes.add(OVERRIDES, tables)

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


def script_of(character: Any) -> AssistantScript | None:
    """Return the script of an assistant's character, None when it has none."""
    if not character.pk:
        return None
    found = [script for script in character.scripts.all() if isinstance(script, AssistantScript)]
    return found[0] if found else None
