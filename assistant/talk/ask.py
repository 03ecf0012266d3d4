"""Asks a small model: deeds by rule first, as a step of their own, then words in plain turns, checked before use.

A run goes on as with any model: each step is written down, judged by policy and made by the dispatcher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.classify import is_unspoken
from assistant.events import Arrived, Noticed
from assistant.mind import Mind, Run
from assistant.plain_text import call_for_text
from assistant.talk.acts import asked_deeds, wants_words
from assistant.talk.answer import Line, fallback, judged
from assistant.talk.attend import Notes, Turn, View, notes_on
from assistant.talk.check import Heard
from assistant.talk.earlier import earlier_turns
from assistant.talk.happened import by_rule, example_deeds, fit_to_say, happened, words_in
from assistant.talk.speak import example_turns, front, last_turns
from assistant.talk.words import names_in, words_of
from llm import FinishReason, LLMResponse, Message, ToolCall, Usage
from llm import assistant as assistant_message
from tools import Executed, Status, ToolFailed
from tools.clean import clean_heard, one_line
from tools.context import Person, Scene, Thing

#: Tokens of one answer, and where it ends.
MAX_TOKENS, STOP = 60, ("\n",)
#: The first try keeps to what is known; the second, after an answer that was refused, is freer.
TEMPERATURES = (0.2, 0.7)
#: Lines of its own that an answer must not repeat.
OWN_LINES = 6
#: Characters of a description that are shown.
MAX_DETAIL = 400
#: Tools whose success shows by itself: nothing need be said of it.
_SHOWS = frozenset({"move", "emote", "follow", "stay", "home"})
_DONE = {
    "take": "You have just taken the {thing}.",
    "drop": "You have just put down the {thing}.",
    "give": "You have just given the {thing} to {person}.",
    "inspect": "You have just looked at the {target}.",
}


async def ask_plainly(mind: Mind, run: Run) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Return the prompt, its estimated tokens and the next answer of the run; None when nothing is left to say.

    Raises LLMError. Cancelling closes the connection.
    """
    trigger = run.trigger
    if trigger is None:
        return None
    who = one_line(trigger.event.who.name, max_chars=60)
    theirs = [heard for heard in run.events if heard.event.who.id == trigger.event.who.id]
    meant = [heard.event for heard in theirs if heard.attention.addressed or not is_unspoken(trigger.event)]
    text = clean_heard(" ".join(filter(None, map(words_in, meant))))
    deeds = [one.event for one in theirs if one.attention.addressed or not isinstance(one.event, Arrived)]
    deed = happened(deeds, (mind.me.name, *mind.settings.aliases))
    view = await view_of(mind, text)
    if not run.executed:
        if calls := _deeds(mind, run, text, who, view):
            return (), 0, _response(calls)
        if not (text or deed) or isinstance(trigger.event, Noticed):
            return None
    elif all(done.call.name in _SHOWS and done.status is Status.DONE for done in run.executed) and not wants_words(
        text
    ):
        return None
    return await _speak(mind, run, text, who, view, deed=deed)


async def view_of(mind: Mind, text: str = "") -> View:
    """Return what the character sees, with the descriptions of what `text` names. An unseen room is an empty one."""
    try:
        scene = await mind.world.look()
    except ToolFailed:
        scene = Scene("", "")
    settings = mind.settings
    things = tuple(one_line(thing.name) for thing in scene.things)
    carried = tuple(one_line(thing.name) for thing in scene.carried)
    people = tuple(one_line(person.name) for person in scene.people)
    seen: tuple[Thing | Person, ...] = (*scene.things, *scene.carried, *scene.people)
    known = {one_line(one.name): one.description for one in seen}
    details: dict[str, str] = {}
    for name in names_in(text, known):
        told = known[name] or await _inspected(mind, name)
        if detail := clean_heard(told, MAX_DETAIL):
            details[name] = detail
    ways = tuple((one_line(way), one_line(scene.behind.get(way, ""))) for way in scene.exits)
    return View(
        settings.name,
        settings.persona,
        one_line(scene.room),
        clean_heard(scene.description, MAX_DETAIL * 3),
        ways,
        things,
        carried,
        people,
        details,
    )


async def front_of(mind: Mind) -> list[Message]:
    """Return the messages that every call begins with while the character stays where it is."""
    return front(await view_of(mind))


async def _inspected(mind: Mind, name: str) -> str:
    try:
        return await mind.world.inspect(name)
    except ToolFailed:
        return ""


