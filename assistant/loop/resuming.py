"""Opens a run, new or left open by an earlier process, and does what it has to do before the model is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.events.events import Noticed, audience_of
from mud_assistant.assistant.events.outcome import Failed, NothingToDo, Outcome
from mud_assistant.assistant.journal import Accepted, InterruptedRun, InterruptedStep
from mud_assistant.assistant.loop.acting import act, carry_out, outcome_of
from mud_assistant.assistant.loop.asking import discreet
from mud_assistant.assistant.loop.called_away import who_is_away
from mud_assistant.assistant.loop.choosing import is_impulse, of_one_run
from mud_assistant.assistant.loop.delegating import look_into
from mud_assistant.assistant.loop.dropping import say_instead, take_back
from mud_assistant.assistant.loop.granted import act_on_granted, is_granted_step, make_granted
from mud_assistant.assistant.loop.impulse_offers import note_deed, rules_of_impulse
from mud_assistant.assistant.loop.keeping import asker_now, given_up
from mud_assistant.assistant.loop.recovery import MAYBE_HEARD, BegunSpeech, RecoveredAnswer, left_of
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.spending import Meter, RunLimits
from mud_assistant.assistant.loop.unasked import act_by_rule, look_up_first
from mud_assistant.assistant.loop.writing import Writes
from mud_assistant.resilience import Deadline
from mud_assistant.tools import ContextTrust, Dispatcher
from mud_assistant.tools.trust import Audience
from mud_assistant.tools.web.cite import WebTurn

#: How often the model is asked at most because of an impulse: to look, and to do something.
IMPULSE_STEPS = 2
#: The outcome of a run that the death of the process cut off three times. Its events are parked.
POISONED = Failed("it was cut off by a crash of the game for the third time, and what woke it is put aside")

_log = Logger()


async def open_run(context: RunContext, on_more: Callable[[], None]) -> tuple[Run, Sequence[InterruptedStep]] | None:
    """Open a run for what is in the inbox, and return it with the steps that an earlier process recorded.

    A run that an earlier process left open comes first. `on_more` is called when events of the inbox still wait:
    because such a run comes first, or because some of them need a run of their own. Return None when there is nothing
    to deal with. Raises JournalError.
    """
    if (left := await _left_open(context)) is not None:
        context.memory.history.rewind()
        on_more()
    waiting = left.events if left else await context.memory.journal.pending()
    events = left.events if left else of_one_run(waiting, context.speech.talk)
    if not events and left is None:
        return None
    if len(events) < len(waiting):
        on_more()
    settings, tools, clock = context.settings, context.tools, context.process.clock
    limits = RunLimits(settings.max_steps, settings.run_seconds, settings.max_run_tokens, settings.max_format_errors)
    rules = context.rules
    impulse = ""
    for heard in events:  # not a function: this is in every run
        if isinstance(heard.event, Noticed) and heard.event.of_itself:
            impulse = heard.event.id
    if impulse and is_impulse(events):
        limits = replace(limits, max_steps=min(limits.max_steps, IMPULSE_STEPS))
        rules = rules_of_impulse(context, impulse)
    deadline = Deadline.after(clock, settings.run_seconds, settings.run_total_seconds)
    meter, trust = Meter(limits, deadline), ContextTrust(audience=_only(events))
    dispatcher = Dispatcher(tools.registry, rules, clock, deadline, trust, scrub=context.body.scrub)
    run_id = left.id if left else await context.memory.journal.open_run(events)
    web = WebTurn(tools.seen, focused=bool(context.model.config.search_first))
    run = Run(run_id, events, meter, dispatcher, trust, web, Writes(context.memory.journal, run_id))
    if rules is not context.rules:
        run.progress.on_executed = partial(note_deed, context, trust)
    if "delegate" in rules.grant:
        run.progress.look_into = partial(look_into, context, run)
    return run, left.steps if left else ()


def _only(events: Sequence[Accepted]) -> Audience:
    """Return who may be told of what a run by rule is there for, None for everybody."""
    return next((audience_of(heard.event) for heard in events if heard.event.by_rule is not None), None)


async def _left_open(context: RunContext) -> InterruptedRun | None:
    """Return the run to resume. Close a run that was cut off three times, without acting on it, and park its events."""
    while (left := await context.memory.journal.interrupted()) is not None and left.poisoned:
        _log.error("{name}: {run} is given up: {why}", name=context.body.me.name, run=left.id, why=POISONED.cause)
        goals = given_up(context, left.events)
        await context.memory.journal.close_run(left.id, POISONED, goals=goals)
        context.memory.goals.put(goals)
    return left


async def act_unasked(context: RunContext, run: Run, left: Sequence[InterruptedStep]) -> Outcome | None:
    """Do what needs no model: the steps that are `left`, a call by rule, an approved call.

    Return None when the model is to be asked afterwards.
    """
    by_rule = run.by_rule
    is_goal = by_rule is not None and bool(by_rule.goal)
    if left and is_goal and (asker := run.requester) is not None:  # with no right when they are gone
        run.progress.acts_for = asker_now(context, asker) or replace(asker, permission=0)
    taken_back = "" if context.memory.goals.is_empty else take_back(context, run)
    outcome = await _take_up(context, run, left)
    if outcome is not None and not is_goal:  # what became of a goal is concluded below
        return outcome
    if by_rule is not None:
        return await act_by_rule(context, run, by_rule)
    if run.is_impulse and run.trigger is not None and not context.memory.reasons.holds(run.trigger.event.id):
        return NothingToDo("the moment for its impulse is over")
    if run.granted is not None:
        await make_granted(context, run)
    words = taken_back or who_is_away(context, run)
    if words and not run.progress.written and (said := await say_instead(context, run, words)) is not None:
        return said
    await look_up_first(context, run)
    return None


async def _take_up(context: RunContext, run: Run, left: Sequence[InterruptedStep]) -> Outcome | None:
    """Act on the steps that an earlier process recorded. Return the outcome when one of them ended the run.

    What was said early is part of the whole answer when that was recorded too, and else all there is of it.
    """
    for place, past in enumerate(left, 1):
        answer, run.progress.written = _left_of(context, past), past.number
        if not answer.response.is_beginning:
            run.meter.take_up(run.meter.steps + 1, answer.response.usage)
        elif place < len(left):
            if answer.past:  # else it was refused, and the whole answer was, or will be, acted on
                await _recall(context, run, answer)
            continue
        is_granted = is_granted_step(run, past)
        executed = await (act_on_granted(context, run, answer) if is_granted else act(context, run, answer, 0))
        outcome = outcome_of(run, executed)
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
    [executed] = await carry_out(context, run, run.progress.written, answer.calls, answer.past)
    if executed.status in MAYBE_HEARD:
        run.early.begin(BegunSpeech(str(executed.call.arguments["text"]), answer.response.message, executed))
