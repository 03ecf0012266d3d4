"""Acts on a model's answer: runs its calls and appends the answer and the results to the stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.events.events import ChannelSaid
from assistant.events.outcome import Answered, NothingToDo, Outcome
from assistant.loop.recovery import MAYBE_HEARD, SAY, RecoveredAnswer, Rest, rest_of, warn_of_unknown, whole_text
from assistant.loop.run_context import Run, RunContext
from assistant.loop.speech.manner import in_manner
from assistant.loop.speech.plain_text import answer_by, call_for_text
from llm import FinishReason, LLMResponse, ToolCall, Usage, tool_results
from llm import assistant as assistant_message
from tools import NOTHING_YET, Category, Executed, Past, Reach, Status, ToolContext
from tools.policy.trust import Audience, common
from tools.text.clean import one_line
from tools.text.names import plain

#: Added to the results of a step that told the run nothing new.
REPEATED = "You know this already: answer now with say."


async def act(mind: RunContext, run: Run, answer: RecoveredAnswer, prompt_tokens: int) -> tuple[Executed, ...]:
    """Run every call of the answer, in order, and append the answer with its results to the stream.

    Of a call that was begun early, only the rest is run. The stream shows it as one whole call.
    """
    calls, message = answer.calls, answer.response.message
    if not message.tool_calls:
        calls = _calls_of_text(mind, run, answer)
        message = assistant_message(*calls)
    if (fitting := _in_manner(mind, run, calls)) != calls:
        calls, message = fitting, assistant_message(*fitting)
    run.nudge = not calls
    if not calls:
        run.meter.count_format(wrong=True)
        return ()
    if run.said is None:
        run.went_on = False
        executed = await carry_out(mind, run, run.written, calls, answer.past)
    else:
        executed = await _go_on(mind, run, rest_of(calls, answer.past, run.said, answer.response.content), calls)
    warn_of_unknown(mind.me.name, run.id, executed)
    run.meter.count_format(wrong=any(done.status is Status.FORMAT_ERROR for done in executed))
    results = [done.result for done in executed]
    is_new = _is_new(run, executed)
    run.meter.count_progress(new=is_new)
    advice = run.meter.advice(prompt_tokens, mind.model.context_tokens)
    if advice := advice or ("" if is_new else REPEATED):
        results[-1] = replace(results[-1], text=f"{results[-1].text}\n({advice})")
    authority = min(done.authority for done in executed)
    audience, others_see = _audience(mind, run, executed)
    sources = run.people.union(*(done.sources for done in executed))
    mind.history.acted(
        (message, tool_results(results)),
        authority=authority,
        sources=sources,
        audience=audience,
        others_see=others_see,
    )
    run.said = None
    run.executed = executed
    return executed


async def answer_by_rule(mind: RunContext, run: Run, call: ToolCall) -> RecoveredAnswer:
    """Record a call that no model made as a step of its own, and return it as the answer to act on."""
    response = LLMResponse(assistant_message(call), FinishReason.TOOL_CALLS, Usage(), "", "")
    run.meter.count_step(response.usage, 0)
    await mind.journal.record_response(run.id, run.next_step(), response)
    return RecoveredAnswer(response, response.tool_calls, NOTHING_YET)


def _in_manner(mind: RunContext, run: Run, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Adapt each call to the manner in which the assistant was spoken to."""
    event = run.trigger.event if run.trigger else None
    is_here = event is not None and mind.world.hears(event.who)
    return tuple(in_manner(call, event, mind.rules.grant, mind.me.name, is_here=is_here) for call in calls)


def can_answer(mind: RunContext, run: Run) -> bool:
    """Tell whether the run can answer where it was spoken to. What was said in private is never answered aloud."""
    if run.hearers is None:
        return True
    event = run.trigger.event if run.trigger else None
    reaches = {Reach.CHANNEL} if isinstance(event, ChannelSaid) else {Reach.PERSON, Reach.NEARBY}
    granted = (mind.registry.get(name) for name in mind.rules.grant)
    return any(tool is not None and tool.heard_by in reaches for tool in granted)


def _audience(mind: RunContext, run: Run, executed: Sequence[Executed]) -> tuple[Audience, str]:
    """Return who may be told of a step, and what others see of it.

    Words said to one person are for that person only.
    """
    audience, others_see = run.sight.audience, []
    for done in executed:
        tool = mind.registry.get(done.call.name)
        if tool is None or done.status not in MAYBE_HEARD:
            continue
        target = str(done.call.arguments.get("target", ""))
        if tool.heard_by in {Reach.PERSON, Reach.NEARBY}:
            people = (heard.event.who for heard in run.events)
            audience = common(audience, frozenset(who.id for who in people if plain(who.name) == plain(target)))
            others_see.append(f"[You said something to {one_line(target, max_chars=60)} in private.]")
        elif tool.heard_by is Reach.CHANNEL and audience is not None:
            others_see.append("[You answered there.]")
    return audience, "\n".join(others_see)


