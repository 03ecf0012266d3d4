"""Makes approved calls, and tells players of calls that wait for leave or were not made.

An approved call is made once for the player who asked, or both they and the one who approved it are told why it was
not made.
"""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from mud_assistant.assistant.journal import InterruptedStep
from mud_assistant.assistant.loop.acting import act, answer_by_rule
from mud_assistant.assistant.loop.recovery import RecoveredAnswer, left_of
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.run_parts import CharacterBody
from mud_assistant.llm import ToolCall
from mud_assistant.tools import Executed, Pending, Principal, Requirement, Status, ToolContext, ToolError
from mud_assistant.tools.policy.binding import difference, find_requirement
from mud_assistant.tools.policy.decide import NOT_RUN, PolicyRule, level_of
from mud_assistant.tools.policy.session import VOID
from mud_assistant.tools.text.clean import one_line

#: Longest reason that a player is shown, in characters.
_MAX_REASON = 300
#: What a player is told whose wish waits for leave: one who could do it themselves, and any other.
WAITS_OR_THEMSELVES = "I had better ask leave for that: I do it as soon as I have it, unless you do it yourself."
WAITS_OR_ASK = "I must ask those who look after this place first: I do it as soon as they let me, if you can wait."
#: Why an approved call is not made that the policy forbids by now.
NOT_ANY_MORE = "it may not be done any more"


async def make_granted(context: RunContext, run: Run) -> None:
    """Make the approved call of the run as its first step. No model is asked whether it still wants to."""
    granted = run.granted
    if granted is None or granted.is_begun or run.trigger is None:
        return
    call = ToolCall(run.trigger.event.id, granted.pending.tool, granted.pending.arguments)
    await act_on_granted(context, run, answer_by_rule(run, call))


async def act_on_granted(context: RunContext, run: Run, answer: RecoveredAnswer) -> tuple[Executed, ...]:
    """Run the approved call, with its approval. The players who asked and approved are told when it was not done."""
    granted = run.granted
    assert granted is not None  # else there is no such step
    granted.is_begun = granted.is_being_made = True
    try:
        executed = await act(context, run, answer, 0)
    finally:
        granted.is_being_made = False
    for done in executed:
        if done.status is not Status.DONE:
            tell_void(context.body, granted.pending, _reason_of(done))
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
    tool = context.tools.registry.get(given.tool)
    if tool is None:
        return "there is no such tool any more"
    call = ToolCall("", given.tool, given.arguments)
    around = ToolContext(context.body.me, context.body.world, context.memory.memories, given.requester)
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


def request_text(name: str, pending: Pending, world_text: int = 1) -> str:
    """Say to the player who asked that the call waits for leave, and what they can do. Why is not for their ears."""
    can = level_of(pending.requester, world_text) >= pending.permission
    return f'{name} tells you, "{WAITS_OR_THEMSELVES if can else WAITS_OR_ASK}"'


def tell_void(body: CharacterBody, pending: Pending, why: str, but: Principal | None = None) -> None:
    """Tell the players who asked and approved that the call was not done, in one sentence.

    `but` is left out, because they know it already.
    """
    reason = one_line(why, max_chars=_MAX_REASON).rstrip(".")
    name, asked, decided = body.me.name, pending.requester, pending.approved_by
    told: dict[str, tuple[Principal, str]] = {}
    if asked is not None:
        told[asked.id] = asked, f"{name} did not do what you wanted: {reason}. You can ask for it again."
    if decided is not None:
        told[decided.id] = decided, f"{name} did not do what was asked for as number {pending.number}: {reason}."
    for who, sentence in told.values():
        if but is None or who.id != but.id:
            body.notify(who, sentence)


def _reason_of(done: Executed) -> str:
    """Return why an approved call was not made, for people: what the game said, or what has changed."""
    if done.rule == PolicyRule.APPROVAL_VOID:
        return done.result.text.removeprefix(VOID.partition("{")[0]).rpartition(". ")[0]
    return NOT_ANY_MORE if done.rule in NOT_RUN else done.result.text
