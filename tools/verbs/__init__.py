"""The verbs of the game, grouped by what a character does with them: a new one is one file and one name below."""

from mud_assistant.tools.tool import Tool
from mud_assistant.tools.verbs.delegate import DELEGATE
from mud_assistant.tools.verbs.execute_command import EXECUTE_COMMAND
from mud_assistant.tools.verbs.handling import DROP, GIVE, TAKE
from mud_assistant.tools.verbs.looking import INSPECT, LOOK, WHO
from mud_assistant.tools.verbs.moving import FOLLOW, HOME, MOVE, STAY
from mud_assistant.tools.verbs.noop import NOOP
from mud_assistant.tools.verbs.remembering import RECALL, REMEMBER
from mud_assistant.tools.verbs.speaking import CHANNEL, EMOTE, PAGE, SAY, WHISPER

#: The verbs that change the game.
ACT_TOOLS: tuple[Tool, ...] = (MOVE, TAKE, DROP, GIVE, FOLLOW, STAY, HOME)

#: Every game verb, in the order a model reads them: small models favour what comes first.
WORLD_TOOLS: tuple[Tool, ...] = (SAY, LOOK, INSPECT, EMOTE, WHISPER, *ACT_TOOLS, WHO, REMEMBER, RECALL, NOOP)

#: The game's own commands, for models and owners that can be trusted with them. Apart from the others, because each
#: further tool makes the smallest models worse.
GAME_COMMAND_TOOLS: tuple[Tool, ...] = (EXECUTE_COMMAND,)
ALL_WORLD_TOOLS: tuple[Tool, ...] = (*WORLD_TOOLS, *GAME_COMMAND_TOOLS)

#: Speech beyond the room, for worlds in which the character can do that; not in ALL_WORLD_TOOLS.
ACCOUNT_TOOLS: tuple[Tool, ...] = (PAGE, CHANNEL)

__all__ = [
    "ACCOUNT_TOOLS",
    "ACT_TOOLS",
    "ALL_WORLD_TOOLS",
    "CHANNEL",
    "DELEGATE",
    "DROP",
    "EMOTE",
    "EXECUTE_COMMAND",
    "FOLLOW",
    "GAME_COMMAND_TOOLS",
    "GIVE",
    "HOME",
    "INSPECT",
    "LOOK",
    "MOVE",
    "NOOP",
    "PAGE",
    "RECALL",
    "REMEMBER",
    "SAY",
    "STAY",
    "TAKE",
    "WHISPER",
    "WHO",
    "WORLD_TOOLS",
]
