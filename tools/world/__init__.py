"""The verbs of the game, one file each."""

from tools.tool import Tool
from tools.world.emote import EMOTE
from tools.world.inspect import INSPECT
from tools.world.look import LOOK
from tools.world.move import MOVE
from tools.world.noop import NOOP
from tools.world.recall import RECALL
from tools.world.remember import REMEMBER
from tools.world.say import SAY
from tools.world.whisper import WHISPER
from tools.world.who import WHO

#: Every game verb, in the order a model reads them: small models favour what comes first.
WORLD_TOOLS: tuple[Tool, ...] = (SAY, LOOK, INSPECT, EMOTE, WHISPER, MOVE, WHO, REMEMBER, RECALL, NOOP)

__all__ = [
    "EMOTE",
    "INSPECT",
    "LOOK",
    "MOVE",
    "NOOP",
    "RECALL",
    "REMEMBER",
    "SAY",
    "WHISPER",
    "WHO",
    "WORLD_TOOLS",
]
