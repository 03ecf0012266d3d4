"""What the model may do: the tool contract, registry, policy, dispatch and the game's verbs. No loop, no prompt."""

from tools.clean import clean_heard, clean_speech, one_line
from tools.context import Kind, Person, Principal, Scene, Thing, ToolContext, World
from tools.dispatch import Dispatcher, EffectLog
from tools.errors import ToolError, ToolFailed, ToolRetry
from tools.notes import Added, MemoryNotes, Note, Notes
from tools.policy import Allowed, Decision, Refused, decide
from tools.registry import Registry
from tools.result import Executed, Status
from tools.tool import Answer, Arguments, Category, NoArguments, Tool
from tools.wrapping import acted, spoken

__all__ = [
    "Added",
    "Allowed",
    "Answer",
    "Arguments",
    "Category",
    "Decision",
    "Dispatcher",
    "EffectLog",
    "Executed",
    "Kind",
    "MemoryNotes",
    "NoArguments",
    "Note",
    "Notes",
    "Person",
    "Principal",
    "Refused",
    "Registry",
    "Scene",
    "Status",
    "Thing",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolFailed",
    "ToolRetry",
    "World",
    "acted",
    "clean_heard",
    "clean_speech",
    "decide",
    "one_line",
    "spoken",
]
