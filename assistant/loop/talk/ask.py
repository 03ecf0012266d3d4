"""Asks a small model: deeds by rule first, as a step of their own, then words in plain turns, checked before use.

A run goes on as with any model: each step is recorded, judged by policy and made by the dispatcher.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from assistant.events.events import Left, Noticed
from assistant.language.acts import Deed, asked_deeds, wants_words
from assistant.language.attend import ToldNotes, Turn, answer_from, notes_on
from assistant.language.check import Heard
from assistant.language.languages import is_foreign
from assistant.language.words import likeness, words_of
from assistant.loop.overheard import overheard, request_hook
from assistant.loop.run import Run, RunContext
from assistant.loop.speech.manner import call_for_text
from assistant.loop.talk.answer import Line, fallback, judge
from assistant.loop.talk.choose import choose_deed
from assistant.loop.talk.found import FOUND_NOTHING, fitting_hits, has_searched, with_source
from assistant.loop.talk.question import Question, example_turns, front, last_turns, question_of, trusted_level
from assistant.loop.talk.turns import (
    by_rule,
    example_deeds,
    fit_to_say,
    lore_facts,
    outcomes_of,
    remembered_facts,
)
from llm import FinishReason, LLMResponse, Message, ToolCall, Usage
from llm import assistant as assistant_message
from tools import Category, Executed, Status
from tools.text.clean import one_line

#: Tokens of one answer, and where it ends.
MAX_TOKENS, STOP = 60, ("\n",)
#: The first try keeps to what is known; the second, after an answer that was refused, is freer.
TEMPERATURES = (0.2, 0.7)
#: From this likeness on, a line counts as one whose answer the owner wrote, and may be answered with it.
ALIKE = 0.5
#: From this likeness on two lines ask the same.
ASKED_AGAIN = 0.8
#: How many of its own last lines an answer must not repeat.
OWN_LINES = 6
#: Tools whose success shows by itself, so nothing need be said of it.
_SHOWS = frozenset({"move", "emote", "home"})
#: What is said of a deed that does not show by itself, without asking the model: one of each in turn.
_DID = {
    "take": ("I have the {thing}.", "The {thing} it is.", "Very well, I take the {thing} with me."),
    "drop": ("There lies the {thing}.", "I have put the {thing} down."),
    "give": ("Here you are.", "There you go.", "Take good care of it."),
    "follow": ("Lead on.", "I am right behind you.", "After you."),
    "stay": ("I stay here.", "I will wait here."),
}
#: What is said of a deed that did not work, without asking the model.
_CANNOT = {
    "move": "I cannot go there.",
    "take": "I cannot take the {thing}.",
    "drop": "I cannot put the {thing} down.",
    "give": "I cannot give the {thing} away.",
    "follow": "I cannot follow you.",
    "home": "I cannot go home now.",
}


async def ask_plainly(context: RunContext, run: Run) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Return the prompt, its estimated tokens and the next answer of the run; None when nothing is left to say.

    Raises LLMError. Cancelling closes the connection.
    """
    asked, trigger = await question_of(context, run), run.trigger
    if asked is None or trigger is None:
        return None
    if not run.executed:
        # A deed follows from the line of who asks and from the names in the scene, and from nothing that others said.
        level = trusted_level(context, run)
        if calls := _deeds(context, run, asked, asked_deeds(asked.text, asked.who, asked.view, asked.it)):
            return (), 0, replace(_response(calls), shown_from=level)
        deed, usage = await choose_deed(context, run, asked)
        if deed is not None and (calls := _deeds(context, run, asked, [deed])):
            return (), 0, replace(_response(calls, usage), shown_from=level)
        if not (asked.text or asked.deed) or isinstance(trigger.event, Noticed):
            return None
    elif not wants_words(asked.text):
        if all(_shows(done) for done in run.executed):
            return None
        told = _cannot(run.executed) or ("" if is_foreign(asked.text) else _did(run.executed, len(asked.earlier)))
        if told:
            call = speech_call(context, run, told)
            return None if call is None else ((), 0, _response([call]))
    return await _speak(context, run, asked)


def _shows(done: Executed) -> bool:
    return done.call.name in _SHOWS and done.status is Status.DONE


def _cannot(executed: Sequence[Executed]) -> str:
    """Return what is said of the first deed that did not work, empty when each did."""
    failed = [done.call for done in executed if done.status is not Status.DONE and done.call.name in _CANNOT]
    return _CANNOT[failed[0].name].format(**_arguments(failed[0])) if failed else ""


def _did(executed: Sequence[Executed], number: int) -> str:
    """Return what is said of the first of these deeds, empty for none. Another `number` may give other words."""
    done = [one.call for one in executed if one.call.name in _DID]
    if not done:
        return ""
    choices = _DID[done[0].name]
    return choices[number % len(choices)].format(**_arguments(done[0]))


def _arguments(call: ToolCall) -> dict[str, str]:
    return {key: one_line(str(value), max_chars=60) for key, value in call.arguments.items()}


def _deeds(context: RunContext, run: Run, asked: Question, wanted: Sequence[Deed]) -> list[ToolCall]:
    """Return the calls of the wanted deeds whose tools are granted."""
    wanted = [_after_who_left(run, deed, asked) for deed in wanted]
    deeds = [deed for deed in wanted if deed.tool in context.rules.grant]
    changes = [
        deed for deed in deeds if (tool := context.registry.get(deed.tool)) and tool.category is Category.DANGEROUS
    ]
    deeds = [deed for deed in deeds if deed not in changes[1:]]  # a run changes the game only once
    return [
        ToolCall(f"{run.id}.{run.written + 1}.{at}", deed.tool, dict(deed.arguments)) for at, deed in enumerate(deeds)
    ]


