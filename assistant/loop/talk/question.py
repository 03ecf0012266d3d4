"""Gathers what a small model is to answer: who said or did what, where, with which things in view, and after what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.events.classify import is_unspoken
from assistant.events.events import Arrived
from assistant.language.attend import Turn, View
from assistant.language.languages import write_out
from assistant.language.words import names_in
from assistant.loop.run import Run
from assistant.loop.run_context import RunContext
from assistant.loop.talk.deeds import describe_deeds, words_in
from assistant.loop.talk.earlier import earlier_turns
from assistant.loop.talk.speak import front
from llm import Message
from tools import ToolFailed
from tools.game import Person, Scene, Thing
from tools.text.clean import clean_heard, one_line

#: The most characters of a description that are shown.
MAX_DETAIL = 400


@dataclass(frozen=True, slots=True)
class Question:
    """The line or the deed to answer. `text` is what was heard, written out; `deed` is what was done without speech."""

    who: str
    heard: str
    text: str
    deed: str
    view: View
    earlier: Sequence[Turn]

    @property
    def it(self) -> str:
        """The thing that one of the two lines before named last, empty for none."""
        things = (*self.view.things, *self.view.carried)
        named = [name for turn in self.earlier[-2:] for name in names_in(turn.heard, things)]
        return named[-1] if named else ""


async def question_of(context: RunContext, run: Run) -> Question | None:
    """Return what the run is to answer; None when no event woke it."""
    trigger = run.trigger
    if trigger is None:
        return None
    names = (context.settings.name, *context.settings.aliases)
    theirs = [heard for heard in run.events if heard.event.who.id == trigger.event.who.id]
    meant = [heard.event for heard in theirs if heard.attention.addressed or not is_unspoken(trigger.event)]
    heard = clean_heard(" ".join(filter(None, map(words_in, meant))))
    deeds = [one.event for one in theirs if one.attention.addressed or not isinstance(one.event, Arrived)]
    turns = earlier_turns(context.history.parts(run.hearers), names, {heard} if heard else ())
    earlier = [replace(turn, heard=write_out(turn.heard)) if turn.who else turn for turn in turns]
    scene = await _look(context) if run.scene is None or run.executed else run.scene
    text = write_out(heard)
    view = await _view(context, scene, text, [words for turn in earlier[-2:] for words in (turn.heard, turn.said)])
    who = one_line(trigger.event.who.name, max_chars=60)
    return Question(who, heard, text, describe_deeds(deeds, names), view, earlier)


async def front_of(context: RunContext) -> list[Message]:
    """Return the messages that every call begins with while the character stays where it is."""
    return front(await _view(context, await _look(context)))


async def _look(context: RunContext) -> Scene:
    """Return the scene round the character; an empty scene when the room cannot be seen."""
    try:
        return await context.world.look()
    except ToolFailed:
        return Scene("", "")


async def _view(context: RunContext, scene: Scene, text: str = "", before: Sequence[str] = ()) -> View:
    """Return what the character sees, with descriptions of what `text` names, or else what the lines `before` name."""
    settings = context.settings
    things = tuple(one_line(thing.name) for thing in scene.things)
    carried = tuple(one_line(thing.name) for thing in scene.carried)
    people = tuple(one_line(person.name) for person in scene.people)
    seen: tuple[Thing | Person, ...] = (*scene.things, *scene.carried, *scene.people)
    known = {one_line(one.name): one.description for one in seen}
    details: dict[str, str] = {}
    for name in names_in(text, known) or names_in(" ".join(before), {*things, *carried}):
        told = known[name] or await _inspected(context, name)
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
        {name: clean_heard(text, MAX_DETAIL) for name, text in known.items() if text},
    )


async def _inspected(context: RunContext, name: str) -> str:
    try:
        return await context.world.inspect(name)
    except ToolFailed:
        return ""
