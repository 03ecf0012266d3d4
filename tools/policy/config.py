"""The owner's decisions about one assistant, as the dispatcher needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from mud_assistant.tools.context import Pending
from mud_assistant.tools.policy.approvals import Approvals
from mud_assistant.tools.policy.repetition import Repetition


class EffectLimits(Struct, frozen=True):
    """How much one run, and one step of it, may do; `same` is how often it may do exactly the same thing."""

    calls: int = 20
    spoken: int = 3
    network: int = 6
    changes: int = 1
    same: int = 1
    step_calls: int = 8


#: The limits of an assistant whose owner set no others.
USUAL_LIMITS = EffectLimits()


class PolicyConfig(Struct, frozen=True):
    """The policy for one assistant; `docs/policy.md` explains each.

    `grant` is the names of the tools it may use. `denied` are commands that nobody can allow, in addition to those in
    DENIED (`tools/policy/decide.py`). `required_permission` replaces that of a tool, by its name. `world_text` is
    the level of the game's own texts. `approvals` and `repetition` live as long as the assistant; without `approvals`
    nothing can be approved. `on_request` is called with each new request for an approval.

    `owners_word` names the tools that the owner lets it use of its own accord: in a run that nobody asked for, the
    owner counts as who asks for them. `not_now` is asked before each call; what it returns is why the call is not made.
    """

    grant: frozenset[str]
    limits: EffectLimits = field(default_factory=EffectLimits)
    denied: frozenset[str] = frozenset()
    required_permission: Mapping[str, int] = field(default_factory=dict)
    world_text: int = 1
    approvals: Approvals | None = None
    repetition: Repetition = field(default_factory=Repetition)
    on_request: Callable[[Pending], None] = lambda _: None
    owners_word: frozenset[str] = frozenset()
    not_now: Callable[[], str] | None = None
