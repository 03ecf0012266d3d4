"""Does what an operator asks for by the page: the verbs of operations, with the values that the page shows."""

from __future__ import annotations

import orjson

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.ports import InvalidInput, NotFound, Visitor
from mud_assistant.assistant.page.values.actions import ActionDone, ApprovalDecision, ApprovalView
from mud_assistant.assistant.service.operations import approving, life, players
from mud_assistant.assistant.service.operations.approving import Decision, covered_text
from mud_assistant.tools import Pending, Principal
from mud_assistant.tools.policy.approvals import Approvals, digest_of
from mud_assistant.tools.trust import rank

_LASTS = ("once", "hour")


def stop(sources: Sources, who: Visitor, assistant: str) -> ActionDone:
    """Stop an assistant, or all for "": in memory at once; then the world is told to keep them off. Raises NotFound."""
    ids = [assistant] if assistant else list(sources.service.runners)
    halted = life.halt(sources.there, who, ids)
    for id_ in ids:
        sources.launcher.launch(life.keep_off(sources.there, id_), f"keeping {id_} off")
    return ActionDone(sentence=halted.sentence, was=halted.was)


async def forget_player(sources: Sources, who: Visitor, player: str) -> ActionDone:
    """Delete what every running assistant keeps of a player. Raises NotFound and JournalError."""
    if not player:
        raise NotFound("say which player")
    whom = Principal(player, (await sources.host.names([player])).get(player, player))
    return ActionDone(sentence=await players.forget_everywhere(sources.there, who, whom))


async def examine(sources: Sources, assistant: str) -> list[Finding]:
    """Look for what is wrong with an assistant, or with all that run. May take a minute. Raises NotFound."""
    found = list(await sources.host.findings())
    runners = [sources.there.runner(assistant)] if assistant else list(sources.service.runners.values())
    of_runners: list[Finding] = []
    for runner in runners:
        await sources.service.doctor(runner, of_runners.append)
    return found + list(dict.fromkeys(of_runners))


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
    """Allow or refuse a request, if it is still the call that the visitor saw. Raises what `approving.decide` raises.

    Raises Unavailable and NotFound besides.
    """
    if decision.lasts not in _LASTS:
        raise InvalidInput(f"lasts must be one of: {', '.join(_LASTS)}")
    meant = Decision(decision.allow, decision.digest, decision.lasts == "hour")
    return ActionDone(sentence=approving.decide(sources.there.awake(assistant), who, number, meant))


def standing(sources: Sources, *, is_hidden: bool) -> list[ApprovalView]:
    """Return what was allowed for an hour, as approvals with `approved_by`."""
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
    name = sources.there.find(assistant).name
    return ActionDone(sentence=approving.revoke(_of(sources, assistant), name, who, number))


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
