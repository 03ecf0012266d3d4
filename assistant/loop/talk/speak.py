"""Asks a small model: deeds first, as a step of their own, then the owner's own words, then words of the model.

Its words are checked before they are said. Each step is recorded, judged by policy and made by the dispatcher.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from mud_assistant.assistant.events.conversation import is_farewell
from mud_assistant.assistant.events.events import Noticed
from mud_assistant.assistant.language.acts import asked_deeds, wants_words
from mud_assistant.assistant.language.attend import WAY_TOLD, ToldNotes, Turn, notes_on
from mud_assistant.assistant.language.check import Heard
from mud_assistant.assistant.language.things import known_words
from mud_assistant.assistant.language.words import is_like, sentences_of, words_of
from mud_assistant.assistant.loop.overheard import overheard, request_hook
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.manner import response_of, speech_call
from mud_assistant.assistant.loop.talk.answer import Line, fallback, fit_to_say, judge
from mud_assistant.assistant.loop.talk.deeds import do_what_is_asked, shows_by_itself, words_for_deeds
from mud_assistant.assistant.loop.talk.found import (
    FOUND_NOTHING,
    Hit,
    fits,
    fitting_hits,
    found_sentence,
    has_searched,
    with_source,
)
from mud_assistant.assistant.loop.talk.known import agrees, return_gesture, tell_known
from mud_assistant.assistant.loop.talk.promise import tell_promise
from mud_assistant.assistant.loop.talk.question import (
    Question,
    front,
    last_turns,
    must_not_be_copied,
    question_of,
    without_name,
)
from mud_assistant.assistant.loop.talk.topics import is_remark, is_told_in_confidence, tell_topic, words_otherwise
from mud_assistant.assistant.loop.talk.turns import example_deeds, lore_texts, outcomes_of, remembered_facts
from mud_assistant.llm import LLMResponse, Message, Usage
from mud_assistant.tools import Status

#: Tokens of one answer, and where it ends.
MAX_TOKENS, STOP = 60, ("\n",)
#: The first try keeps to what is known; another, after an answer that was refused, is freer. A tiny model has one try
#: more.
TEMPERATURES, TINY_TEMPERATURES = (0.2, 0.7), (0.2, 0.6, 0.9)
#: From this likeness on, a line counts as one whose answer the owner wrote, and may be answered with it.
ALIKE = 0.5
#: From this likeness on two lines ask the same: then the same answer is right again.
ASKED_AGAIN = 0.8
#: The smallest model that comes along, which gives remarks back (decision 0042). Other small ones were not read.
SPARED_REMARKS = "qwen2.5-coder-0.5b-instruct-q4_k_m"
_DIRECTION = re.compile(r"\b(?:north|south)(?:east|west)?\b|\beast\b|\bwest\b|\bup\b|\bdown\b")
#: How many of its own last lines an answer must not repeat.
OWN_LINES = 6


async def ask_plainly(context: RunContext, run: Run) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Return the prompt, its estimated tokens and the next answer of the run; None when nothing is left to say.

    Raises LLMError. Cancelling closes the connection.
    """
    asked, trigger = await question_of(context, run), run.trigger
    if asked is None or trigger is None:
        return None
    if run.progress.executed:
        if not wants_words(asked.text):
            if shows_by_itself(run.progress.executed):
                return None
            if told := words_for_deeds(run.progress.executed, asked):
                call = speech_call(context.rules, run, told)
                return None if call is None else ((), 0, response_of([call]))
    elif (response := await _answer_without_words(context, run, asked)) is not None:
        return (), 0, response
    elif isinstance(trigger.event, Noticed) or not (asked.text or asked.deed):
        return None
    return await _speak(context, run, asked)


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


