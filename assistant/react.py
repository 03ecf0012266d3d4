"""READ FIRST: one run, from the events that woke the assistant to a named outcome.

    perceive -> ask the model -> write its answer down -> run its calls -> append the results -> ask again, or be done

Whatever happens becomes an Outcome. Nothing that failed becomes content: no error text enters the stream the model
sees, and none is spoken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from assistant.classify import Verdict
from assistant.config import AssistantConfig, ModelConfig
from assistant.events import told
from assistant.history import History
from assistant.journal import Accepted, Journal
from assistant.limits import Meter, RunLimits
from assistant.outcome import Answered, Cancelled, Failed, Limit, LimitReached, NothingToDo, Outcome
from assistant.plain_text import call_for_text
from assistant.prompt import scene_line
from assistant.trace import Observer, StepTrace
from llm import LLMDeadlineExceeded, LLMError, LLMResponse, Message, ToolCall, UnifiedLLMClient, tool_results, user
from llm import assistant as assistant_message
from resilience import Deadline
from tools import Category, Dispatcher, Executed, Notes, Principal, Registry, Status, ToolContext, ToolFailed, World

#: Added to the prompt, not to the stream, after an answer that held neither text nor a call (edge cases 60 and 63).
NUDGE = "(You answered nothing. Call one of your tools.)"
#: Goes with the result of a read that the run has made before.
REPEATED = "You know this already: answer now with say."
#: A speaking call that ended like this may have been heard, so it is not tried again.
_MAYBE_HEARD = {Status.DONE, Status.TIMED_OUT, Status.CRASHED}

_log = Logger()


@dataclass(frozen=True, slots=True)
class Mind:
    """What a run thinks and acts with: made once by the composition root."""

    me: Principal
    world: World
    notes: Notes
    client: UnifiedLLMClient
    registry: Registry
    grant: frozenset[str]
    journal: Journal
    history: History
    #: What stands before the stream in every prompt and never changes: persona, rules, examples.
    front: Sequence[Message]
    #: Bytes of a request beside its messages: the tools, mostly.
    head_bytes: int
    #: Tokens the stream may take of the model's window.
    stream_tokens: int
    settings: AssistantConfig
    model: ModelConfig
    clock: IReactorTime
    observer: Observer


@dataclass(slots=True)
class _Run:
    """The state of one run."""

    id: str
    events: Sequence[Accepted]
    meter: Meter
    dispatcher: Dispatcher
    nudge: bool = False
    #: The reads made so far, by name and arguments: a model that repeats one is told so.
    reads: set[str] = field(default_factory=set)

    @property
    def trigger(self) -> Accepted | None:
        """The most important event that asks for an answer, the last of equals."""
        triggers = [accepted for accepted in self.events if accepted.attention.verdict is Verdict.TRIGGER]
        return max(reversed(triggers), key=lambda accepted: accepted.attention.importance, default=None)


async def react(mind: Mind) -> Outcome:
    """Deal with what is in the inbox; the outcome comes after it and every step were journalled.

    Raises only what the journal raises. Cancelling gives Cancelled.
    """
    events = await mind.journal.pending()
    if not events:
        return NothingToDo()
    settings = mind.settings
    limits = RunLimits(settings.max_steps, settings.run_seconds, settings.max_run_tokens, settings.max_format_errors)
    meter = Meter(limits, Deadline.after(mind.clock, settings.run_seconds))
    dispatcher = Dispatcher(mind.registry, mind.grant, mind.clock)
    run = _Run(await mind.journal.open_run(events), events, meter, dispatcher)
    try:
        outcome = await _think(mind, run)
    except CancelledError:
        outcome = Cancelled()
    except LLMDeadlineExceeded:
        outcome = LimitReached(Limit.TIME)
    except LLMError as error:
        outcome = Failed(str(error), getattr(error, "retry_at", None), lasting=not error.retryable)
    except Exception as error:  # noqa: BLE001  (a bug of ours: logged, named, and counted by the tick)
        _log.failure("run {run} of {name} crashed", run=run.id, name=mind.me.name)
        outcome = Failed(f"internal error ({type(error).__name__})", bug=True)
    await mind.journal.close_run(run.id, outcome)
    mind.observer.run_ended(run.id, outcome)
    return outcome


async def _think(mind: Mind, run: _Run) -> Outcome:
    """Steps until the assistant has answered, has nothing to do, or a limit is reached."""
    await _perceive(mind, run)
    if run.trigger is None:
        return NothingToDo()
    while (limit := run.meter.reached()) is None:
        started = mind.clock.seconds()
        prompt = [*mind.front, *mind.history.messages(), *([user(NUDGE)] if run.nudge else ())]
        provider = mind.client.provider
        prompt_tokens = provider.count_tokens(prompt) + provider.tokens.of_bytes(mind.head_bytes)
        mind.observer.thinking(run.id, run.meter.steps + 1)
        response = await _ask(mind, run, prompt)
        run.meter.count_step(response.usage, prompt_tokens)
        step = run.meter.steps
        await mind.journal.record_response(run.id, step, response)
        executed = await _act(mind, run, response, prompt_tokens)
        seconds = mind.clock.seconds() - started
        mind.observer.step(StepTrace(run.id, step, len(prompt), prompt_tokens, response, executed, seconds))
        if (outcome := _outcome(executed)) is not None:
            return outcome
    return LimitReached(limit)


async def _perceive(mind: Mind, run: _Run) -> None:
    """Put the new events, and the scene when it changed, at the end of the stream; trim it to the model's window."""
    fresh = [accepted for accepted in run.events if not mind.history.knows(accepted.event.id)]
    scene = ""
    if run.trigger is not None:
        try:
            scene = scene_line(await mind.world.look())
        except ToolFailed as failed:
            _log.info("{name} cannot see where it is: {why}", name=mind.me.name, why=str(failed))
        scene = "" if mind.history.shows(scene) else scene
    if fresh or scene:
        importance = max((accepted.attention.importance for accepted in fresh), default=1)
        lines = [told(accepted.event) for accepted in fresh]
        mind.history.perceive(lines, [accepted.event.id for accepted in fresh], importance, scene)
    mind.history.trim(mind.stream_tokens)


