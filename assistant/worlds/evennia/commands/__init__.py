"""The commands of mud-assistant: `assistant` for admins, and the commands for every player."""

from __future__ import annotations

from typing import Any


def all_commands() -> list[type[Any]]:
    """Return the classes of all commands. Imports Evennia, so Django must be set up."""
    from mud_assistant.assistant.worlds.evennia.commands.assistant import CmdAssistant
    from mud_assistant.assistant.worlds.evennia.commands.players_wishes import WISH_COMMANDS
    from mud_assistant.assistant.worlds.evennia.commands.rights import PLAYER_COMMANDS

    return [CmdAssistant, *PLAYER_COMMANDS, *WISH_COMMANDS]
