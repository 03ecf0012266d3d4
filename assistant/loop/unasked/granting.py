"""Handles a call that was approved: makes it once for the player who asked, or tells both why it was not made."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from assistant.journal import InterruptedStep
from assistant.loop.acting import act, answer_by_rule
from assistant.loop.recovery import RecoveredAnswer, left_of
from assistant.loop.run import Run
from assistant.loop.run_context import RunContext
from llm import ToolCall
from tools import Executed, Pending, Principal, Requirement, Status, ToolContext, ToolError
from tools.policy.binding import difference, find_requirement
from tools.text.clean import one_line
from tools.trust import rank

#: Longest reason that a player is shown, in characters.
_MAX_REASON = 300
#: Longest text of a call that the player who asked is shown; the approver sees it whole.
_MAX_SHOWN = 200


async def make_granted(context: RunContext, run: Run) -> None:
    """Make the approved call of the run as its first step. No model is asked whether it still wants to."""
    granted = run.granted
    if granted is None or run.granted_begun or run.trigger is None:
        return
    call = ToolCall(run.trigger.event.id, granted.tool, granted.arguments)
    await act_on_granted(context, run, await answer_by_rule(context, run, call))


async def act_on_granted(context: RunContext, run: Run, answer: RecoveredAnswer) -> tuple[Executed, ...]:
    """Run the approved call, with its approval. The players who asked and approved are told when it was not done."""
    run.granted_begun = run.making_granted = True
    try:
        executed = await act(context, run, answer, 0)
    finally:
        run.making_granted = False
    if run.granted is not None:
        for done in executed:
            if done.status is not Status.DONE:
                tell_void(context, run.granted, done.result.text)
    return executed


def is_granted_step(run: Run, step: InterruptedStep) -> bool:
    """Tell whether an earlier process began the approved call of the run in this step."""
    if run.granted is None or run.trigger is None or step.number != 1:
        return False
    return any(call.id == run.trigger.event.id for call in left_of(step).calls)


def why_void(context: RunContext, given: Pending) -> str:
    """Say why the approved call is no longer what was asked for, without a full stop; empty when it still is.

    When the game needs time to tell, the answer is empty: the run looks again.
    """
    tool = context.registry.get(given.tool)
    if tool is None:
        return "there is no such tool any more"
    call = ToolCall("", given.tool, given.arguments)
    around = ToolContext(context.me, context.world, context.notes, given.requester)
    looking = Deferred.fromCoroutine(find_requirement(tool, call, around))
    found: list[Requirement | Failure] = []
    looking.addBoth(found.append)
    if not found:
        looking.cancel()
        return ""
    now = found[0]
    if isinstance(now, Requirement):
        return difference(given.requirement, now)
    if now.check(ToolError, CancelledError) is None:
        now.raiseException()
    return one_line(str(now.value), max_chars=_MAX_REASON).rstrip(".")


def request_text(name: str, pending: Pending) -> str:
    """Say to the player who asked that the call waits for an approval: whose, why, and how that can be lifted."""
    what = one_line(pending.shown, max_chars=_MAX_SHOWN)
    who = rank(pending.permission)
    asks = f"{name} asks leave for what you want (number {pending.number}: {what}); {who} may allow it."
    return f"{asks} {pending.because}".rstrip()


def tell_void(context: RunContext, pending: Pending, why: str, but: Principal | None = None) -> None:
    """Tell the players who asked and approved that the call was not done, in one sentence.

    `but` is left out, because they know it already.
    """
    reason = one_line(why, max_chars=_MAX_REASON).rstrip(".")
    sentence = f"{context.me.name} did not do what was asked for as number {pending.number}: {reason}."
    told = {who.id: who for who in (pending.requester, pending.approved_by) if who is not None}
    for who in told.values():
        if but is None or who.id != but.id:
            context.notify(who, sentence)