def _deeds(mind: Mind, run: Run, text: str, who: str, view: View) -> list[ToolCall]:
    """The calls that the line plainly asks for, of tools that are granted."""
    deeds = [deed for deed in asked_deeds(text, who, view) if deed.tool in mind.rules.grant]
    return [
        ToolCall(f"{run.id}.{run.written + 1}.{at}", deed.tool, dict(deed.arguments)) for at, deed in enumerate(deeds)
    ]


async def _speak(
    mind: Mind, run: Run, text: str, who: str, view: View, *, deed: str = ""
) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Ask for words, once more when they may not be heard; what is known by rule stands in when both fail.

    `deed` is what was done without speech; where there is no `text`, it is what is answered.
    """
    names = (view.name, *mind.settings.aliases)
    earlier = earlier_turns(mind.history.parts(run.hearers), names, {text} if text else ())
    notes = notes_on(text, who, view, earlier) if text else Notes()
    notes = replace(notes, facts=(*notes.facts, *_outcomes(run.executed), *filter(None, [deed])))
    heard = _heard(text or deed, view, earlier)
    shown = earlier if text else example_deeds(who)  # a small model would copy its last answer
    lines = [one for turn in example_turns(view) for one in turn] + [one.said for one in example_deeds(who)]
    heard = heard if text else replace(heard, examples=lines)
    line = Line(who, text, view, notes, earlier, heard, frozenset(_done(run.executed)))
    prompt = [*front(view), *last_turns(text, view, notes, shown)]
    tokens = mind.client.provider.count_tokens(prompt)
    said, usage, response = "", Usage(), None
    for number, temperature in enumerate(TEMPERATURES):
        response = await mind.client.chat_completion(
            prompt,
            deadline=run.meter.deadline,
            caller=mind.purse.caller(mind.me, run.requester),
            max_tokens=MAX_TOKENS,
            temperature=temperature,
            stop=STOP,
            extra_params=_variety(mind, number),
        )
        usage += response.usage
        said, _ = judged(mind.scrub(response.content), line, is_last=number == len(TEMPERATURES) - 1)
        said = said if text else fit_to_say(said, who, deed, lines)
        if said:
            break
    call = _call(mind, run, said or (fallback(line) if text else ""))
    return None if call is None else (prompt, tokens, _response([call], usage, response))


def _variety(mind: Mind, number: int) -> Mapping[str, Any]:
    """What makes another try another answer, in the words of this server; nothing for the first."""
    return mind.client.provider.variety if number else {}


def _call(mind: Mind, run: Run, said: str) -> ToolCall | None:
    """Speech the way the line came: aloud, whispered, paged, or on its channel."""
    event = run.trigger.event if run.trigger else None
    call_id = f"{run.id}.{run.written + 1}.words"
    if event is not None and not said:
        tool, words = by_rule(event, mind.rules.grant)
        return ToolCall(call_id, tool, {"text": words}) if tool in mind.rules.grant else None
    call = call_for_text(said, "speak", event, addressed=True, call_id=call_id, grant=mind.rules.grant)
    return call if call is not None and call.name in mind.rules.grant else None


def _response(calls: Sequence[ToolCall], usage: Usage | None = None, by: LLMResponse | None = None) -> LLMResponse:
    provider, model = (by.provider, by.model) if by else ("", "")
    return LLMResponse(assistant_message(*calls), FinishReason.TOOL_CALLS, usage or Usage(), provider, model)


def _heard(text: str, view: View, earlier: Sequence[Turn]) -> Heard:
    return Heard(
        now=(text,),
        earlier=[turn.heard for turn in earlier if len(words_of(turn.heard)) > 0],
        own=[turn.said for turn in earlier if turn.said][-OWN_LINES:],
        examples=[answer for _, answer in example_turns(view)],
        persona=view.persona,
        name=view.name,
        people=view.people,
    )


def _done(executed: Sequence[Executed]) -> list[str]:
    return [done.call.name for done in executed if done.status is Status.DONE]


def _outcomes(executed: Sequence[Executed]) -> list[str]:
    """What came of the deeds, in sentences the model is told."""
    told = []
    for done in executed:
        name, arguments = done.call.name, {key: str(value) for key, value in done.call.arguments.items()}
        if done.status is not Status.DONE:
            told.append(f"You tried, and it did not work: {one_line(done.result.text, max_chars=200)}")
        elif name in _DONE:
            told.append(_DONE[name].format(**arguments))
    return told
