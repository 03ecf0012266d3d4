"""Asks the model for the next answer of a run, at the expense of the player it is for.

The request takes the form that suits the model. An answer that only repeats something is asked for once more. It leaves
this module as it is recorded and acted on: without keys, and not a repetition.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.events.events import ChannelSaid, Paged, Whispered, format_event
from mud_assistant.assistant.events.outcome import Limit, LimitReached
from mud_assistant.assistant.language.acts import asked_deeds
from mud_assistant.assistant.loop.acting import text_as_call
from mud_assistant.assistant.loop.early import complete_with_speech, first_sentence_listener, repeated_in
from mud_assistant.assistant.loop.overheard import overheard, request_hook
from mud_assistant.assistant.loop.prompt import trusted_scene
from mud_assistant.assistant.loop.recovery import Early
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.run_parts import ModelParts, SpeechParts
from mud_assistant.assistant.loop.speech.gestures import MARKS, act_out
from mud_assistant.assistant.loop.speech.manner import speech_call
from mud_assistant.assistant.loop.speech.screening import SPEECH, Repeat, make_discreet, words_of_answer
from mud_assistant.assistant.loop.spending import A_MINUTE
from mud_assistant.assistant.loop.talk.question import question_of, trusted_level
from mud_assistant.assistant.loop.talk.speak import ask_plainly
from mud_assistant.assistant.loop.talk.topics import words_otherwise
from mud_assistant.assistant.memory.topics.knowledge import Knowledge
from mud_assistant.llm import BudgetReached, LLMResponse, Message, ToolCall, user
from mud_assistant.llm import assistant as assistant_message
from mud_assistant.llm.messages import JSONObject, Text
from mud_assistant.llm.packing.packed import Joined, parts_of
from mud_assistant.resilience import Deadline
from mud_assistant.tools.policy.decide import base_permission
from mud_assistant.tools.text.lenient import plain

#: Added to the prompt, not to the stream, after an answer with neither text nor a call.
NUDGE = "(You answered nothing. Call one of your tools.)"
#: Added in the same way after an answer that only repeated something.
AGAIN = "(You only repeated {what}. Answer in words of your own.)"
#: The temperature of that second request; every server takes this value.
FREER = 1.0
#: Characters of an answer that are kept at least, and characters kept for each token that was asked for: more than a
#: token of any model has.
MIN_KEPT_CHARS, CHARS_A_TOKEN = 2000, 8

_log = Logger()


class Completion(Struct, frozen=True):
    """One answer, with the prompt it answers and the prompt's estimated tokens."""

    prompt: Sequence[Message]
    prompt_tokens: int
    response: LLMResponse


async def ask(context: RunContext, run: Run) -> Completion | None:
    """Ask for the next answer within the run's remaining time; return None when the run has nothing left to do.

    Raises LLMError. Cancelling closes the connection.
    """
    count_asker(context.model, run)
    context.model.window.fit(run)
    if not context.is_asked_plainly:
        return await _ask_with_tools(context, run)
    asked = await ask_plainly(context, run)
    if asked is None:
        return None
    prompt, tokens, response = asked
    if response.provider and not MARKS.isdisjoint(words_of_answer(response)):  # else the owner's words, or plain ones
        response = _acted_out(context, run, response)
    # A model that was asked with tools before was shown it: it stands in the stream.
    if context.memory.known.secret and _secret_calls(context.memory.known, run, response):
        response = _saying(context, run, response, words_otherwise(context, " ".join(run.texts), run.progress.written))
    return Completion(prompt, tokens, discreet(context, response))


def discreet(context: RunContext, response: LLMResponse) -> LLMResponse:
    """Return the answer as it is recorded and acted on."""
    most_chars = max(MIN_KEPT_CHARS, CHARS_A_TOKEN * context.model.config.max_answer_tokens)
    return make_discreet(response, context.body.scrub, most_chars, context.body.pieces)


