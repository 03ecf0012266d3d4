"""Acts on a model's answer: runs its calls and appends the answer and the results to the stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from mud_assistant.assistant.events.classify import is_named
from mud_assistant.assistant.events.outcome import Answered, NothingToDo, Outcome
from mud_assistant.assistant.language.words import is_question
from mud_assistant.assistant.loop.lateness import saying_what_is_answered
from mud_assistant.assistant.loop.promise_goals import keeping_word, note_promises
from mud_assistant.assistant.loop.recollecting import known_lore
from mud_assistant.assistant.loop.recovery import (
    MAYBE_HEARD,
    SAY,
    Early,
    RecoveredAnswer,
    Rest,
    warn_of_unknown,
    whole_text,
)
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.manner import answer_by, call_for_text, in_manner
from mud_assistant.assistant.loop.speech.screening import SPEECH
from mud_assistant.assistant.loop.writing import CallLog
from mud_assistant.assistant.memory import questions
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.llm import FinishReason, LLMResponse, ToolCall, Usage, tool_results
from mud_assistant.llm import assistant as assistant_message
from mud_assistant.tools import NOTHING_YET, Category, Executed, Kind, Past, Reach, Registry, Status, ToolContext
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.text.lenient import plain
from mud_assistant.tools.trust import Audience, common

#: Added to the results of a step that told the run nothing new.
REPEATED = "You know this already: answer now with say."

#: Why somebody who may have waited gets no answer.
CHOSE_NOTHING, WHO_ASKED_IS_GONE = "it chose to say nothing", "who asked is not there any more"


async def act(context: RunContext, run: Run, answer: RecoveredAnswer, prompt_tokens: int) -> tuple[Executed, ...]:
    """Run every call of the answer, in order, and append the answer with its results to the stream.

    Of a call that was begun early, only the rest is run. The stream shows it as one whole call.
    """
    run.trust.shown_from = answer.response.shown_from
    if run.early.is_remark(answer.response) or answer.response.shown_from:
        keep_said(context.memory.history, run)
    calls, message = answer.calls, answer.response.message
    if not message.tool_calls:
        calls = _calls_of_text(context, run, answer)
        message = assistant_message(*calls)
    fitting = _in_manner(context, run, calls)
    if not answer.past and context.process.clock.seconds() > run.late_from:
        fitting = saying_what_is_answered(context, run, fitting)
    fitting = await keeping_word(context, run, fitting)
    if fitting != calls:
        calls, message = fitting, assistant_message(*fitting)
    run.progress.is_empty = not calls
    if not calls:
        run.meter.count_format(wrong=True)
        return ()
    if run.early.said is None:
        executed = await carry_out(context, run, run.progress.written, calls, answer.past)
    else:
        executed = await _go_on(context, run, run.early.go_on(calls, answer.past, answer.response.content), calls)
    warn_of_unknown(context.body.me.name, run.id, executed)
    run.meter.count_format(wrong=any(done.status is Status.FORMAT_ERROR for done in executed))
    results = [done.result for done in executed]
    is_new = _is_new(run, executed)
    run.meter.count_progress(new=is_new)
    advice = run.meter.advice(prompt_tokens, context.model.config.context_tokens)
    if advice := advice or ("" if is_new else REPEATED):
        results[-1] = replace(results[-1], text=f"{results[-1].text}\n({advice})")
    authority = min(done.authority for done in executed)
    audience, others_see = _audience(context.tools.registry, run, executed)
    sources = _sources(context.memory.history, run).union(*(done.sources for done in executed))
    context.memory.history.acted(
        (message, tool_results(results)),
        authority=authority,
        sources=sources,
        audience=audience,
        others_see=others_see,
        shown_from=answer.response.shown_from,
    )
    run.early.said = None
    run.progress.executed = executed
    _note_questions(context, run, executed)
    return executed


def answer_by_rule(run: Run, call: ToolCall, follows_from: int = 0) -> RecoveredAnswer:
    """Record a call that no model made as a step of its own, and return it as the answer to act on.

    `follows_from` is the level of the texts that the rule went by; 0 when it may have been anything in view.
    """
    response = LLMResponse(assistant_message(call), FinishReason.TOOL_CALLS, Usage(), "", "", shown_from=follows_from)
    run.meter.count_step(response.usage, 0)
    run.write_answer(response)
    return RecoveredAnswer(response, response.tool_calls, NOTHING_YET)


def _in_manner(context: RunContext, run: Run, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Adapt each call to the manner in which the assistant was spoken to."""
    event = run.trigger.event if run.trigger else None
    is_here = event is not None and context.body.world.hears(event.who)
    return tuple(in_manner(call, event, context.rules.grant, context.body.me.name, is_here=is_here) for call in calls)


