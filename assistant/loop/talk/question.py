"""What a small model is asked: the line or deed to answer, the scene it is about, and the prompt made of them.

The prompt is persona, rules and scene, a few neutral example turns, the last turns. Everything before the last turns
stays the same while the character stays where it is, so a local server keeps it in its cache.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from assistant.events.classify import is_unspoken
from assistant.events.events import Arrived
from assistant.language.attend import DEED, ToldNotes, Turn, View
from assistant.language.languages import write_out
from assistant.language.words import names_in, words_of
from assistant.loop.prompt import ENOUGH_VOICE
from assistant.loop.run import Run, RunContext
from assistant.loop.talk.turns import describe_deeds, earlier_turns, words_in
from llm import Message, system, user
from llm.messages import Role, Text
from tools import ToolFailed
from tools.game import Person, Scene, Thing
from tools.policy.decide import level_of
from tools.text.clean import clean_heard, one_line

#: The fewest earlier turns that are shown, where there are so many, and the most.
LEAST_TURNS, MAX_TURNS = 4, 8
RULES = """{persona}
Your name is {name}. You talk with a visitor. Answer what they say in one or two short sentences, as {name}, \
in your own words.
Speak only of what is told here; when you are asked about anything else, say that you do not know it or do not see it.
Place: {room}. {description}
Things here, and nothing else: {things}.
Ways out: {ways}."""
#: Nouns to choose from for the examples: those in the scene are passed over, so no example can be true of it.
_NOUNS = (("mules", "mule"), ("windows", "window"), ("fences", "fence"), ("yaks", "yak"))
_SMALL = (("pebble", "thimble"), ("walnut", "shoelace"), ("acorn", "bobbin"))
_ODD = ("elephant", "lighthouse", "volcano")
#: Examples that only show how to talk.
_TALK = (
    ("Thank you for your help.", "You are welcome. It was no trouble."),
    ("I am tired today.", "Then rest a little, you look worn out."),
    ("You are a fool!", "Call me what you like, I do not mind."),
)
#: The most characters of a description that are shown.
MAX_DETAIL = 400


class Question(Struct, frozen=True):
    """The line or the deed to answer. `text` is what was heard, written out; `deed` is what was done without speech."""

    who: str
    heard: str
    text: str
    deed: str
    view: View
    earlier: Sequence[Turn]
    #: The thing that one of the two lines before named last, empty for none. Lines trusted less than the asker's do not
    #: count: what is done to it follows from them.
    it: str


async def question_of(context: RunContext, run: Run) -> Question | None:
    """Return what the run is to answer; None when no event woke it."""
    trigger = run.trigger
    if trigger is None:
        return None
    names = (context.settings.name, *context.settings.aliases)
    theirs = [heard for heard in run.known_events if heard.event.who.id == trigger.event.who.id]
    meant = [heard.event for heard in theirs if heard.attention.addressed or not is_unspoken(trigger.event)]
    heard = clean_heard(" ".join(filter(None, map(words_in, meant))))
    deeds = [one.event for one in theirs if one.attention.addressed or not isinstance(one.event, Arrived)]
    now = {heard} if heard else frozenset[str]()
    turns = trusted = earlier_turns(context.history.parts(run.hearers), names, now)
    if (least := trusted_level(context, run)) > context.history.min_level():
        trusted = earlier_turns(context.history.parts(run.hearers, least), names, now)
    earlier = [replace(turn, heard=write_out(turn.heard)) if turn.who else turn for turn in turns]
    scene = await _look(context) if run.scene is None or run.executed else run.scene
    text = write_out(heard)
    view = await _view(context, scene, text, [words for turn in earlier[-2:] for words in (turn.heard, turn.said)])
    who = one_line(trigger.event.who.name, max_chars=60)
    things = (*view.things, *view.carried)
    named = [name for turn in trusted[-2:] for name in names_in(write_out(turn.heard), things)]
    return Question(who, heard, text, describe_deeds(deeds, names), view, earlier, named[-1] if named else "")


def trusted_level(context: RunContext, run: Run) -> int:
    """Return the level of the line of who asks, and no more than that of the names in the scene."""
    return min(level_of(run.requester, context.rules.world_text), context.rules.world_text)


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


def last_turns(line: str, view: View, notes: ToldNotes, earlier: Sequence[Turn]) -> list[Message]:
    """Return the turns at the end: the latest earlier ones, and the line with its notes before it."""
    messages: list[Message] = []
    for turn in _shown(earlier):
        messages += [user(without_name(turn.heard, view.name)), _said(turn.said or DEED)]
    told = notes.text()
    bare = without_name(line, view.name)
    return [*messages, user(f"({told})\n{bare}".rstrip() if told else bare)]


def front(view: View) -> list[Message]:
    """Return the messages that stay the same while the scene does."""
    ways = "; ".join(f"{way} to {room}" if room else way for way, room in view.ways) or "none"
    text = RULES.format(
        persona=" ".join(view.persona.split()),
        name=view.name,
        room=view.room,
        description=" ".join(view.description.split()),
        things=", ".join(view.things) or "none",
        ways=ways,
    )
    messages = [system(text)]
    for heard, said in (*example_turns(view), *view.voice.items()):
        messages += [user(heard), _said(said)]
    return messages


def example_turns(view: View) -> tuple[tuple[str, str], ...]:
    """Return the example turns, each a line and its answer, with nouns that are not in the scene or the persona.

    Those that only show how to talk are left out where the character's own voice shows that.
    """
    known = view.words()
    many = next((many for many, one in _NOUNS if one not in known), _NOUNS[-1][0])
    small, other = next(((one, two) for one, two in _SMALL if not {one, two} & known), _SMALL[-1])
    odd = next((noun for noun in _ODD if noun not in known), _ODD[-1])
    an_odd = f"an {odd}" if odd[0] in "aeiou" else f"a {odd}"
    told = (
        (f"My brother owns two {many}.", f"Two {many}! He must be a busy man."),
        (f"(Your brother owns two {many}.)\nWhat does my brother own?", f"Your brother owns two {many}."),
        (f"(Here you see: {small}, {other}.)\nWhat is here?", f"I see a {small} and a {other}."),
        (f"(There is no {odd} here.)\nWhere is your {odd}?", f"I have never seen {an_odd} here."),
    )
    return told if len(view.voice) >= ENOUGH_VOICE else (*_TALK[:2], *told, *_TALK[2:])


def _shown(earlier: Sequence[Turn]) -> Sequence[Turn]:
    """Return the latest turns, from one that stays the first of them for a while: a server then keeps them read.

    Which one it is follows from its words, so it is found again when newer turns have come.
    """
    if len(earlier) <= MAX_TURNS:
        return earlier
    latest = earlier[-MAX_TURNS:]
    starts = range(MAX_TURNS - LEAST_TURNS + 1)
    return latest[min(starts, key=lambda at: crc32(f"{latest[at].heard}{latest[at].said}".encode())) :]


def without_name(line: str, name: str) -> str:
    """Return a line without the name it calls: "Marlo, what is in the barrel?" is a question about the barrel."""
    called = re.escape(name)
    begins = rf"^\W*@?{called}(?:\s*[,:!.]+\s*|\s+(?!(?:is|was|has|had|will|can|could|and|or|does|did)\b))"
    pattern = rf"{begins}|[\s,]+@?{called}(?=\s*[.!?]*$)"
    bare = re.sub(pattern, "", line, flags=re.IGNORECASE).strip()
    return bare[:1].upper() + bare[1:] if words_of(bare) else line


def _said(text: str) -> Message:
    return Message(Role.ASSISTANT, (Text(text),))