async def _ask_with_tools(context: RunContext, run: Run) -> Completion:
    """Ask once, and once more when the answer only repeats. A second echo is not said.

    The first sentence may have been spoken before the answer is complete (`early.py`); it was checked before that.
    """
    run.trust.shown_from = 0
    asked = await _answer(context, run)
    if run.trust.min_level <= 0 or context.rules.required_permission:  # else it is enough for every call
        asked = await _trusted_answer(context, run, asked)
    said = words_of_answer(asked.response)
    if not MARKS.isdisjoint(said):
        asked = replace(asked, response=_acted_out(context, run, asked.response))
        said = words_of_answer(asked.response)
    is_secret = bool(context.memory.known.secret) and bool(_secret_calls(context.memory.known, run, asked.response))
    if not (said or is_secret):
        return asked
    repeat, begun = Repeat.HIDDEN if is_secret else repeated_in(context, run, said), run.early.said
    if repeat is not None and run.early.state is Early.NOTHING:
        _log.info("{name} only repeated {what}; it is asked again", name=context.body.me.name, what=repeat.value)
        least = asked.response.shown_from
        again = await _answer(context, run, AGAIN.format(what=repeat.value), least=least)
        response = replace(again.response, usage=asked.response.usage + again.response.usage)
        response = _acted_out(context, run, response)
        said = words_of_answer(response)
        # What it said before may be right again. An echo is no answer, and what is for it alone is told to nobody.
        is_secret = bool(context.memory.known.secret) and bool(_secret_calls(context.memory.known, run, response))
        if is_secret or repeated_in(context, run, said) not in {None, Repeat.SELF}:
            said = words_otherwise(context, " ".join(run.texts), run.progress.written)
            response = _saying(context, run, response, said)
        asked = replace(again, response=response)
    elif repeat is Repeat.HIDDEN and begun is not None:
        said = begun.sentence  # what came after it is told to nobody
        asked = replace(asked, response=_saying(context, run, asked.response, said))
    context.speech.repeats.add(said, run.texts)
    return asked


def _secret_calls(known: Knowledge, run: Run, response: LLMResponse) -> list[ToolCall]:
    """Return the calls of an answer that read out what is known to the character alone."""
    texts = ((call, map(str, call.arguments.values())) for call in response.tool_calls)
    return [call for call, values in texts if any(known.gives_away(value, run.texts) for value in values)]


def _acted_out(context: RunContext, run: Run, response: LLMResponse) -> LLMResponse:
    """Return the answer with the gestures in its words as calls of their own; the same answer when there are none.

    It is recorded like this, so a run that is taken up finds each call as it was made.
    """
    text = None if response.tool_calls else text_as_call(context, run, response.content)
    calls = response.tool_calls if text is None else (text,)
    spoken = run.dispatcher.session.spoken - (run.early.said is not None)  # what was begun early counts once

    def may_emote() -> bool:
        tool = context.tools.registry.get("emote") if "emote" in context.rules.grant else None
        event = run.trigger.event if run.trigger else None
        is_here = run.hearers is None and not isinstance(event, ChannelSaid | Paged | Whispered)
        return tool is not None and is_here and base_permission(tool, context.rules.required_permission) <= 0

    acted = act_out(calls, context.body.me.name, context.settings.max_spoken - spoken, may_emote=may_emote)
    if acted == calls:
        return response
    beside = (Text, ToolCall) if text is not None else ToolCall
    blocks = (*(block for block in response.message.blocks if not isinstance(block, beside)), *acted)
    return replace(response, message=Message(response.message.role, blocks))


def _saying(context: RunContext, run: Run, response: LLMResponse, said: str) -> LLMResponse:
    """Return the answer with these words in place of all that it says."""
    secret = _secret_calls(context.memory.known, run, response)
    deeds = [call for call in response.tool_calls if call.name not in SPEECH and call not in secret]
    words = speech_call(context.rules, run, said)
    calls = [*deeds, words] if words is not None else deeds
    return replace(response, message=assistant_message(*calls))


async def _trusted_answer(context: RunContext, run: Run, asked: Completion) -> Completion:
    """Return the answer. Ask once more, without what is trusted too little, when that alone forbids what it wants.

    What the second answer does follows from none of the texts that were left out, so they do not lower it. When it
    wants nothing of the kind, it was those texts that did: the first answer counts then, with all in view. There is no
    need to ask when the line itself asks for the deed in plain English: then it follows from that line.
    """
    least = run.dispatcher.lacks_trust(asked.response.tool_calls, context.body.me, run.requester)
    if not least or run.trigger is None or run.progress.is_asked_again:
        return asked
    run.progress.is_asked_again = True  # once a run: what came of it may be among the texts that are left out
    level = trusted_level(context.rules, run)
    if (deeds := await _plainly_asked(context, run, asked.response)) and level >= least:
        response = replace(asked.response, message=assistant_message(*deeds), shown_from=level)
        return replace(asked, response=response)
    line = {run.trigger.event.id: format_event(run.trigger.event)}
    if context.memory.history.find_lost(line, least=least):
        return asked
    again = await _answer(context, run, least=least)
    usage = asked.response.usage + again.response.usage
    if not run.dispatcher.lacks_trust(again.response.tool_calls, context.body.me, run.requester):
        return replace(asked, response=replace(asked.response, usage=usage))
    if run.early.said is not None:  # words were spoken already
        deeds = [call for call in again.response.tool_calls if call.name not in SPEECH]
        again = replace(again, response=replace(again.response, message=assistant_message(*deeds)))
    return replace(again, response=replace(again.response, usage=usage))


