"""Everything the model may do: tool contract, registry, policy, dispatch and the game's verbs. No loop, no prompt.

Read `execution/dispatch.py` first. Whether a call may happen is decided in `policy/decide.py`.
"""

import warnings

from tools.context import Pending, Requirement, ToolContext
from tools.errors import Status, ToolError, ToolFailed, ToolRetry, Unheard
from tools.execution.dispatch import Dispatcher
from tools.game import GameCommand, Person, Scene, Target, Thing, World, Written
from tools.notes import Added, MemoryNotes, Note, Notes
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
    "clean_heard",
    "clean_speech",
    "decide",
    "label_of",
    "one_line",
    "strip_actor_name",
    "strip_speech_label",
]

#: Public names of the version before, understood for one release, and what they are called now.
_FORMER_NAMES = {
    "Caps": "EffectLimits",
    "Rules": "PolicyConfig",
    "Sight": "ContextTrust",
    "acted": "strip_actor_name",
    "spoken": "strip_speech_label",
}


def __getattr__(name: str) -> object:
    """Return what has this former name. Warns with the present name. Raises AttributeError for any other name."""
    if name not in _FORMER_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"tools.{name} is now called tools.{_FORMER_NAMES[name]}", DeprecationWarning, stacklevel=2)
    return globals()[_FORMER_NAMES[name]]
