"""Everything the model may do: tool contract, registry, policy, dispatch and the game's verbs. No loop, no prompt.

Read `execution/dispatch.py` first. Whether a call may happen is decided in `policy/decide.py`.
"""

from mud_assistant.tools.context import Pending, Requirement, ToolContext
from mud_assistant.tools.errors import Status, ToolError, ToolFailed, ToolRetry, Unheard
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.game import GameCommand, Person, Scene, Target, Thing, World, Written
from mud_assistant.tools.memories import KeptMemory, Memories, Memory, MemoryKind, Recalled
from mud_assistant.tools.policy.approvals import Approvals, Declined, Denied, Given
from mud_assistant.tools.policy.config import EffectLimits, PolicyConfig
from mud_assistant.tools.policy.decide import Allowed, Authority, Decision, NeedsApproval, Refused, decide
from mud_assistant.tools.policy.repetition import Repetition
from mud_assistant.tools.result import NOTHING_YET, Begun, EffectLog, Executed, Past
from mud_assistant.tools.text.clean import clean_heard, clean_speech, one_line
from mud_assistant.tools.text.lenient import strip_actor_name, strip_speech_label
from mud_assistant.tools.tool import Answer, Arguments, Category, Labelled, NoArguments, Reach, Registry, Tool
from mud_assistant.tools.trust import TOP, Audience, ContextTrust, Kind, Label, Principal, Source, label_of

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
