"""Shows what assistants ask leave for, and lets a person decide: the exact call, once or for an hour."""

from __future__ import annotations

import orjson

from assistant.page.operations.sources import Sources, log_action
from assistant.page.ports import Conflict, InvalidInput, NotAllowed, NotFound, Visitor
from assistant.page.values.actions import ActionDone, ApprovalDecision, ApprovalView
from assistant.service.deciding import ONLY_ONCE, decided_text
from assistant.service.deciding import decide as decide_on
from assistant.service.wording.rights import covered_text
from tools import Denied, Pending
from tools.policy.approvals import Approvals, digest_of
from tools.trust import rank

_LASTS = ("once", "hour")
_GONE = "request {number} of {name} does not wait any more: it was decided, its time was over, or it has changed"


def approvals(sources: Sources, *, is_hidden: bool) -> list[ApprovalView]:
    """Return what waits for a decision, what expires first at the head."""
    now = sources.service.clock.seconds()
    found = [
        _view(id_, runner.embodiment.me.name, pending, now, is_hidden=is_hidden)
        for id_, runner in sources.service.runners.items()
        for pending in _of(sources, id_).pending()
    ]
    return sorted(found, key=lambda one: one.expires_in)


def decide(sources: Sources, who: Visitor, assistant: str, number: int, decision: ApprovalDecision) -> ActionDone:
    """Allow or refuse a request, if it is still the call that the visitor saw.

    Raises Conflict when it is not, NotAllowed when the visitor could not do it themselves, Unavailable and NotFound.
    """
    if decision.lasts not in _LASTS:
        raise InvalidInput(f"lasts must be one of: {', '.join(_LASTS)}")
    there, name = sources.awake(assistant), sources.find(assistant).name
    waiting = there.context.approvals
    asked = next((one for one in waiting.pending() if one.number == number), None)
    if asked is None or digest_of(asked) != decision.digest:
        raise Conflict(_GONE.format(number=number, name=name))
    if decision.allow and who.principal.permission < asked.permission:
        raise NotAllowed(f"only {rank(asked.permission)} or somebody above may allow this")
    lasts_an_hour = decision.allow and decision.lasts == "hour"
    answer = decide_on(there, number, who.principal, allow=decision.allow, for_an_hour=lasts_an_hour)
    if isinstance(answer, Denied):
        if answer.reason == ONLY_ONCE:
            raise InvalidInput(answer.reason)
        if waiting.waits(number):
            raise NotAllowed(answer.reason)
        raise Conflict(answer.reason)
    word = ("allows for an hour" if lasts_an_hour else "allows once") if decision.allow else "refuses"
    log_action(who, f"{word} request {number} of {name}, {asked.tool}")
    return ActionDone(sentence=decided_text(name, answer, for_an_hour=lasts_an_hour))


def standing(sources: Sources, *, is_hidden: bool) -> list[ApprovalView]:
    """Return what was allowed for an hour, as approvals whose `lasts` is hour."""
    now = sources.service.clock.seconds()
    return [
        ApprovalView(
            assistant=id_,
            name=runner.embodiment.me.name,
            number=one.number,
            tool=one.tool,
            shown="" if is_hidden else one.shown,
            arguments="",
            digest="",
            requester=one.requester.name,
            requester_id=one.requester.id,
            approved_by=one.approved_by.name,
            expires_in=max(0.0, one.expires_at - now),
        )
        for id_, runner in sources.service.runners.items()
        for one in _of(sources, id_).standing()
    ]


def revoke(sources: Sources, who: Visitor, assistant: str, number: int) -> ActionDone:
    """End what was allowed for an hour. Raises NotFound."""
    name = sources.find(assistant).name
    if not _of(sources, assistant).revoke(number):
        raise NotFound(f"nothing of number {number} is allowed to {name} for longer")
    log_action(who, f"ends what {name} may do as number {number}")
    return ActionDone(sentence=f"{name} must ask again for what it may do as number {number}.")


def _of(sources: Sources, assistant: str) -> Approvals:
    """Return what this assistant asks for; empty when it never ran."""
    return sources.service.parts.approvals.get(assistant) or Approvals(sources.service.clock.seconds)


def _view(assistant: str, name: str, pending: Pending, now: float, *, is_hidden: bool) -> ApprovalView:
    asker = pending.requester
    return ApprovalView(
        assistant=assistant,
        name=name,
        number=pending.number,
        tool=pending.tool,
        shown="" if is_hidden else covered_text(pending),
        arguments="" if is_hidden else orjson.dumps(pending.arguments, option=orjson.OPT_SORT_KEYS).decode(),
        digest=digest_of(pending),
        requester=asker.name if asker else "",
        requester_id=asker.id if asker else "",
        because="" if is_hidden else pending.because.removeprefix("Why: "),
        needs=rank(pending.permission),
        expires_in=max(0.0, pending.expires_at - now),
    )