def _after_who_left(run: Run, deed: Deed, asked: Question) -> Deed:
    """Return the deed. "Follow me" from a speaker who has left already becomes the step after them."""
    if deed.tool != "follow" or deed.arguments["person"] in asked.view.people or run.requester is None:
        return deed
    left = [heard.event for heard in run.events if isinstance(heard.event, Left)]
    ways = [event.direction for event in left if event.who.id == run.requester.id and event.direction]
    return Deed("move", {"direction": ways[-1]}) if ways else deed


async def _speak(context: RunContext, run: Run, asked: Question) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Ask for words, and once more when they may not be heard. What is known by rule stands in when both fail."""
    line, shown = _line(run, asked)
    hits = fitting_hits(run.executed)
    known = line.notes.answer or answer_from(asked.text, (*line.notes.facts, *line.notes.maybe))
    if has_searched(run.executed) and not hits and not known:
        call = speech_call(context, run, FOUND_NOTHING)
        return None if call is None else ((), 0, _response([call]))
    prompt = [*front(asked.view), *last_turns(asked.text, asked.view, line.notes, shown)]
    tokens = context.client.provider.count_tokens(prompt)
    said, usage, response = "", Usage(), None
    tries: list[str] = []
    for number, temperature in enumerate(TEMPERATURES):
        thinks_first = response is not None and _only_thought(response)
        response = await context.client.chat_completion(
            prompt,
            deadline=run.meter.deadline,
            listener=overheard(context, run),
            caller=context.billing.caller(context.me, run.requester),
            on_request=request_hook(context, run),
            max_tokens=context.model.max_answer_tokens if thinks_first else MAX_TOKENS,
            temperature=temperature,
            stop=() if thinks_first else STOP,
            think=bool(context.model.think),
            vary=number > 0,
        )
        usage += response.usage
        tries.insert(0, context.scrub(response.content).strip().partition("\n")[0])
        if said := _fit(tries[0], line, asked):
            break
    said = said or next(filter(None, (_fit(words, line, asked, is_last=True) for words in tries)), "")
    if asked.text:
        said = with_source(said or fallback(line), hits)
    call = speech_call(context, run, said)
    return None if call is None else (prompt, tokens, _response([call], usage, response))


def _fit(words: str, line: Line, asked: Question, *, is_last: bool = False) -> str:
    said, _ = judge(words, line, is_last=is_last)
    return said if asked.text else fit_to_say(said, asked.who, asked.deed, line.heard.examples)


def _line(run: Run, asked: Question) -> tuple[Line, Sequence[Turn]]:
    """Return what the answer is judged by, and the turns that are shown before it.

    Before a deed, example answers to deeds are shown: a small model would copy its last answer.
    """
    text, who, view, earlier = asked.text, asked.who, asked.view, asked.earlier
    notes = notes_on(text, who, view, earlier) if text else ToldNotes()
    remembered = remembered_facts(run.recalled, run.requester, text)
    facts = dict.fromkeys((*notes.facts, *remembered, *outcomes_of(run.executed), *filter(None, [asked.deed])))
    notes = replace(notes, facts=tuple(facts), maybe=(*notes.maybe, *lore_facts(run.lore)))
    did = frozenset(done.call.name for done in run.executed if done.status is Status.DONE)
    if text:
        return Line(who, text, view, notes, earlier, _heard(asked), did), earlier
    deeds = example_deeds(who)
    examples = [one for turn in example_turns(view) for one in turn] + [one.said for one in deeds]
    heard = replace(_heard(asked), now=(asked.deed,), examples=examples)
    return Line(who, text, view, notes, earlier, heard, did), deeds


def _heard(asked: Question) -> Heard:
    text, view, earlier = asked.text, asked.view, asked.earlier
    return Heard(
        now=tuple(dict.fromkeys((asked.heard, text))),
        earlier=[turn.heard for turn in earlier if len(words_of(turn.heard)) > 0],
        own=[
            *(said for line, said in view.voice.items() if likeness(words_of(line), words_of(text)) < ALIKE),
            *[turn.said for turn in earlier if turn.said and not _is_asked_again(turn, text)][-OWN_LINES:],
        ],
        examples=[one for turn in example_turns(view) for one in turn],
        persona=view.persona,
        name=view.name,
        people=view.people,
    )


def _is_asked_again(turn: Turn, text: str) -> bool:
    """Tell whether a line was asked before in about the same words: then the same answer is right again."""
    return likeness(words_of(turn.heard), words_of(text)) > ASKED_AGAIN


def _only_thought(response: LLMResponse) -> bool:
    """Tell whether the model used up its answer with thinking, which this server does not turn off."""
    return bool(response.message.reasoning) and not response.content.strip()


def speech_call(context: RunContext, run: Run, said: str) -> ToolCall | None:
    """Return the call that says it the way the line came: aloud, whispered, paged, or on its channel.

    Without words, return the call that answers a deed by rule.
    """
    event = run.trigger.event if run.trigger else None
    call_id = f"{run.id}.{run.written + 1}.words"
    if event is not None and not said:
        tool, words = by_rule(event, context.rules.grant)
        return ToolCall(call_id, tool, {"text": words}) if tool in context.rules.grant else None
    call = call_for_text(said, "speak", event, addressed=True, call_id=call_id, grant=context.rules.grant)
    return call if call is not None and call.name in context.rules.grant else None


def _response(calls: Sequence[ToolCall], usage: Usage | None = None, by: LLMResponse | None = None) -> LLMResponse:
    provider, model = (by.provider, by.model) if by else ("", "")
    return LLMResponse(assistant_message(*calls), FinishReason.TOOL_CALLS, usage or Usage(), provider, model)
