"""Asks a small model: deeds by rule first, as a step of their own, then words in plain turns, checked before use.

A run goes on as with any model: each step is written down, judged by policy and made by the dispatcher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assistant.events import Left, Noticed, spoken_text
from assistant.mind import Mind, Run
from assistant.plain_text import call_for_text
from assistant.talk.acts import Deed, asked_deeds, wants_words
from assistant.talk.answer import Line, fallback, judged
from assistant.talk.attend import Turn, View, notes_on
from assistant.talk.check import Heard
from assistant.talk.earlier import earlier_turns
from assistant.talk.outcomes import hits_of, outcomes_of, with_source
from assistant.talk.speak import example_turns, front, last_turns
from assistant.talk.spelling import written_out
from assistant.talk.words import likeness, names_in, words_of
from llm import FinishReason, LLMResponse, Message, ToolCall, Usage
from llm import assistant as assistant_message
from tools import Category, Executed, Status, ToolFailed
from tools.clean import clean_heard, one_line
from tools.context import Person, Scene, Thing

#: Tokens of one answer, and where it ends.
MAX_TOKENS, STOP = 60, ("\n",)
#: The first try keeps to what is known; the second, after an answer that was refused, is freer.
TEMPERATURES = (0.2, 0.7)
#: From this likeness on a line is one of those whose answers the owner wrote: it may be answered so.
ALIKE = 0.5
#: Lines of its own that an answer must not repeat.
OWN_LINES = 6
#: Characters of a description that are shown.
MAX_DETAIL = 400
#: Tools whose success shows by itself: nothing need be said of it.
_SHOWS = frozenset({"move", "emote", "follow", "stay", "home"})


async def ask_plainly(mind: Mind, run: Run) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Return the prompt, its estimated tokens and the next answer of the run; None when nothing is left to say.

    Raises LLMError. Cancelling closes the connection.
    """
    trigger = run.trigger
    if trigger is None:
        return None
    who = one_line(trigger.event.who.name, max_chars=60)
    texts = [spoken_text(heard.event) for heard in run.events if heard.event.who.id == trigger.event.who.id]
    heard = clean_heard(" ".join(filter(None, texts)))
    text = written_out(heard)
    earlier = _earlier(mind, run, heard)
    scene = await _look(mind) if run.scene is None or run.executed else run.scene
    view = await _view(mind, scene, text, [words for turn in earlier[-2:] for words in (turn.heard, turn.said)])
    if not run.executed:
        if calls := _deeds(mind, run, text, who, view):
            return (), 0, _response(calls)
        if not text or isinstance(trigger.event, Noticed):
            return None
    elif all(done.call.name in _SHOWS and done.status is Status.DONE for done in run.executed) and not wants_words(
        text
    ):
        return None
    return await _speak(mind, run, _Asked(who, heard, text, view, earlier))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is answered: who said what, as it was heard and written out, where, and after what."""

    who: str
    heard: str
    text: str
    view: View
    earlier: Sequence[Turn]


def _earlier(mind: Mind, run: Run, heard: str) -> list[Turn]:
    turns = earlier_turns(mind.history.parts(run.hearers), mind.settings.name, {heard})
    return [replace(turn, heard=written_out(turn.heard)) for turn in turns]


async def _look(mind: Mind) -> Scene:
    """What lies round the character; an unseen room is an empty one."""
    try:
        return await mind.world.look()
    except ToolFailed:
        return Scene("", "")


async def _view(mind: Mind, scene: Scene, text: str = "", before: Sequence[str] = ()) -> View:
    """Return what the character sees, and describe what `text` names, or what the lines before it do."""
    settings = mind.settings
    things = tuple(one_line(thing.name) for thing in scene.things)
    carried = tuple(one_line(thing.name) for thing in scene.carried)
    people = tuple(one_line(person.name) for person in scene.people)
    seen: tuple[Thing | Person, ...] = (*scene.things, *scene.carried, *scene.people)
    known = {one_line(one.name): one.description for one in seen}
    details: dict[str, str] = {}
    for name in names_in(text, known) or names_in(" ".join(before), {*things, *carried}):
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
        settings.voice,
    )


async def front_of(mind: Mind) -> list[Message]:
    """Return the messages that every call begins with while the character stays where it is."""
    return front(await _view(mind, await _look(mind)))


async def _inspected(mind: Mind, name: str) -> str:
    try:
        return await mind.world.inspect(name)
    except ToolFailed:
        return ""


def _deeds(mind: Mind, run: Run, text: str, who: str, view: View) -> list[ToolCall]:
    """The calls that the line plainly asks for, of tools that are granted."""
    asked = (_after_who_left(run, deed, view) for deed in asked_deeds(text, who, view))
    deeds = [deed for deed in asked if deed.tool in mind.rules.grant]
    changes = [deed for deed in deeds if (tool := mind.registry.get(deed.tool)) and tool.category is Category.DANGEROUS]
    deeds = [deed for deed in deeds if deed not in changes[1:]]  # a run changes the game once
    return [
        ToolCall(f"{run.id}.{run.written + 1}.{at}", deed.tool, dict(deed.arguments)) for at, deed in enumerate(deeds)
    ]


def _after_who_left(run: Run, deed: Deed, view: View) -> Deed:
    """The deed, or for "follow me" of who has left already, the step after them."""
    if deed.tool != "follow" or deed.arguments["person"] in view.people or run.requester is None:
        return deed
    left = [heard.event for heard in run.events if isinstance(heard.event, Left)]
    ways = [event.direction for event in left if event.who.id == run.requester.id and event.direction]
    return Deed("move", {"direction": ways[-1]}) if ways else deed


async def _speak(mind: Mind, run: Run, asked: _Asked) -> tuple[Sequence[Message], int, LLMResponse] | None:
    """Ask for words, once more when they may not be heard; what is known by rule stands in when both fail."""
    text, view, earlier = asked.text, asked.view, asked.earlier
    notes = notes_on(text, asked.who, view, earlier)
    notes = replace(notes, facts=(*notes.facts, *outcomes_of(run.executed)))
    line = Line(asked.who, text, view, notes, earlier, _heard(asked), frozenset(_done(run.executed)))
    prompt = [*front(view), *last_turns(text, view, notes, earlier)]
    tokens = mind.client.provider.count_tokens(prompt)
    said, usage, response = "", Usage(), None
    for number, temperature in enumerate(TEMPERATURES):
        thinks_first = response is not None and _only_thought(response)
        response = await mind.client.chat_completion(
            prompt,
            deadline=run.meter.deadline,
            caller=mind.purse.caller(mind.me, run.requester),
            max_tokens=mind.model.max_answer_tokens if thinks_first else MAX_TOKENS,
            temperature=temperature,
            stop=() if thinks_first else STOP,
            think=bool(mind.model.think),
            extra_params=variety(mind) if number else mind.model.extra_params,
        )
        usage += response.usage
        first_line = mind.scrub(response.content).strip().partition("\n")[0]
        said, _ = judged(first_line, line, is_last=number == len(TEMPERATURES) - 1)
        if said:
            break
    call = spoken_call(mind, run, with_source(said or fallback(line), hits_of(run.executed)))
    return None if call is None else (prompt, tokens, _response([call], usage, response))


def _only_thought(response: LLMResponse) -> bool:
    """Whether the model used up its answer with thinking, which this server does not turn off."""
    return bool(response.message.reasoning) and not response.content.strip()


def variety(mind: Mind) -> Mapping[str, Any]:
    """Return what makes another try another answer, in the words of this server, with the owner's own parameters."""
    return {**mind.client.provider.variety, **mind.model.extra_params}


