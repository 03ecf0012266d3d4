"""What a small model is asked: the line or deed to answer, the scene it is about, and the prompt made of them.

The prompt is persona, rules and scene, a few example turns, who is there, the last turns. Everything before the last
turns stays the same while the character stays where it is, so a local server keeps it in its cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.events.classify import is_unspoken
from mud_assistant.assistant.events.events import Arrived
from mud_assistant.assistant.language.attend import DEED, ToldNotes, Turn, View, place_asked, way_told
from mud_assistant.assistant.language.knowing import facts_in
from mud_assistant.assistant.language.languages import write_out
from mud_assistant.assistant.language.words import names_in, sentences_of, words_of
from mud_assistant.assistant.loop.prompt import ENOUGH_VOICE, tells_nothing
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.talk.turns import describe_deeds, earlier_turns, words_in
from mud_assistant.assistant.models.chosen import size_of
from mud_assistant.llm import Message, system, user
from mud_assistant.llm.messages import Role, Text
from mud_assistant.tools import PolicyConfig, ToolFailed, World
from mud_assistant.tools.game import Person, Scene, Thing, way_to
from mud_assistant.tools.policy.decide import level_of
from mud_assistant.tools.text.clean import clean_heard, one_line

#: The fewest earlier turns that are shown, where there are so many, and the most.
LEAST_TURNS, MAX_TURNS = 2, 6
#: How many characters of an earlier line or answer are shown, or else one sentence.
MAX_SHOWN = 120
#: The most examples of the owner's that are shown: a local model takes seconds to read them all.
MAX_VOICE = 8
#: A model of fewer billions of parameters than this is told less of how to play: it would repeat what it is told. Its
#: answers are checked more strictly (`answer.py`).
TINY_BELOW = 1.0
_TINY = """{persona}
Your name is {name}. You talk with a visitor. Answer what they say in one or two short sentences, as {name}, \
in your own words.
You have a life of your own: say what you feel, what you like and what you remember, and tell of it."""
_PLAY = """You play {name}, a person in a story. {persona}
Stay {name}: a stubborn, living person with feelings and opinions, not a helper. Answer in one or two short, lively \
sentences. Take a side, give a reason, or ask something back."""
_SCENE = """\
(Place: {room}. {description}
Things here, and nothing else: {things}.
Ways out: {ways}.)
What is here?"""
#: Examples that only show how to talk. What is said in them is right of anybody, so that nobody hears false history.
_LIVELY = (
    ("How are you?", "Better than I look, and I have had worse years. And you?"),
    ("I hurt my hand, it will not stop bleeding.", "Show me. Hold it up, and I will find you a clean cloth."),
    ("I bake bread for a living.", "Bread! Then nobody is ever sorry to see you come. Is it hard work?"),
    ("You are a fool!", "I have been called worse by better. What have I done to you?"),
    ("Have you seen my cousin?", "Nobody like that has come by. What does your cousin look like?"),
    ("What do you think of kings?", "I never met one who carried his own water. I do not think much of them."),
    ("My dog died.", "I am sorry. That is a hard loss. What was he like?"),
    ("What would you do with a bag of gold?", "Mend the roof first. Then I would sleep for a week."),
    ("I am afraid.", "So am I, more often than I show. What is it that frightens you?"),
)
_TALK = (
    ("Thank you for your help.", "You are welcome. It was no trouble."),
    ("You are a fool!", "Call me what you like, I do not mind."),
    ("I bake bread for a living.", "An honest trade! And how is business?"),
    ("I have had a bad day.", "I am sorry to hear that. Sit down, and tell me of it."),
)
#: Nouns for an example of something that is not there.
_ODD = ("elephant", "lighthouse", "volcano")
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
    #: When it is, and who they are to the character, where their talk begins; empty for nothing known.
    visitor: str = ""


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
    turns = trusted = earlier_turns(context.memory.history.parts(run.hearers), names, now)
    if (least := trusted_level(context.rules, run)) > context.memory.history.min_level():
        trusted = earlier_turns(context.memory.history.parts(run.hearers, least), names, now)
    earlier = [replace(turn, heard=write_out(turn.heard)) if turn.who else turn for turn in turns]
    scene = await _look(context.body.world) if run.scene is None or run.progress.executed else run.scene
    text = write_out(heard)
    view = await _view(context, scene, text, [words for turn in earlier[-2:] for words in (turn.heard, turn.said)])
    if (place := place_asked(text, view)) and (way := await way_to(context.body.world, place)) is not None:
        view = replace(view, routes=(way_told(one_line(way.room), [one_line(step) for step in way.steps]),))
        if way.authority is not None:
            run.trust.lower(way.authority)
    who = one_line(trigger.event.who.name, max_chars=60)
    things = (*view.things, *view.carried)
    named = [name for turn in trusted[-2:] for name in names_in(write_out(turn.heard), things)]
    is_met = any(turn.who == who and turn.said for turn in _shown(earlier))
    visitor = "" if is_met else " ".join(filter(None, (scene.moment, run.recalled.visitor)))
    return Question(who, heard, text, describe_deeds(deeds, names), view, earlier, named[-1] if named else "", visitor)


def trusted_level(rules: PolicyConfig, run: Run) -> int:
    """Return the level of the line of who asks, and no more than that of the names in the scene."""
    return min(level_of(run.requester, rules.world_text), rules.world_text)


async def front_of(context: RunContext) -> list[Message]:
    """Return the messages that every call begins with while the character stays where it is."""
    return front(await _view(context, await _look(context.body.world)))


async def _look(world: World) -> Scene:
    """Return the scene round the character; an empty scene when the room cannot be seen."""
    try:
        return await world.look()
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
        told = known[name] or await _inspected(context.body.world, name)
        if (detail := clean_heard(told, MAX_DETAIL)) and not tells_nothing(detail, name):
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
        described={name: clean_heard(text, MAX_DETAIL) for name, text in known.items() if text},
        is_tiny=(size_of(context.model.client.provider.model) or TINY_BELOW) < TINY_BELOW,
    )


async def _inspected(world: World, name: str) -> str:
    try:
        return await world.inspect(name)
    except ToolFailed:
        return ""


def last_turns(line: str, view: View, notes: ToldNotes, earlier: Sequence[Turn], visitor: str = "") -> list[Message]:
    """Return the turns at the end: the latest earlier ones, and the line with its notes before it.

    `visitor` says who is there, and when. It stands in the notes, since turns that stay the same are kept read by a
    local server.
    """
    heard = [(brief(without_name(turn.heard, view.name)), brief(turn.said) or DEED) for turn in _shown(earlier)]
    told = " ".join(filter(None, (visitor, notes.text())))
    heard.append((f"({told})\n{without_name(line, view.name)}".rstrip() if told else without_name(line, view.name), ""))
    return messages_of(heard)


def brief(text: str) -> str:
    """Return the first sentences of a text, as many as fit, but one at least: a long story takes seconds to read."""
    first, *others = sentences_of(text) or [""]
    for one in others:
        if len(first) + len(one) >= MAX_SHOWN:
            break
        first += f" {one}"
    return first


def front(view: View) -> list[Message]:
    """Return the messages that stay the same while the scene does. The scene is the last of them.

    Where something is taken or put down, only what stands behind it is read anew.
    """
    text = (_TINY if view.is_tiny else _PLAY).format(persona=" ".join(view.persona.split()), name=view.name)
    scene = _SCENE.format(
        room=view.room,
        description=" ".join(view.description.split()),
        things=", ".join(view.things) or "none",
        ways="; ".join(view.ways_told()) or "none",
    )
    voice = list(view.voice.items())[:MAX_VOICE]
    return [system(text), *messages_of((*example_turns(view), *voice, (scene, view.seen_told())))]


def example_turns(view: View) -> tuple[tuple[str, str], ...]:
    """Return the example turns, each a line and its answer. What they tell of the character is true.

    Those that only show how to talk are left out where the character's own voice shows that.
    """
    own = next((fact for fact in facts_in(view.persona, view.name) if fact.startswith("I ")), "")
    odd = next((noun for noun in _ODD if noun not in view.words()), _ODD[-1])
    told = (
        *([(f"({own})\nWhat do you do?", own)] if own else []),
        ('(They said: "I come from far away.")\nWhere do I come from?', "You come from far away."),
        (f"(There is no {odd} here.)\nWhere is your {odd}?", f"I have never seen any {odd} here."),
    )
    if len(view.voice) >= ENOUGH_VOICE:
        return told
    return (*told, *(_TALK if view.is_tiny else _LIVELY))


def must_not_be_copied(view: View) -> list[str]:
    """Return the lines of the examples that are not true of the character or the place."""
    return [text for turn in example_turns(view) if "(I " not in turn[0] for text in turn]


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


def messages_of(turns: Iterable[tuple[str, str]]) -> list[Message]:
    """Return turns as messages: what was heard, and what was said to it, if anything."""
    both = ((user(heard), *([Message(Role.ASSISTANT, (Text(said),))] if said else [])) for heard, said in turns)
    return [message for messages in both for message in messages]
