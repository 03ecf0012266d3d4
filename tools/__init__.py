"""Everything the model may do: tool contract, registry, policy, dispatch and the game's verbs. No loop, no prompt.

Read `execution/dispatch.py` first. Whether a call may happen is decided in `policy/decide.py`.
"""

from tools.context import Pending, Requirement, ToolContext
from tools.errors import Status, ToolError, ToolFailed, ToolRetry, Unheard
from tools.execution.dispatch import Dispatcher
from tools.game import GameCommand, Person, Scene, Target, Thing, World, Written
from tools.memories import KeptMemory, Memories, Memory, MemoryKind, Recalled
from tools.policy.approvals import Approvals, Declined, Denied, Given
from tools.policy.config import EffectLimits, PolicyConfig
from tools.policy.decide import Allowed, Authority, Decision, NeedsApproval, Refused, decide
from tools.policy.repetition import Repetition
from tools.result import NOTHING_YET, Begun, EffectLog, Executed, Past
from tools.text.clean import clean_heard, clean_speech, one_line
from tools.text.lenient import strip_actor_name, strip_speech_label
from tools.tool import Answer, Arguments, Category, Labelled, NoArguments, Reach, Registry, Tool
from tools.trust import TOP, Audience, ContextTrust, Kind, Label, Principal, Source, label_of

__all__ = [
    "NOTHING_YET",
    "TOP",
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
    "KeptMemory",
    "Kind",
    "Label",
    "Labelled",
    "Memories",
    "Memory",
    "MemoryKind",
    "NeedsApproval",
    "NoArguments",
    "Past",
    "Pending",
    "Person",
    "PolicyConfig",
    "Principal",
    "Reach",
    "Recalled",
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
    "clean_heard",
    "clean_speech",
    "decide",
    "label_of",
    "one_line",
    "strip_actor_name",
    "strip_speech_label",
]
