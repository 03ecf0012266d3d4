"""Everything the model may do: tool contract, registry, policy, dispatch and the game's verbs. No loop, no prompt.

Read `execution/dispatch.py` first. Whether a call may happen is decided in `policy/decide.py`.
"""

from tools.context import GameCommand, Kind, Person, Principal, Scene, Target, Thing, ToolContext, World, Written
from tools.errors import ToolError, ToolFailed, ToolRetry, Unheard
from tools.execution.dispatch import Dispatcher
from tools.execution.step import NOTHING_YET, EffectLog, Past
from tools.notes import Added, MemoryNotes, Note, Notes
from tools.policy.approvals import Approvals, Declined, Denied, Given, Pending
from tools.policy.config import PolicyConfig
from tools.policy.decide import Allowed, Authority, Decision, EffectLimits, NeedsApproval, Refused, Requirement, decide
from tools.policy.repetition import Repetition
from tools.policy.trust import TOP, Audience, ContextTrust, Label, Source, label_of
from tools.registry import Registry
from tools.result import Begun, Executed, Status
from tools.text.clean import clean_heard, clean_speech, one_line
from tools.text.wrapping import acted, spoken
from tools.tool import Answer, Arguments, Category, Labelled, NoArguments, Reach, Tool

__all__ = [
    "NOTHING_YET",
    "TOP",
    "Added",
    "Allowed",
    "Answer",
    "Approvals",
    "Arguments",
    "Audience",
    "Authority",
    "Begun",
    "Category",
    "ContextTrust",
    "Decision",
    "Declined",
    "Denied",
    "Dispatcher",
    "EffectLimits",
    "EffectLog",
    "Executed",
    "GameCommand",
    "Given",
    "Kind",
    "Label",
    "Labelled",
    "MemoryNotes",
    "NeedsApproval",
    "NoArguments",
    "Note",
    "Notes",
    "Past",
    "Pending",
    "Person",
    "PolicyConfig",
    "Principal",
    "Reach",
    "Refused",
    "Registry",
    "Repetition",
    "Requirement",
    "Scene",
    "Source",
    "Status",
    "Target",
    "Thing",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolFailed",
    "ToolRetry",
    "Unheard",
    "World",
    "Written",
    "acted",
    "clean_heard",
    "clean_speech",
    "decide",
    "label_of",
    "one_line",
    "spoken",
]