def spoken_call(mind: Mind, run: Run, said: str) -> ToolCall | None:
    """Return the call that says it the way the line came: aloud, whispered, paged, or on its channel."""
    event = run.trigger.event if run.trigger else None
    call_id = f"{run.id}.{run.written + 1}.words"
    call = call_for_text(said, "speak", event, addressed=True, call_id=call_id, grant=mind.rules.grant)
    return call if call is not None and call.name in mind.rules.grant else None


def _response(calls: Sequence[ToolCall], usage: Usage | None = None, by: LLMResponse | None = None) -> LLMResponse:
    provider, model = (by.provider, by.model) if by else ("", "")
    return LLMResponse(assistant_message(*calls), FinishReason.TOOL_CALLS, usage or Usage(), provider, model)


def _heard(asked: _Asked) -> Heard:
    text, view, earlier = asked.text, asked.view, asked.earlier
    return Heard(
        now=tuple(dict.fromkeys((asked.heard, text))),
        earlier=[turn.heard for turn in earlier if len(words_of(turn.heard)) > 0],
        own=[turn.said for turn in earlier if turn.said][-OWN_LINES:],
        examples=[
            *(answer for _, answer in example_turns(view)),
            *(said for line, said in view.voice.items() if likeness(words_of(line), words_of(text)) < ALIKE),
        ],
        persona=view.persona,
        name=view.name,
        people=view.people,
    )


def _done(executed: Sequence[Executed]) -> list[str]:
    return [done.call.name for done in executed if done.status is Status.DONE]
