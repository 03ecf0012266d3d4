"""The verbs of the game, one file each."""

from tools.tool import Tool
from tools.verbs.emote import EMOTE
from tools.verbs.execute_command import EXECUTE_COMMAND
from tools.verbs.handling import DROP, GIVE, TAKE
from tools.verbs.inspect import INSPECT
from tools.verbs.look import LOOK
from tools.verbs.move import MOVE
from tools.verbs.noop import NOOP
from tools.verbs.page import PAGE
from tools.verbs.recall import RECALL
from tools.verbs.remember import REMEMBER
from tools.verbs.say import SAY
from tools.verbs.speak_on import CHANNEL
from tools.verbs.walking import FOLLOW, HOME, STAY
from tools.verbs.whisper import WHISPER
from tools.verbs.who import WHO

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
