"""READ FIRST: one run, from the events that woke the assistant to a named outcome.

    perceive -> ask the model -> write its answer down -> run its calls -> append the results -> ask again, or be done

Whatever happens becomes an Outcome. Nothing that failed becomes content: no error text enters the stream the model
sees, and none is spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.events.outcome import (
    Answered,
    Cancelled,
    Failed,
    Limit,
    LimitReached,
    NothingToDo,
    Outcome,
    settles,
)
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.journal import InterruptedStep, JournalError
from mud_assistant.assistant.loop.acting import act, keep_said, outcome_of, outcome_without_words
from mud_assistant.assistant.loop.asking import ask, next_payer
from mud_assistant.assistant.loop.lateness import unanswered_outcome
from mud_assistant.assistant.loop.perception import perceive
from mud_assistant.assistant.loop.recovery import SAY, Early, RecoveredAnswer
from mud_assistant.assistant.loop.resuming import act_unasked, open_run
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.llm import BudgetReached, ContextOverflow, LLMDeadlineExceeded, LLMError
from mud_assistant.tools import NOTHING_YET

_log = Logger()


async def react(context: RunContext, on_more: Callable[[], None] = lambda: None) -> Outcome:
    """Deal with what is in the inbox. Return the outcome once it and every step are journalled.

    A run that an earlier process left open is resumed first, where it stopped. `on_more` is called when events of the
    inbox still wait for a run of their own. Raises only what the journal raises. Cancelling it gives the outcome
    Cancelled.
    """
    opened = await open_run(context, on_more)
    if opened is None:
        return NothingToDo()
    run, left = opened
    try:
        outcome = await _think(context, run, left)
    except CancelledError:
        outcome = Cancelled()
    except LLMDeadlineExceeded:
        outcome = LimitReached(Limit.TIME)
    except LLMError as error:
        outcome = Failed(context.body.scrub(str(error)), getattr(error, "retry_at", None), lasting=not error.retryable)
    except JournalError:
        raise
    except Exception as error:  # noqa: BLE001  (a bug of ours: logged, named, and counted by the tick)
        _log.failure("run {run} of {name} crashed", run=run.id, name=context.body.me.name)
        outcome = Failed(f"internal error ({type(error).__name__})", bug=True)
    return await _end(context, run, outcome)


async def _think(context: RunContext, run: Run, left: Sequence[InterruptedStep]) -> Outcome:
    """Take steps until the assistant answered, has nothing to do, or reached a limit. The steps `left` come first."""
    await perceive(context, run)
    if (unanswered := unanswered_outcome(context, run, left)) is not None:
        return unanswered
    if (outcome := await act_unasked(context, run, left)) is not None:
        return outcome
    while (limit := run.meter.reached()) is None:
        try:
            outcome = await _step(context, run)
        except ContextOverflow as overflow:
            _log.warn("the prompt of {name} was too long: {why}", name=context.body.me.name, why=overflow.message)
            if not context.model.window.shrink(overflow, run):
                return Failed(context.model.window.too_small(overflow.limit), lasting=True)
        except BudgetReached as spent:
            if (reached := await next_payer(context.speech, run, spent)) is not None:
                return reached
        else:
            if outcome is not None:
                return outcome
    return LimitReached(limit)


async def _step(context: RunContext, run: Run) -> Outcome | None:
    """Ask the model once, record its answer and act on it. Return the outcome when that ends the run."""
    await run.writes.done()
    started = context.process.clock.seconds()
    context.body.observer.thinking(run.id, run.meter.steps + 1)
    asked = await ask(context, run)
    if asked is None:
        return outcome_without_words(run)
    early = run.early.said
    times = (context.process.clock.seconds() - started, early.at - started if early and early.at is not None else None)
    prompt_tokens, response = asked.prompt_tokens, asked.response
    run.meter.count_step(response.usage, prompt_tokens)
    run.write_answer(response)
    if (turn := context.process.scheduler.step()) is not None:
        await turn
    executed = await act(context, run, RecoveredAnswer(response, response.tool_calls, NOTHING_YET), prompt_tokens)
    step = run.meter.steps
    seconds = context.process.clock.seconds() - started
    record = context.model.client.record.calls
    context.body.observer.step(
        StepTrace(run.id, step, len(asked.prompt), prompt_tokens, response, executed, seconds, record, *times)
    )
    return outcome_of(run, executed)


async def _end(context: RunContext, run: Run, outcome: Outcome) -> Outcome:
    """Record the outcome with all the run added to the stream. A cancelled run waits to be resumed.

    A run that spoke before its answer broke off counts as answered: starting again would say it twice. So does a run
    that began an approved call and then failed.
    """
    name, memory = context.body.me.name, context.memory
    if run.early.state is not Early.NOTHING and not isinstance(outcome, Answered | Cancelled):
        _log.warn("{name}: only the beginning of {run} was said: {how}", name=name, run=run.id, how=outcome)
        outcome = Answered((SAY,))
    if run.granted is not None and run.granted.is_begun and isinstance(outcome, Failed):
        _log.warn("{name}: {run} did what was approved and said nothing: {how}", name=name, run=run.id, how=outcome)
        outcome = Answered((run.granted.pending.tool,))
    if run.is_impulse and run.trigger is not None:
        context.memory.reasons.end(run.trigger.event.id, done=isinstance(outcome, Answered))
        outcome = _unasked_outcome(context, run, outcome)
    run.writes.check()  # a run that could not be written down stays open, and is taken up again
    if isinstance(outcome, Cancelled):
        await memory.journal.suspend_run(run.id)
    else:
        keep_said(memory.history, run)
        memory.history.saved(
            await memory.journal.close_run(run.id, outcome, memory.history.changes(), run.progress.goals)
        )
        if run.progress.goals:
            memory.goals.put(run.progress.goals)
    context.speech.waking.over(run.events)
    context.speech.talk.ended(run.askers, is_settled=settles(outcome))
    context.body.observer.run_ended(run.id, outcome)
    await run.writes.done()
    return outcome


def _unasked_outcome(context: RunContext, run: Run, outcome: Outcome) -> Outcome:
    """Return the outcome of an impulse. It is not tried again, and nobody is told that it failed."""
    if isinstance(outcome, LimitReached) or (isinstance(outcome, Failed) and not outcome.bug):
        _log.info("{name} had no impulse in {run}: {how}", name=context.body.me.name, run=run.id, how=outcome)
        return NothingToDo("nobody asked for it")
    return outcome