async def carry_out(
    mind: RunContext, run: Run, step: int, calls: tuple[ToolCall, ...], past: Past
) -> tuple[Executed, ...]:
    """Run the calls and return what came of each. Records an intent before each call and its result after it."""
    mind.waking.answered()
    return await run.dispatcher.answer_all(calls, _context(mind, run), log=_Written(mind, run, step), past=past)


def keep_said(mind: RunContext, run: Run) -> None:
    """Append speech that was begun early to the stream, when the rest of the answer never came."""
    if (said := run.said) is not None:
        authority = said.executed.authority
        messages = (said.message, tool_results([said.executed.result]))
        mind.history.acted(messages, authority=authority, sources=run.people, audience=run.sight.audience)
        run.said = None


def outcome_of(run: Run, executed: Sequence[Executed]) -> Outcome | None:
    """Return how the run ends when its last step spoke, or spoke too late; None when the run goes on.

    Speech that was begun early has been heard, whatever became of the rest. Asked again, the model would repeat it.
    """
    acts = [done.call.name for done in executed if done.category is Category.TERMINAL and done.status in MAYBE_HEARD]
    if not acts:
        if run.went_on:
            return Answered((SAY,))
        return NothingToDo() if any(done.status is Status.UNHEARD for done in executed) else None
    spoken = tuple(name for name in acts if name != "noop")
    return Answered(spoken) if spoken else NothingToDo()


def _calls_of_text(mind: RunContext, run: Run, answer: RecoveredAnswer) -> tuple[ToolCall, ...]:
    """Return the call that the answer's plain text stands for.

    Calls already made of that text are completed with all of it.
    """
    if answer.calls:
        return tuple(whole_text(call, answer.response.content) for call in answer.calls)
    call = _text_as_call(mind, run, answer.response)
    return () if call is None else (call,)


async def _go_on(mind: RunContext, run: Run, rest: Rest, calls: tuple[ToolCall, ...]) -> tuple[Executed, ...]:
    """Run the rest of an answer that was begun early, and return what came of its calls.

    The call that was begun counts once, as a whole. Its result is recorded here when nothing of it is left to run.
    """
    run.went_on = rest.index is not None
    if rest.index is not None:
        if (tool := mind.registry.get(SAY)) is not None:
            run.dispatcher.gate.goes_on(calls[rest.index], tool)
        if rest.settled is not None:
            await mind.journal.record_result(run.id, run.written, rest.index, rest.settled)
    executed = await carry_out(mind, run, run.written, rest.calls, rest.past)
    return tuple(replace(done, call=call) for done, call in zip(executed, calls, strict=True))


def _context(mind: RunContext, run: Run) -> ToolContext:
    """Return the context for the calls of a step."""
    event = run.trigger.event if run.trigger else None
    return ToolContext(
        mind.me,
        mind.world,
        mind.notes,
        run.requester,
        run.id,
        run.sight,
        web=run.web,
        askers=run.askers,
        answer_by=answer_by(event, mind.rules.grant),
        granted=run.granted if run.making_granted else None,
        room_turn=mind.room_turn,
        following=mind.following,
    )


def _is_new(run: Run, executed: Sequence[Executed]) -> bool:
    """Tell whether a call of the step is new to this run, or came to something else than before.

    A repeated read brings nothing, whatever its answer: it costs a step, and the model knew the answer.
    """
    results = {_known(done) for done in executed}
    is_new = bool(results - run.known)
    run.known |= results
    return is_new


def _known(done: Executed) -> str:
    came_to = "" if done.category is Category.SAFE_CHAIN else done.result.text
    return f"{done.call.name} {done.call.arguments} {came_to}"


def _text_as_call(mind: RunContext, run: Run, response: LLMResponse) -> ToolCall | None:
    """Return the call that plain text stands for under the owner's setting, or None."""
    trigger = run.trigger
    return call_for_text(
        response.content,
        mind.settings.plain_text,
        trigger.event if trigger else None,
        addressed=trigger is not None and trigger.attention.addressed,
        grant=mind.rules.grant,
        call_id=f"{run.id}.{run.meter.steps}.text",
    )


@dataclass(slots=True)
class _Written:
    """Writes an intent before each call and its result after it."""

    mind: RunContext
    run: Run
    step: int

    async def intent(self, index: int, call: ToolCall) -> None:
        """Record that the call is about to run."""
        tool = self.mind.registry.get(call.name)
        effect = tool is None or not tool.category.reads
        await self.mind.journal.record_intent(self.run.id, self.step, index, call, effect=effect)

    async def done(self, index: int, executed: Executed) -> None:
        """Record that the call is over."""
        await self.mind.journal.record_result(self.run.id, self.step, index, executed)
