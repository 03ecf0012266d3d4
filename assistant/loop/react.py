"""READ FIRST: one run, from the events that woke the assistant to a named outcome.

    perceive -> ask the model -> write its answer down -> run its calls -> append the results -> ask again, or be done

Whatever happens becomes an Outcome. Nothing that failed becomes content: no error text enters the stream the model
sees, and none is spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from assistant.events.outcome import Answered, Cancelled, Failed, Limit, LimitReached, NothingToDo, Outcome, settles
from assistant.events.trace import StepTrace
from assistant.journal import InterruptedRun, InterruptedStep, JournalError
from assistant.loop.acting import act, can_answer, carry_out, keep_said, outcome_of
from assistant.loop.asking import ask, discreet
from assistant.loop.billing import A_MINUTE
from assistant.loop.following import act_by_rule
from assistant.loop.granting import act_on_granted, is_granted_step, make_granted
from assistant.loop.limits import Meter, RunLimits
from assistant.loop.looking_up import look_up_first
from assistant.loop.perception import perceive
from assistant.loop.recovery import MAYBE_HEARD, SAY, RecoveredAnswer, RecoveredSpeech, left_of
from assistant.loop.run_context import Run, RunContext, of_one_run
from llm import (
    BudgetReached,
    ContextOverflow,
    LLMDeadlineExceeded,
    LLMError,
)
from resilience import Deadline
from tools import NOTHING_YET, ContextTrust, Dispatcher
from tools.web.cite import WebTurn

#: The outcome of a run that the death of the process cut off three times. Its events are parked.
POISONED = Failed("it was cut off by a crash of the game for the third time, and what woke it is put aside")

_log = Logger()


async def react(context: RunContext, on_more: Callable[[], None] = lambda: None) -> Outcome:
    """Deal with what is in the inbox. Return the outcome once it and every step are journalled.

    A run that an earlier process left open is resumed first, where it stopped. `on_more` is called when events of the
    inbox still wait: because such a run comes first, or because some of them need a run of their own. Raises only what
    the journal raises. Cancelling it gives the outcome Cancelled.
    """
    if (left := await _left_open(context)) is not None:
        context.history.rewind()
        on_more()
    waiting = left.events if left else await context.journal.pending()
    events = left.events if left else of_one_run(waiting, context.talk)
    if not events and left is None:
        return NothingToDo()
    if len(events) < len(waiting):
        on_more()
    settings = context.settings
    limits = RunLimits(settings.max_steps, settings.run_seconds, settings.max_run_tokens, settings.max_format_errors)
    meter = Meter(limits, Deadline.after(context.clock, settings.run_seconds, settings.run_total_seconds))
    trust = ContextTrust()
    dispatcher = Dispatcher(context.registry, context.rules, context.clock, meter.deadline, trust, scrub=context.scrub)
    run_id = left.id if left else await context.journal.open_run(events)
    run = Run(run_id, events, meter, dispatcher, trust, WebTurn(context.seen, focused=bool(context.model.search_first)))
    try:
        outcome = await _think(context, run, left.steps if left else ())
    except CancelledError:
        outcome = Cancelled()
    except LLMDeadlineExceeded:
        outcome = LimitReached(Limit.TIME)
    except LLMError as error:
        outcome = Failed(context.scrub(str(error)), getattr(error, "retry_at", None), lasting=not error.retryable)
    except JournalError:
        raise
    except Exception as error:  # noqa: BLE001  (a bug of ours: logged, named, and counted by the tick)
        _log.failure("run {run} of {name} crashed", run=run.id, name=context.me.name)
        outcome = Failed(f"internal error ({type(error).__name__})", bug=True)
    return await _end(context, run, outcome)


async def _left_open(context: RunContext) -> InterruptedRun | None:
    """Return the run to resume. Close a run that was cut off three times, without acting on it, and park its events."""
    while (left := await context.journal.interrupted()) is not None and left.poisoned:
        _log.error("{name}: {run} is given up: {why}", name=context.me.name, run=left.id, why=POISONED.cause)
        await context.journal.close_run(left.id, POISONED)
    return left


async def _end(context: RunContext, run: Run, outcome: Outcome) -> Outcome:
    """Record the outcome with all the run added to the stream. A cancelled run waits to be resumed.

    A run that spoke before its answer broke off counts as answered: starting again would say it twice. So does a run
    that began an approved call and then failed.
    """
    if run.spoke_early and not isinstance(outcome, Answered | Cancelled):
        _log.warn("{name}: only the beginning of {run} was said: {how}", name=context.me.name, run=run.id, how=outcome)
        outcome = Answered((SAY,))
    if run.granted is not None and run.granted_begun and isinstance(outcome, Failed):
        _log.warn("{name}: {run} did what was approved and said nothing of it: {how}", name=context.me.name, run=run.id,
                  how=outcome)  # fmt: skip
        outcome = Answered((run.granted.tool,))
    if isinstance(outcome, Cancelled):
        await context.journal.suspend_run(run.id)
    else:
        keep_said(context, run)
        context.history.saved(await context.journal.close_run(run.id, outcome, context.history.changes()))
    context.talk.ended(run.askers, is_settled=settles(outcome))
    context.observer.run_ended(run.id, outcome)
    return outcome


async def _think(context: RunContext, run: Run, left: Sequence[InterruptedStep]) -> Outcome:
    """Take steps until the assistant answered, has nothing to do, or reached a limit. The steps `left` come first."""
    await perceive(context, run)
    if run.trigger is None or not can_answer(context, run):
        return NothingToDo()
    if (outcome := await _without_asking(context, run, left)) is not None:
        return outcome
    while (limit := run.meter.reached()) is None:
        try:
            outcome = await _step(context, run)
        except ContextOverflow as overflow:
            _log.warn("the prompt of {name} was too long: {why}", name=context.me.name, why=overflow.message)
            if not context.window.shrink(overflow, run):
                return Failed(context.window.too_small(overflow.limit), lasting=True)
        except BudgetReached as spent:
            if not await _somebody_else_pays(context, run, spent):
                limit = Limit.RATE if spent.what == A_MINUTE else Limit.BUDGET
                return LimitReached(limit, spent.message, spent.account)
        else:
            if outcome is not None:
                return outcome
    return LimitReached(limit)


async def _without_asking(context: RunContext, run: Run, left: Sequence[InterruptedStep]) -> Outcome | None:
    """Do what needs no model: the steps that are `left`, a call by rule, an approved call.

    Return None when the model is to be asked afterwards.
    """
    if (outcome := await _take_up(context, run, left)) is not None:
        return outcome
    if (by_rule := run.by_rule) is not None:
        return await act_by_rule(context, run, by_rule)
    await make_granted(context, run)
    await look_up_first(context, run)
    return None


async def _step(context: RunContext, run: Run) -> Outcome | None:
    """Ask the model once, record its answer and act on it. Return the outcome when that ends the run."""
    started = context.clock.seconds()
    context.observer.thinking(run.id, run.meter.steps + 1)
    asked = await ask(context, run)
    if asked is None:
        return _done(run)
    prompt_tokens, response = asked.prompt_tokens, asked.response
    run.meter.count_step(response.usage, prompt_tokens)
    await context.journal.record_response(run.id, run.next_step(), response)
    if (turn := context.scheduler.step()) is not None:
        await turn
    executed = await act(context, run, RecoveredAnswer(response, response.tool_calls, NOTHING_YET), prompt_tokens)
    step = run.meter.steps
    seconds = context.clock.seconds() - started
    record = context.client.record.calls
    context.observer.step(
        StepTrace(run.id, step, len(asked.prompt), prompt_tokens, response, executed, seconds, record)
    )
    return outcome_of(run, executed)


async def _take_up(context: RunContext, run: Run, left: Sequence[InterruptedStep]) -> Outcome | None:
    """Act on the steps that an earlier process recorded. Return the outcome when one of them ended the run.

    What was said early is part of the whole answer when that was recorded too, and else all there is of it.
    """
    for place, past in enumerate(left, 1):
        answer, run.written = _left_of(context, past), past.number
        if not answer.response.is_beginning:
            run.meter.take_up(run.meter.steps + 1, answer.response.usage)
        elif place < len(left):
            if answer.past:  # else it was refused, and the whole answer was, or will be, acted on
                await _recall(context, run, answer)
            continue
        is_granted = is_granted_step(run, past)
        executed = await (act_on_granted(context, run, answer) if is_granted else act(context, run, answer, 0))
        outcome = outcome_of(run, executed)
        if answer.response.is_beginning:
            run.spoke_early = outcome is not None
        if outcome is not None:
            return outcome
    return None


def _left_of(context: RunContext, past: InterruptedStep) -> RecoveredAnswer:
    """Return the recorded step as an answer, without any key that an earlier version recorded."""
    answer = left_of(past)
    response = discreet(context, answer.response)
    return replace(answer, response=response, calls=response.tool_calls or answer.calls)


async def _recall(context: RunContext, run: Run, answer: RecoveredAnswer) -> None:
    """Count what an earlier process said early as said."""
    [executed] = await carry_out(context, run, run.written, answer.calls, answer.past)
    if executed.status in MAYBE_HEARD:
        run.said = RecoveredSpeech(str(executed.call.arguments["text"]), answer.response.message, executed)
        run.spoke_early = True


def _done(run: Run) -> Outcome:
    """Return the outcome of a run that acted without a word, or had nothing to do."""
    acts = tuple(done.call.name for done in run.executed if done.status in MAYBE_HEARD)
    return Answered(acts) if acts else NothingToDo()


async def _somebody_else_pays(context: RunContext, run: Run, spent: BudgetReached) -> bool:
    """Tell whether the run goes on for the next asker, because the budget of the one it was for is used up."""
    requester = run.requester
    if requester is None or spent.account != requester.id:
        return False
    run.goes_without(requester)
    if run.trigger is None:
        return False
    _log.warn("{cause}", log_event="budget", cause=spent.message)
    await (context.hurried if spent.what == A_MINUTE else context.tired).make()
    return True
