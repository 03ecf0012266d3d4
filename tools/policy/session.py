"""Counts what one run has done and seen, and decides from that what it may do next."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import assert_never

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import Requirement, ToolContext
from mud_assistant.tools.errors import Status
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.policy.decide import (
    OWNER,
    Allowed,
    Decision,
    NeedsApproval,
    PolicyRule,
    Refused,
    SoFar,
    authority_of,
    base_permission,
    decide,
    explain_lack,
)
from mud_assistant.tools.policy.repetition import act_of
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.tool import Category, Tool
from mud_assistant.tools.trust import TOP, ContextTrust, Kind, Principal, Source, clamp_level

#: What the model is told when an approval no longer covers what it was given for.
VOID = "Not done: the approval is void, because {why}. {tell}."
#: What the model is told of a call that waits for an approval, and of one that no approval allows.
NOT_YET = "Not done yet: you may not do this by yourself, and have asked leave for it."
NOT_YOU = "Not done: you may not do this now."
#: What it is told of a call in a run that nobody asked for and that is not to go on.
STOPPED = "Not done: {why}. Do nothing more."
#: What it is told to do, of its own accord, when it may not do what it chose.
ELSE = "Do something else, or nothing."
#: What the requester can do then.
THEMSELVES, ASK_THEM = "they can do it themselves", "they can ask those who look after this place"
#: The statuses of effects that happened, or may have.
_MAYBE = frozenset({Status.DONE, Status.TIMED_OUT, Status.CRASHED, Status.UNKNOWN})


class PolicySession:
    """The counts of ONE run, and what it has in view, under an assistant's policy."""

    def __init__(self, config: PolicyConfig, trust: ContextTrust) -> None:
        self.config = config
        self.trust = trust
        self._calls = 0
        self._by_category: defaultdict[Category, int] = defaultdict(int)
        self._acts: defaultdict[str, int] = defaultdict(int)

    def ask(
        self, decision: Decision, call: ToolCall, tool: Tool, requirement: Requirement, context: ToolContext
    ) -> Allowed | Refused:
        """Return whether the call, as it was just judged, may happen. Use up an approval it needs, or ask for one.

        An allowed call is counted at once, because reads run together.
        """
        match decision:
            case Refused():
                return decision
            case NeedsApproval():
                decision = self._approved(call, tool, requirement, context)
            case Allowed():
                if context.granted is not None:
                    decision = self._unless_void(requirement, context, decision)
            case _:
                assert_never(decision)
        if isinstance(decision, Allowed):
            self.count_begun(tool)
        return decision

    def judge(self, place: int, call: ToolCall, tool: Tool, requirement: Requirement, context: ToolContext) -> Decision:
        """Return what the policy says of the call now, and count nothing.

        `place` is within its step. The arguments of `call` are the checked ones.
        """
        config, trust = self.config, self.trust
        if config.not_now is not None and (why := config.not_now()):
            return Refused(STOPPED.format(why=why), PolicyRule.NOT_NOW)
        level = max(trust.min_level, trust.shown_from)  # not the property: this is in every call of a run
        requester = OWNER if tool.name in config.owners_word else context.requester
        return decide(
            tool,
            requirement,
            authority_of(context.actor, requester, level, config.world_text),
            grant=config.grant,
            denied=config.denied,
            limits=config.limits,
            so_far=self._so_far(place, call, tool, context.requester),
        )

    def lacks_trust(self, tool: Tool, actor: Principal, requester: Principal | None) -> int:
        """Return the level that any call of the tool needs, when only the texts in view deny it; 0 otherwise."""
        config, need = self.config, self.requirement_of(tool).permission
        if tool.name not in config.grant or (tool.category is Category.DANGEROUS and self.has_changed):
            return 0
        requester = OWNER if tool.name in config.owners_word else requester
        authority = authority_of(actor, requester, self.trust.level, config.world_text)
        return need if authority.trust < need <= min(authority.actor, authority.requester) else 0

    def count_looked_up(self) -> None:
        """Count that what a call acts on is looked up, because it needs an approval, as a call."""
        self._calls += 1

    def count_begun(self, tool: Tool) -> None:
        """Count an allowed call that begins."""
        self._calls += 1
        if tool.category is Category.ASYNC_REQUIRED:
            self._by_category[tool.category] += 1

    def count_ended(self, call: ToolCall, tool: Tool, status: Status) -> None:
        """Count an allowed call that is over, if its effect happened or may have."""
        if not _counts(tool) or status not in _MAYBE:
            return
        act = act_of(call.name, call.arguments)
        self._by_category[tool.category] += 1
        self._acts[act] += 1
        self.config.repetition.note(act)

    @property
    def spoken(self) -> int:
        """How often the run has spoken or acted visibly."""
        return self._by_category[Category.TERMINAL]

    @property
    def has_changed(self) -> bool:
        """Whether the run has changed the game, or may have."""
        return self._by_category[Category.DANGEROUS] > 0

    def goes_on(self, call: ToolCall, tool: Tool) -> None:
        """Note that the act that ended last only began `call`: its next part is counted in place of this one.

        The whole call is noted as done too, because it is never seen in one piece elsewhere.
        """
        self._calls -= 1
        self._by_category[tool.category] -= 1
        if not self.config.repetition.has(act := act_of(call.name, call.arguments)):
            self.config.repetition.note(act)

    def requirement_of(self, tool: Tool, found: Requirement | None = None) -> Requirement:
        """Return what a call of the tool needs at least, with what was found out about this one."""
        least = clamp_level(base_permission(tool, self.config.required_permission))
        return Requirement(least) if found is None else replace(found, permission=max(found.permission, least))

    def level(self, tool: Tool | None, status: Status, told: int | None) -> int:
        """Return the level of a result's text.

        `told` is the level that the tool or the world gave its answer, None when it gave none. A text of the game never
        counts for more than the game's own texts, whoever wrote it.
        """
        if tool is None or status in {Status.REFUSED, Status.FORMAT_ERROR}:
            return TOP
        if tool.category is Category.ASYNC_REQUIRED:
            return 0  # the author of the answer is unknown here
        if status is Status.FAILED:
            names = TOP if told is None else clamp_level(told)
            return min(self._level_of(tool.source), self._level_of(Source.WORLD), names)
        if status is not Status.DONE:
            return TOP
        if told is None:
            return self._level_of(tool.source)
        return (
            min(clamp_level(told), self._level_of(Source.WORLD)) if tool.source is Source.WORLD else clamp_level(told)
        )

    def _level_of(self, source: Source) -> int:
        """Return the level of the answers of a tool with this source."""
        match source:
            case Source.OPERATOR:
                return TOP
            case Source.WORLD:
                return clamp_level(self.config.world_text)
            case Source.WEB | Source.MEMORY | Source.ASSISTANT | Source.PLAYER:
                return 0
            case _:
                assert_never(source)

    def _so_far(self, place: int, call: ToolCall, tool: Tool, requester: Principal | None) -> SoFar:
        act = act_of(call.name, call.arguments) if _counts(tool) else ""
        return SoFar(
            place=place,
            calls=self._calls,
            spoken=self._by_category[Category.TERMINAL],
            network=self._by_category[Category.ASYNC_REQUIRED],
            changes=self._by_category[Category.DANGEROUS],
            same=self._acts.get(act, 0),
            echo=requester is not None and requester.kind is Kind.ASSISTANT and self.config.repetition.has(act),
        )

    def _approved(
        self, call: ToolCall, tool: Tool, requirement: Requirement, context: ToolContext
    ) -> Allowed | Refused:
        """Use up the call's approval, or ask for one and refuse the call until then.

        The model often repeats a refusal word for word, so it reads nothing that is not for the requester's ears.
        """
        approvals, requester = self.config.approvals, context.requester
        authority = authority_of(context.actor, requester, self.trust.level, self.config.world_text)
        may_themselves = authority.requester >= requirement.permission
        if approvals is None:
            return Refused(_refusal(NOT_YOU, requester, may_themselves=may_themselves), PolicyRule.NEEDS_APPROVAL)
        if context.granted is not None or approvals.use(call, requirement, requester):
            return self._unless_void(requirement, context, Allowed(PolicyRule.APPROVED))
        if void := approvals.why_not(call, requirement, requester):
            return Refused(VOID.format(why=void, tell=_tell(requester)), PolicyRule.APPROVAL_VOID)
        why = explain_lack(authority, requirement, requester, self.trust, tool)
        is_new, pending = approvals.ask(call, requirement, requester, why)
        if is_new:
            self.config.on_request(pending)
        return Refused(_refusal(NOT_YET, requester, may_themselves=may_themselves), PolicyRule.NEEDS_APPROVAL)

    def _unless_void(self, requirement: Requirement, context: ToolContext, allowed: Allowed) -> Allowed | Refused:
        """Return `allowed`, or a refusal when the approval of the call no longer covers it.

        This holds also when the call no longer needs an approval: exactly what was approved is done, or nothing.
        """
        if context.granted is None or self.config.approvals is None:
            return allowed
        why = self.config.approvals.why_void(context.granted, requirement)
        if not why:
            return allowed
        return Refused(VOID.format(why=why, tell=_tell(context.requester)), PolicyRule.APPROVAL_VOID)


def _refusal(text: str, requester: Principal | None, *, may_themselves: bool) -> str:
    """Return what the model reads of a call that was not made, with what the requester can do."""
    if requester is not None and requester.kind is Kind.WORLD:
        return f"{text} {ELSE}"
    return f"{text} {_tell(requester)} so in your own words, and that {THEMSELVES if may_themselves else ASK_THEM}."


def _tell(requester: Principal | None) -> str:
    """Return the beginning of a sentence that says whom the model is to tell."""
    return f"Tell {one_line(requester.name, max_chars=60)}" if requester else "Say"


def _counts(tool: Tool) -> bool:
    """Tell whether doing the same again is a repeat. Reads and idle tools have no effect that could be repeated."""
    return not tool.category.reads and not tool.idle
