"""Offers impulses to one character, and limits what an impulse may do: speak, look, gesture, and what its owner names.

What a model chose on its own counts for nobody's word. The deeds that the owner names (`[assistant] autonomous`) are
the owner's word, and no more than that: what a player said, or a text that is trusted less, lowers them as ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.language.words import listed
from mud_assistant.assistant.life.impulses import (
    FIRST_PAUSE,
    IMPULSE,
    IMPULSE_TOOLS,
    LONGEST_PAUSE,
    OTHERS_PAUSE,
    ImpulseSigns,
    ImpulseVerdict,
    decide,
    next_pause,
    soonest,
)
from mud_assistant.assistant.life.life_state import LastImpulse, LifeState, StoredLife
from mud_assistant.assistant.loop.recovery import MAYBE_HEARD
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Category, Executed, PolicyConfig, Registry, Tool
from mud_assistant.tools.policy.decide import NOT_RUN, PolicyRule
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.trust import ContextTrust, rank

#: Added to the line that tells a character of an impulse, where its owner names deeds.
MAY_ALSO = " Your owner also lets you do one of these of your own accord: {deeds}."
#: The tools that no owner can name: any command of the game is no named deed, and whom it follows is for people to say.
NEVER_NAMED = frozenset({"execute_command", "follow"})
#: Why a deed was done, and why one was not.
NAMED, NOT_NAMED = "its owner lets it", "its owner names no such deed"
_MAX_REASON = 200


def may_be_named(tool: Tool) -> bool:
    """Tell whether an owner can let an assistant use this tool of its own accord: what changes the game."""
    return tool.category is Category.DANGEROUS and tool.name not in NEVER_NAMED


def check_autonomous(settings: AssistantConfig, registry: Registry, grant: frozenset[str]) -> None:
    """Raise SettingsError for a deed that it is to do of its own accord, and that no owner can name, or is not granted.

    Where tools could not be loaded, the name may be one of those, and counts for nothing until it is there.
    """
    deeds = [name for name in registry.names() if (tool := registry.get(name)) is not None and may_be_named(tool)]
    for name in settings.autonomous:
        if name not in deeds and not registry.lacks:
            raise SettingsError(
                f"assistant.autonomous: '{name}' is no deed to name; those there are: {', '.join(deeds)}"
            )
        if name in deeds and name not in grant:
            raise SettingsError(f"assistant.autonomous: '{name}' is not granted; name it in assistant.tools as well")


def own_deeds(context: RunContext) -> frozenset[str]:
    """Return the tools that the owner lets it use of its own accord; none where its model has no impulses."""
    return frozenset() if context.is_asked_plainly else context.rules.grant & frozenset(context.settings.autonomous)


def rules_of_impulse(context: RunContext, event_id: str) -> PolicyConfig:
    """Return the rules for an impulse: what it may do, whatever is granted beside. It asks nobody for leave."""
    rules, own = context.rules, own_deeds(context)
    not_now = partial(context.memory.reasons.why_stopped, event_id)
    return replace(rules, grant=rules.grant & (IMPULSE_TOOLS | own), approvals=None, owners_word=own, not_now=not_now)


def note_deed(context: RunContext, trust: ContextTrust, executed: Executed) -> None:
    """Keep why a deed of an impulse was done or not. What it says and sees has the reason of the impulse itself."""
    name, is_done = executed.call.name, executed.status in MAYBE_HEARD
    if name in IMPULSE_TOOLS and executed.rule not in NOT_RUN:
        return
    what = " ".join([name, *(str(value) for value in executed.call.arguments.values() if name not in IMPULSE_TOOLS)])
    why = NAMED if is_done else executed.result.text
    if executed.rule == PolicyRule.NOT_GRANTED:
        why = NOT_NAMED
    elif executed.rule == PolicyRule.NEEDS_APPROVAL:
        why = f"what it had in view counts for {rank(trust.level)}: {trust.because()}".rstrip(": ")
    now, why = context.process.clock.seconds(), one_line(why, max_chars=_MAX_REASON)
    context.memory.reasons.note(now, one_line(what, max_chars=_MAX_REASON), why, taken=is_done)


class ImpulseOffers:
    """When one character may have an impulse. The pause after the last one lasts over a restart."""

    __slots__ = ("_acted", "_context", "_has_budget", "_keep", "_pause", "next_at")

    def __init__(
        self, context: RunContext, stored: StoredLife, launcher: Launcher, has_budget: Callable[[], bool]
    ) -> None:
        self._context, self._has_budget = context, has_budget
        self._keep = partial(_keep, stored, launcher)
        last, now = stored.state.impulse, context.process.clock.seconds()
        #: When it acted last, in clock seconds, and how long it waits since then for an impulse.
        self._acted = -math.inf if last is None else now - max(0.0, stored.wall() - last.at)
        self._pause = FIRST_PAUSE if last is None else min(max(FIRST_PAUSE, last.pause), LONGEST_PAUSE)
        #: When it is worth looking again, in clock seconds.
        self.next_at = 0.0

    @property
    def text(self) -> str:
        """The line that tells the character of an impulse."""
        deeds = sorted(own_deeds(self._context))
        return IMPULSE + MAY_ALSO.format(deeds=listed(deeds, "or")) if deeds else IMPULSE

    def answered(self) -> None:
        """Take note that a person spoke: the next pause is short again."""
        if self._pause != FIRST_PAUSE:
            self._pause = FIRST_PAUSE
            self._keep(self._context.process.clock.seconds() - self._acted, FIRST_PAUSE)

    def acted(self, now: float) -> None:
        """Take note that the character said or did something."""
        self._acted = now

    def had(self, now: float) -> None:
        """Take note that it has an impulse: the pause to the next one is longer."""
        self._acted, self._pause = now, next_pause(self._pause)
        self._keep(0.0, self._pause)

    def decide(self, now: float, spoken: float, held: str) -> ImpulseVerdict:
        """Return whether it has an impulse now. `spoken` is when somebody last spoke; `held` says why it has none."""
        context = self._context
        floor, claim = context.process.floor, ("impulse", context.body.where())
        is_free = floor is None or floor.is_free(claim, context.body.me.id)
        signs = ImpulseSigns(now, True, spoken, self._acted, self._pause, self._has_budget(), is_free, held)
        self.next_at = soonest(signs)
        verdict = decide(signs, context.process.pipeline.random)
        if verdict.taken and floor is not None:
            floor.claim(claim, context.body.me.id, OTHERS_PAUSE)
        return verdict


def _keep(stored: StoredLife, launcher: Launcher, ago: float, pause: float) -> None:
    """Write down that an impulse was so many seconds ago, and how long the pause after it is."""
    last = LastImpulse(stored.wall() - ago, pause)

    def change(state: LifeState) -> LifeState:
        return replace(state, impulse=last)

    launcher.launch(stored.keep("when a character last had an impulse", change), "keeping when it had an impulse")