async def _plainly_asked(context: RunContext, run: Run, response: LLMResponse) -> list[ToolCall]:
    """Return the calls of the answer, when the line of who asks wants each of them by rule; else none.

    Words beside them would not follow from that line.
    """
    asked = await question_of(context, run)
    if asked is None or run.early.said is not None:
        return []
    ruled = asked_deeds(asked.text, asked.who, asked.view, asked.it)
    deeds = {(deed.tool, *map(plain, deed.arguments.values())): deed for deed in ruled}
    found = [(call, deeds.get((call.name, *_plain_values(call)))) for call in response.tool_calls]
    calls = [replace(call, arguments=dict(deed.arguments)) for call, deed in found if deed is not None]
    return calls if len(calls) == len(found) else []


def _plain_values(call: ToolCall) -> list[str]:
    return [plain(str(value)) for value in call.arguments.values()]


async def _answer(context: RunContext, run: Run, again: str = "", *, least: int = 0) -> Completion:
    """Make one model call. `again` says why it is a second one; nothing of a second one is spoken early.

    Texts of a level below `least` are left out of the prompt.
    """
    nudges = [user(text) for text in (NUDGE if run.progress.is_empty else "", again) if text]
    scene = trusted_scene(run.scene, context.rules.world_text, least) if least else ""
    front, stream = context.model.window.front, context.memory.history.parts(run.hearers, least, scene)
    prompt = Joined([*parts_of(front.messages), *stream, *nudges])
    listener = None if again or least else first_sentence_listener(context, run)
    freer = {"temperature": FREER} if again else {}
    billing, me = context.model.billing, context.body.me
    # An impulse is paid for by a part of the assistant's own budget, so that players are answered.
    pays = billing.caller_of_itself(me) if run.is_impulse else billing.caller(me, run.requester)
    answer = context.model.client.chat_completion(
        prompt,
        context.tools.registry.specs(front.tools),
        deadline=run.meter.deadline,
        listener=overheard(context, run, listener),
        caller=pays,
        on_request=request_hook(context, run),
        vary=bool(again),
        **freer,
    )
    response = await (answer if listener is None else complete_with_speech(listener, answer))
    context.speech.waking.answered()  # its server has read the beginning of every prompt by now
    response = discreet(context, response)
    if least:
        response = replace(response, shown_from=least)
    return Completion(prompt, context.model.window.fixed_tokens() + context.memory.history.tokens, response)


async def ask_for_itself(
    context: RunContext,
    messages: Sequence[Message],
    *,
    max_tokens: int,
    seconds: float,
    schema: JSONObject | None = None,
) -> str:
    """Return what the assistant's own model answers to its own question, at its own expense. Every player comes first.

    `seconds` is the most time it may take. Raises LLMError. Cancelling closes the connection.
    """
    response = await context.model.client.chat_completion(
        messages,
        tool_choice="auto",
        server_tools=(),
        max_tokens=max_tokens,
        deadline=Deadline.after(context.process.clock, seconds),
        caller=context.model.billing.caller(context.body.me, None),
        schema=schema,
    )
    return context.body.scrub(response.content)


def count_asker(model: ModelParts, run: Run) -> None:
    """Count one answer for the person the run is for, once. Raises BudgetReached when they ask too often."""
    requester = run.requester
    if requester is not None and run.meter.counted != requester.id:
        if why := model.billing.too_often(requester):
            raise BudgetReached(why, account=requester.id, what=A_MINUTE)
        run.meter.counted = requester.id


async def next_payer(speech: SpeechParts, run: Run, spent: BudgetReached) -> LimitReached | None:
    """Turn the run to the next asker, when the budget of the one it was for is used up.

    Return None when it goes on for them, and the outcome when nobody is left to pay.
    """
    is_rate = spent.what == A_MINUTE
    reached = LimitReached(Limit.RATE if is_rate else Limit.BUDGET, spent.message, spent.account)
    requester = run.requester
    if requester is None or spent.account != requester.id:
        return reached
    run.goes_without(requester)
    if run.trigger is None:
        return reached
    _log.warn("{cause}", log_event="budget", cause=spent.message)
    await (speech.rate_line if is_rate else speech.budget_line).make()
    return None
