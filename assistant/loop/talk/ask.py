"""Asks a small model: deeds first, as a step of their own, then the owner's own words, then words of the model.

A run goes on as with any model: each step is recorded, judged by policy and made by the dispatcher.
"""

from __future__ import annotations

from collections.abc import Sequence

from mud_assistant.assistant.events.events import Noticed
from mud_assistant.assistant.language.acts import asked_deeds, wants_words
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.talk.calls import response_of, speech_call
from mud_assistant.assistant.loop.talk.deeds import do_what_is_asked, shows_by_itself, words_for_deeds
from mud_assistant.assistant.loop.talk.known import return_gesture, tell_known
from mud_assistant.assistant.loop.talk.promise import tell_promise
from mud_assistant.assistant.loop.talk.question import Question, question_of
from mud_assistant.assistant.loop.talk.speak import speak
from mud_assistant.assistant.loop.talk.topics import tell_topic
from mud_assistant.llm import LLMResponse, Message


async def ask_plainly(context: RunContext, run: Run) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Return the prompt, its estimated tokens and the next answer of the run; None when nothing is left to say.

    Raises LLMError. Cancelling closes the connection.
    """
    asked, trigger = await question_of(context, run), run.trigger
    if asked is None or trigger is None:
        return None
    if run.executed:
        if not wants_words(asked.text):
            if shows_by_itself(run.executed):
                return None
            if told := words_for_deeds(run.executed, asked):
                call = speech_call(context, run, told)
                return None if call is None else ((), 0, response_of([call]))
    elif (response := await _answer_without_words(context, run, asked)) is not None:
        return (), 0, response
    elif isinstance(trigger.event, Noticed) or not (asked.text or asked.deed):
        return None
    return await speak(context, run, asked)


async def _answer_without_words(context: RunContext, run: Run, asked: Question) -> LLMResponse | None:
    """Return the answer for which the model need not write: the owner's words, what is known, a gesture, deeds."""
    is_line = bool(asked.text) and run.trigger is not None and not isinstance(run.trigger.event, Noticed)
    if is_line and (promise := await tell_promise(context, run, asked)) is not None:
        return promise
    ruled = asked_deeds(asked.text, asked.who, asked.view, asked.it)
    # No model is asked whether a line is an order when the owner wrote words for it, and it looks like none.
    if is_line and not ruled and (topic := await tell_topic(context, run, asked)) is not None:
        return topic
    if not ruled and (known := (tell_known if is_line else return_gesture)(context, run, asked)) is not None:
        return known
    if (deeds := await do_what_is_asked(context, run, asked, ruled)) is not None:
        return deeds
    return await tell_topic(context, run, asked) if is_line and ruled else None
