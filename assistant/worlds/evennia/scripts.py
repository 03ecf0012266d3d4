"""The script that makes a character an assistant: it holds the assistant's settings and starts it.

It has no timer. Evennia's own timers stay dead after a crash of the Server, and do not wait for what they began.
"""

from __future__ import annotations

from evennia.scripts.scripts import DefaultScript

from mud_assistant.assistant.worlds.evennia import runners, server
from mud_assistant.assistant.worlds.evennia.stored import ScriptSettings


class AssistantScript(ScriptSettings, DefaultScript):  # type: ignore[misc]  # Evennia has no types
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