async def _speak(context: RunContext, run: Run, asked: Question) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Ask for words, and once or twice more when they may not be heard. Something short stands in when all fail.

    Return the prompt, its estimated tokens and the answer; None when nothing is said. Raises LLMError. Cancelling
    closes the connection.
    """
    line, shown = _line(run, asked)
    hits = fitting_hits(run.progress.executed)
    if told := _told_by_rule(context, run, asked, line, hits):
        call = speech_call(context.rules, run, told)
        return None if call is None else ((), 0, response_of([call]))
    prompt = [*front(asked.view), *last_turns(asked.text, asked.view, line.notes, shown, asked.visitor)]
    tokens = context.model.client.provider.count_tokens(prompt)
    said, usage, response = "", Usage(), None
    tries: list[str] = []
    for number, temperature in enumerate(TINY_TEMPERATURES if asked.view.is_tiny else TEMPERATURES):
        # This server does not turn thinking off, and the model used up its answer with it.
        thinks_first = response is not None and bool(response.message.reasoning) and not response.content.strip()
        response = await context.model.client.chat_completion(
            prompt,
            deadline=run.meter.deadline,
            listener=overheard(context, run),
            caller=context.model.billing.caller(context.body.me, run.requester),
            on_request=request_hook(context, run),
            max_tokens=context.model.config.max_answer_tokens if thinks_first else MAX_TOKENS,
            temperature=temperature,
            stop=() if thinks_first else STOP,
            think=bool(context.model.config.think),
            vary=number > 0,
        )
        context.speech.waking.answered()
        usage += response.usage
        tries.append(context.body.scrub(response.content).strip().partition("\n")[0])
        if said := _fit(tries[-1], line, asked):
            break
    said = said or next(filter(None, (_fit(words, line, asked, is_last=True) for words in tries)), "")
    if run.recalled.answer and not agrees(said, run.recalled.answer, asked.text):
        said = run.recalled.answer.text
    way = next((one for one in line.notes.place if one.startswith(WAY_TOLD)), "")
    if way and _DIRECTION.findall(said.casefold()) != _DIRECTION.findall(way.casefold()):
        said = way
    if asked.text:
        known = said or fallback(line) or found_sentence(asked.text, hits)
        said = with_source(known or _otherwise(context, asked), hits)
    call = speech_call(context.rules, run, said)
    return None if call is None else (prompt, tokens, response_of([call], usage, response))


def _told_by_rule(context: RunContext, run: Run, asked: Question, line: Line, hits: Sequence[Hit]) -> str:
    """Return what is said without asking the model, empty for nothing.

    It would make up what a search did not find. A very small one mixes up rooms, and ours gives remarks back.
    """
    facts, place = line.notes.facts, line.notes.place
    if has_searched(run.progress.executed) and not hits and not any(fits(asked.text, fact) for fact in facts):
        return FOUND_NOTHING
    if is_farewell(asked.text) or is_told_in_confidence(asked.text):
        return _otherwise(context, asked)
    if not asked.view.is_tiny:
        return ""
    if place and place == facts:
        return " ".join(place)
    is_left = asked.text and not (facts or line.notes.language or run.recalled.answer)
    is_spared = is_left and context.model.client.provider.model == SPARED_REMARKS
    return _otherwise(context, asked) if is_spared and is_remark(without_name(asked.text, asked.view.name)) else ""


def _otherwise(context: RunContext, asked: Question) -> str:
    lately = [turn.said for turn in asked.earlier[-OWN_LINES:]]
    return words_otherwise(context, asked.text, len(asked.earlier), who=asked.who, lately=lately)


def _fit(words: str, line: Line, asked: Question, *, is_last: bool = False) -> str:
    said, _ = judge(words, line, is_last=is_last)
    if asked.text:
        return said
    places = known_words(asked.view.room, *(word for way in asked.view.ways for word in way))
    return fit_to_say(said, asked.who, asked.deed, line.heard.examples, places)


def _line(run: Run, asked: Question) -> tuple[Line, Sequence[Turn]]:
    """Return what the answer is judged by, and the turns that are shown before it.

    Before a deed, example answers to deeds are shown: a small model would copy its last answer.
    """
    text, who, view, earlier = asked.text, asked.who, asked.view, asked.earlier
    notes = notes_on(text, who, view, earlier, lore_texts(run.recalled.lore)) if text else ToldNotes()
    told = (*notes.facts, *run.recalled.beside, *remembered_facts(run.recalled.memories, text))
    facts = dict.fromkeys((*told, *outcomes_of(run.progress.executed), *filter(None, [asked.deed])))
    notes = replace(notes, facts=tuple(facts))
    did = frozenset(done.call.name for done in run.progress.executed if done.status is Status.DONE)
    line = Line(who, text, view, notes, earlier, _heard(asked), did)
    if text:
        return line, earlier
    deeds = example_deeds(who)
    examples = [*line.heard.examples, *(one.said for one in deeds)]
    return replace(line, heard=replace(line.heard, now=(asked.deed,), examples=examples)), deeds


def _heard(asked: Question) -> Heard:
    words, view, earlier = words_of(asked.text), asked.view, asked.earlier
    voice = [said for line, said in view.voice.items() if not is_like(words_of(line), words, ALIKE)]
    own = [turn.said for turn in earlier if turn.said and not is_like(words_of(turn.heard), words, ASKED_AGAIN)]
    return Heard(
        now=tuple(dict.fromkeys((asked.heard, asked.text))),
        earlier=[turn.heard for turn in earlier if words_of(turn.heard)],
        own=[*voice, *(text for said in own[-OWN_LINES:] for text in dict.fromkeys((*sentences_of(said), said)))],
        examples=must_not_be_copied(view),
        persona=view.persona,
        name=view.name,
        people=view.people,
    )