def _audience(registry: Registry, run: Run, executed: Sequence[Executed]) -> tuple[Audience, str]:
    """Return who may be told of a step, and what others see of it.

    Words said to one person are for that person only.
    """
    audience, others_see = run.trust.audience, []
    for done in executed:
        tool = registry.get(done.call.name)
        if tool is None or done.status not in MAYBE_HEARD:
            continue
        target = str(done.call.arguments.get("target", ""))
        if tool.heard_by in {Reach.PERSON, Reach.NEARBY}:
            people = (heard.event.who for heard in run.events)
            named = frozenset(who.id for who in people if plain(who.name) == plain(target))
            audience = common(audience, named if len(named) == 1 else frozenset())
            others_see.append(f"[You said something to {one_line(target, max_chars=60)} in private.]")
        elif tool.heard_by is Reach.CHANNEL and audience is not None:
            others_see.append("[You answered there.]")
    return audience, "\n".join(others_see)


def _others_meant(run: Run, said: str) -> set[str]:
    """Return the ids of the other assistants that words are for: who asked, and those here whom they name."""
    asker = run.trigger.event.who if run.trigger is not None else None
    here = run.scene.people if run.scene is not None else ()
    meant = {one.id for one in here if one.is_ai and one.id and is_named(said, [one.name], anywhere=True)}
    return meant | ({asker.id} if asker is not None and asker.kind is Kind.ASSISTANT else set())


def _sources(history: History, run: Run) -> frozenset[str]:
    """Return the ids of all whose words the prompt held: what the model made of it may repeat any of them."""
    return run.people | history.sources(run.hearers)


def _note_questions(context: RunContext, run: Run, executed: Sequence[Executed]) -> None:
    """Take note of the questions that were asked aloud, on a channel or in private, and of whom."""
    for done in executed:
        said = str(done.call.arguments.get(SPEECH.get(done.call.name, ""), ""))
        if not said or done.status not in MAYBE_HEARD:
            continue
        sources = _sources(context.memory.history, run) if is_question(said) else frozenset[str]()
        if run.trigger is not None:
            context.speech.talk.answer_turn(run.trigger.event.who.id, said, run.hearers)
        context.speech.pairs.said(_others_meant(run, said), said)
        place = questions.room()
        if whom := plain(str(done.call.arguments.get("target", ""))):
            ids = {who.id for heard in run.events if plain((who := heard.event.who).name) == whom}
            if len(ids) != 1:
                continue  # whose answer it would be is not certain
            place = questions.private(ids.pop())
        elif done.call.name == "channel":
            place = questions.channel(str(done.call.arguments.get("channel", "")))
        me, level = context.body.me.id, run.trust.min_level
        context.speech.questions.ask(place, said, me, sources=sources, authority=level, of=run.people)


async def carry_out(
    context: RunContext, run: Run, step: int, calls: tuple[ToolCall, ...], past: Past
) -> tuple[Executed, ...]:
    """Run the calls and return what came of each. Records an intent before each call and its result after it."""
    log = CallLog(run.writes, context.tools.registry, step, run.progress.promised)
    around = _context(context, run, calls)
    executed = await run.dispatcher.answer_all(calls, around, log=log, on_executed=run.progress.on_executed, past=past)
    for done in executed:
        if done.category is Category.TERMINAL and done.status in MAYBE_HEARD:
            context.speech.waking.over(run.events)
            break
    if run.progress.promised:
        note_promises(context, run, executed)
    return executed


def keep_said(history: History, run: Run) -> None:
    """Append speech that was begun early to the stream, when no rest of it comes."""
    if (said := run.early.said) is not None:
        run.early.said = None
        authority = said.executed.authority
        messages = (said.message, tool_results([said.executed.result]))
        sources = _sources(history, run)
        history.acted(messages, authority=authority, sources=sources, audience=run.trust.audience)