async def _ask(mind: Mind, run: _Run, prompt: Sequence[Message]) -> LLMResponse:
    """One model call within what is left of the run's time."""
    return await mind.client.chat_completion(
        prompt,
        mind.registry.specs(mind.grant),
        mind.model.tool_choice,
        deadline=run.meter.deadline,
        max_tokens=mind.model.max_answer_tokens,
        temperature=mind.model.temperature,
        think=mind.model.think,
    )


async def _act(mind: Mind, run: _Run, response: LLMResponse, prompt_tokens: int) -> tuple[Executed, ...]:
    """Run every call of the answer, in order, and append the answer with its results to the stream."""
    calls, message = response.tool_calls, response.message
    if not calls and (call := _text_as_call(mind, run, response)) is not None:
        calls, message = (call,), assistant_message(call)
    run.nudge = not calls
    if not calls:
        run.meter.count_format(wrong=True)
        return ()
    requester = run.trigger.event.who if run.trigger else None
    context = ToolContext(mind.me, mind.world, mind.notes, requester, run.id)
    executed = await run.dispatcher.answer_all(calls, context, log=_Written(mind.journal, run))
    run.meter.count_format(wrong=any(done.status is Status.FORMAT_ERROR for done in executed))
    results = [done.result for done in executed]
    advice = run.meter.advice(prompt_tokens, mind.model.context_tokens)
    if advice := advice or (REPEATED if _repeats(run, executed) else ""):
        results[-1] = replace(results[-1], text=f"{results[-1].text}\n({advice})")
    mind.history.acted((message, tool_results(results)))
    return executed


def _repeats(run: _Run, executed: Sequence[Executed]) -> bool:
    """Whether every call of the step is a read that this run has made before; the answer would be the same."""
    asked = {f"{done.call.name} {done.call.arguments}" for done in executed if done.category is Category.SAFE_CHAIN}
    is_new = len(asked) < len({done.call.id for done in executed}) or bool(asked - run.reads)
    run.reads |= asked
    return not is_new


def _text_as_call(mind: Mind, run: _Run, response: LLMResponse) -> ToolCall | None:
    """The call that plain text stands for under the owner's setting."""
    trigger = run.trigger
    return call_for_text(
        response.content,
        mind.settings.plain_text,
        trigger.event if trigger else None,
        addressed=trigger is not None and trigger.attention.addressed,
        call_id=f"{run.id}.{run.meter.steps}.text",
    )


def _outcome(executed: Sequence[Executed]) -> Outcome | None:
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
    run: _Run

    async def intent(self, index: int, call: ToolCall) -> None:
        """The call is about to run."""
        await self.journal.record_intent(self.run.id, self.run.meter.steps, index, call)

    async def done(self, index: int, executed: Executed) -> None:
        """The call is over."""
        await self.journal.record_result(self.run.id, self.run.meter.steps, index, executed)
