"""What becomes of a model's answer: its calls are run and answered, and the answer goes to the stream with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.journal import Journal
from assistant.mind import Mind, Run
from assistant.outcome import Answered, NothingToDo, Outcome
from assistant.plain_text import call_for_text
from llm import LLMResponse, ToolCall, tool_results
from llm import assistant as assistant_message
from tools import Category, Executed, Status, ToolContext

#: Goes with the result of a read that the run has made before.
REPEATED = "You know this already: answer now with say."
#: A speaking call that ended like this may have been heard, so it is not tried again.
_MAYBE_HEARD = {Status.DONE, Status.TIMED_OUT, Status.CRASHED}


async def act(mind: Mind, run: Run, response: LLMResponse, prompt_tokens: int) -> tuple[Executed, ...]:
    """Run every call of the answer, in order, and append the answer with its results to the stream."""
    calls, message = response.tool_calls, response.message
    if not calls and (call := _text_as_call(mind, run, response)) is not None:
        calls, message = (call,), assistant_message(call)
    run.nudge = not calls
    if not calls:
        run.meter.count_format(wrong=True)
        return ()
    context = ToolContext(mind.me, mind.world, mind.notes, run.requester, run.id)
    executed = await run.dispatcher.answer_all(calls, context, log=_Written(mind.journal, run))
    run.meter.count_format(wrong=any(done.status is Status.FORMAT_ERROR for done in executed))
    results = [done.result for done in executed]
    advice = run.meter.advice(prompt_tokens, mind.model.context_tokens)
    if advice := advice or (REPEATED if _repeats(run, executed) else ""):
        results[-1] = replace(results[-1], text=f"{results[-1].text}\n({advice})")
    mind.history.acted((message, tool_results(results)))
    return executed


def _repeats(run: Run, executed: Sequence[Executed]) -> bool:
    """Whether every call of the step is a read that this run has made before; the answer would be the same."""
    asked = {f"{done.call.name} {done.call.arguments}" for done in executed if done.category is Category.SAFE_CHAIN}
    is_new = len(asked) < len({done.call.id for done in executed}) or bool(asked - run.reads)
    run.reads |= asked
    return not is_new


def _text_as_call(mind: Mind, run: Run, response: LLMResponse) -> ToolCall | None:
    """The call that plain text stands for under the owner's setting."""
    trigger = run.trigger
    return call_for_text(
        response.content,
        mind.settings.plain_text,
        trigger.event if trigger else None,
        addressed=trigger is not None and trigger.attention.addressed,
        call_id=f"{run.id}.{run.meter.steps}.text",
    )


def outcome_of(executed: Sequence[Executed]) -> Outcome | None:
    """How the run ends when a step spoke; None to go on."""
    acts = [done.call.name for done in executed if done.category is Category.TERMINAL and done.status in _MAYBE_HEARD]
    if not acts:
        return None
    spoken = tuple(name for name in acts if name != "noop")
    return Answered(spoken) if spoken else NothingToDo()


@dataclass(frozen=True, slots=True)
class _Written:
    """Writes an intent before each call and its result after it."""

    journal: Journal
    run: Run

    async def intent(self, index: int, call: ToolCall) -> None:
        """The call is about to run."""
        await self.journal.record_intent(self.run.id, self.run.meter.steps, index, call)

    async def done(self, index: int, executed: Executed) -> None:
        """The call is over."""
        await self.journal.record_result(self.run.id, self.run.meter.steps, index, executed)