def outcome_without_words(run: Run) -> Outcome:
    """Return the outcome of a run that acted without a word, or had nothing to do."""
    acts = tuple(done.call.name for done in run.progress.executed if done.status in MAYBE_HEARD)
    return Answered(acts) if acts else NothingToDo()


def outcome_of(run: Run, executed: Sequence[Executed]) -> Outcome | None:
    """Return how the run ends when its last step spoke, or spoke too late; None when the run goes on.

    Speech that was begun early has been heard, whatever became of the rest. Asked again, the model would repeat it.
    """
    acts = [done.call.name for done in executed if done.category is Category.TERMINAL and done.status in MAYBE_HEARD]
    if not acts:
        if run.early.state is Early.WHOLE:
            return Answered((SAY,))
        is_unheard = any(done.status is Status.UNHEARD for done in executed)
        return NothingToDo(WHO_ASKED_IS_GONE) if is_unheard else None
    spoken = tuple(name for name in acts if name != "noop")
    return Answered(spoken) if spoken else NothingToDo(CHOSE_NOTHING)


def _calls_of_text(context: RunContext, run: Run, answer: RecoveredAnswer) -> tuple[ToolCall, ...]:
    """Return the call that the answer's plain text stands for.

    Calls already made of that text are completed with all of it.
    """
    if answer.calls:
        return tuple(whole_text(call, answer.response.content) for call in answer.calls)
    call = text_as_call(context, run, answer.response.content)
    return () if call is None else (call,)


async def _go_on(context: RunContext, run: Run, rest: Rest, calls: tuple[ToolCall, ...]) -> tuple[Executed, ...]:
    """Run the rest of an answer that was begun early, and return what came of its calls.

    The call that was begun counts once, as a whole. Its result is recorded here when nothing of it is left to run.
    """
    if rest.index is not None:
        if (tool := context.tools.registry.get(SAY)) is not None:
            run.dispatcher.session.goes_on(calls[rest.index], tool)
        if rest.settled is not None:
            run.writes.result(run.progress.written, rest.index, rest.settled)
    executed = await carry_out(context, run, run.progress.written, rest.calls, rest.past)
    return tuple(replace(done, call=call) for done, call in zip(executed, calls, strict=True))


def _turns(context: RunContext, calls: Sequence[ToolCall]) -> Callable[[], Awaitable[None] | None]:
    """Return what gives each of the calls its turn in the room. A line and the gestures with it take one together."""
    if sum(call.name in SPEECH for call in calls) > 1:
        return context.room_turn
    turns = iter([context.room_turn])
    return lambda: turn() if (turn := next(turns, None)) is not None else None


def _context(context: RunContext, run: Run, calls: Sequence[ToolCall]) -> ToolContext:
    """Return the context for the calls of a step."""
    event = run.trigger.event if run.trigger else None
    return ToolContext(
        context.body.me,
        context.body.world,
        context.memory.memories,
        run.requester,
        run.id,
        run.trust,
        web=run.web,
        askers=run.askers,
        answer_by=answer_by(event, context.rules.grant),
        granted=run.granted.pending if run.granted and run.granted.is_being_made else None,
        room_turn=context.room_turn if len(calls) == 1 else _turns(context, calls),
        following=context.tools.following,
        lore=lambda query: known_lore(context, (query,)),
        now=context.process.clock.seconds,
        http_client=context.tools.http_client,
        shown_memories=context.memory.shown,
        look_into=run.progress.look_into,
    )


def _is_new(run: Run, executed: Sequence[Executed]) -> bool:
    """Tell whether a call of the step is new to this run, or came to something else than before.

    A repeated read brings nothing, whatever its answer: it costs a step, and the model knew the answer.
    """
    results = {_known(done) for done in executed}
    is_new = bool(results - run.progress.results)
    run.progress.results |= results
    return is_new


def _known(done: Executed) -> str:
    came_to = "" if done.category is Category.SAFE_CHAIN else done.result.text
    return f"{done.call.name} {done.call.arguments} {came_to}"


def text_as_call(context: RunContext, run: Run, text: str) -> ToolCall | None:
    """Return the call that plain text stands for under the owner's setting, or None."""
    trigger = run.trigger
    return call_for_text(
        text,
        context.settings.plain_text,
        trigger.event if trigger else None,
        addressed=trigger is not None and trigger.attention.addressed,
        grant=context.rules.grant,
        call_id=f"{run.id}.{run.meter.steps}.text",
    )
