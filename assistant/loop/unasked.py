"""What a run does without asking its model: a call by rule, and a search for a small model.

Each is a call like any other: recorded, judged by policy and made by the dispatcher. By rule it walks after the person
it follows, goes home when left alone, and lives its day (`assistant/runtime/initiative.py`); the event that asks for
such a call carries it (`ByRule`) and has a run of its own. Approved calls are in `granted.py`.
A search comes before a small model is asked, when a player asks for a fact of the world outside. A model of half a
billion parameters does not search: it makes up an answer or repeats the question. With the results before it, it gives
the fact. `[model] search_first` says whether this is done; the embedded model has it on. The assistant's quota pays.
"""

from __future__ import annotations

import re

from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import ByRule, Event, Left, spoken_text
from mud_assistant.assistant.events.outcome import Answered, NothingToDo, Outcome
from mud_assistant.assistant.loop.acting import act, answer_by_rule
from mud_assistant.assistant.loop.keeping import keep_goal
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.run_parts import Toolbox
from mud_assistant.assistant.loop.talk.found import SEARCH
from mud_assistant.llm import ToolCall
from mud_assistant.tools import Kind, Principal, Scene, Status
from mud_assistant.tools.trust import PEOPLE, label_of

MOVE, HOME = "move", "home"
#: The line that tells the assistant that it goes home by itself.
LEFT_ALONE = "Nobody is here any more. You go home."
_IMPORTANCE = 3
#: The cause of events that no person caused.
THE_WORLD = Principal("world", "the world", Kind.WORLD, permission=0)
MAX_QUERY_CHARS = 200
_log = Logger()


def walking_after(
    tools: Toolbox, event: Event, attention: Attention, *, is_waiting: bool = False
) -> tuple[Event, Attention]:
    """Make the departure of the person whom the character follows a trigger to walk after them.

    Any other event is returned unchanged. Following ends when they left by no exit that the character sees, and when
    it is waiting where it promised to. It also ends when they are an assistant: assistants do not follow each other.
    """
    if not isinstance(event, Left) or not tools.following.leads(event.who.id):
        return event, attention
    if not event.direction or event.who.kind is Kind.ASSISTANT or is_waiting:
        tools.following.end()
        return event, attention
    asker = tools.following.asker
    if asker is not None and asker.id == event.who.id:  # with the rank that they have now
        asker = event.who
    by_rule = ByRule(MOVE, {"direction": event.direction}, asker)
    return replace(event, by_rule=by_rule), Attention(Classification.TRIGGER, _IMPORTANCE)


async def act_by_rule(context: RunContext, run: Run, by_rule: ByRule) -> Outcome:
    """Make the call that the run is for, if it is still to be made. A call that a dead process began counts as made."""
    assert run.trigger is not None
    event, reasons = run.trigger.event, context.memory.reasons
    if by_rule.goal:
        outcome = await keep_goal(context, run, by_rule.goal)
        reasons.end(event.id, done=isinstance(outcome, Answered))
        return outcome
    if run.progress.written:
        reasons.end(event.id, done=True)
        return Answered((by_rule.tool,))
    if not _still_holds(context, event, by_rule):
        reasons.end(event.id, done=False)
        return NothingToDo()
    call = ToolCall(event.id, by_rule.tool, by_rule.arguments)
    world_text = context.rules.world_text  # the rule goes by who left, and by the name of the exit
    answer = answer_by_rule(run, call, min(label_of(event.who, world_text).authority, world_text))
    [done] = await act(context, run, answer, 0)
    reasons.end(event.id, done=done.status is Status.DONE)
    if done.status is Status.DONE:
        return Answered((by_rule.tool,))
    if isinstance(event, Left):
        context.tools.following.end()
    _log.info("{name} did not {tool}: {why}", name=context.body.me.name, tool=by_rule.tool, why=done.result.text)
    return NothingToDo()


def _still_holds(context: RunContext, event: Event, by_rule: ByRule) -> bool:
    """Tell whether the reason for the call still holds: they still lead it, it is alone, its day still asks for it."""
    if isinstance(event, Left):
        return context.tools.following.leads(event.who.id)
    if by_rule.tool == HOME:
        return context.body.world.is_left_alone()
    return context.memory.reasons.holds(event.id)


_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ASKING = _set("who whom whose what when where which how why")
_AUXILIARY = _set("is are was were do does did can could has have had will would should")
_ORDER = re.compile(
    r"\b(?:tell (?:me|us) (?:more )?about|look up|looked up|find out|search(?: the web| online)?(?: for)?|google)\b",
    re.IGNORECASE,
)
#: How a question is put politely.
_POLITE = re.compile(
    r"^(?:(?:do|can|could|would|will) you (?:please )?(?:happen to )?(?:know|tell (?:me|us)|say|explain)(?: to me)?"
    r"|i (?:wonder|want to know|would like to know)|please)\b[\s,:]*",
    re.IGNORECASE,
)
_PRONOUNS = _set("it he she they him her them that this these those")
#: A question with one of these is about the speakers, or about the place where they are.
_HERE = _set(
    "you your yours yourself i me my mine myself we us our ours here room place around nearby today tonight now"
)
#: Words of a question that say nothing of what it is about.
_EMPTY = (
    _ASKING
    | _AUXILIARY
    | _set(
        "a an the of in on at to for from by with and or but not no yes it its he she they them him her his their "
        "this that these those there then than so as if be been am about please tell much many long some any one thing "
        "things something anything name called know say think mean go get see look find hello hi hey good morning "
        "evening day thanks thank ok okay well oh and more up out"
    )
)
_MIN_WORD_CHARS = 3


async def look_up_first(context: RunContext, run: Run) -> None:
    """Search for what woke the run, as a step of its own, when the settings and the question ask for it."""
    trigger, is_wanted = run.trigger, context.model.config.search_first and SEARCH in context.rules.grant
    if not is_wanted or trigger is None or run.progress.written:
        return
    event = trigger.event
    if event.who.kind not in PEOPLE or context.tools.registry.get(SEARCH) is None:
        return
    query = query_of(spoken_text(event), (context.body.me.name, *context.settings.aliases), run.scene)
    if query is None:
        return
    call = ToolCall(f"{run.id}.search", SEARCH, {"query": query})
    await act(context, run, answer_by_rule(run, call), 0)


def query_of(text: str, names: tuple[str, ...], scene: Scene | None) -> str | None:
    """Return what to search for when the words ask for a fact of the world outside; None when they do not. Pure.

    `names` are the assistant's own, which do not belong to the question. What is named in `scene` belongs to the game.
    """
    asked = _POLITE.sub("", " ".join(_without(text, names).split()))
    order = _ORDER.search(asked)
    words = _WORD.findall(asked)
    lower = [word.lower().replace("\u2019", "'") for word in words]
    if order is None and not _is_question(asked, lower):
        return None
    about = {word for word in map(_bare, lower) if word not in _EMPTY and len(word) >= _MIN_WORD_CHARS}
    if order is not None:
        about -= set(map(_bare, _WORD.findall(order[0].lower())))
    elif _HERE & set(map(_bare, lower)) or (_PRONOUNS & set(lower) and len(about) <= 1):
        return None
    if not about or (scene is not None and _is_in(scene, about, words)):
        return None
    return asked[order.end() if order else 0 :].strip(" ,.;:?!")[:MAX_QUERY_CHARS] or None


def _is_question(asked: str, words: list[str]) -> bool:
    return bool(words) and (asked.endswith("?") or words[0] in _ASKING or bool(_ASKING & set(words) and "?" in asked))


def _is_in(scene: Scene, about: set[str], words: list[str]) -> bool:
    """Tell whether the question is about the scene: it names something there, and nothing with an unknown name.

    Of "old map" and "book of herbs" the words map and book count. Of a person's name every word counts.
    """
    names = [scene.room, *scene.exits, *(thing.name for thing in scene.things)]
    there = {_head(name) for name in names}
    people = {_bare(word.lower()) for person in scene.people for word in _WORD.findall(person.name)}
    if not about & ((there | people) - _EMPTY):
        return False
    known = people | {_bare(word.lower()) for name in names for word in _WORD.findall(name)} | _EMPTY
    return not any(word[:1].isupper() and _bare(word.lower()) not in known for word in words[1:])


def _head(name: str) -> str:
    """Return the word of a name that says what the thing is, empty when there is none."""
    words = _WORD.findall(re.split(r"\s(?:of|in|on|with|for)\s", name.lower(), maxsplit=1)[0])
    return _bare(words[-1]) if words else ""


def _without(text: str, names: tuple[str, ...]) -> str:
    """Return the words without the assistant's name where it is called, at their beginning or end."""
    called = "|".join(re.escape(name) for name in names if name)
    text = re.sub(rf"^\W*(?:(?:hey|hi|hello|oh|please)\W+)?@?(?:{called})\b[\s,:;.!-]*", "", text, flags=re.IGNORECASE)
    return re.sub(rf"[\s,]+@?(?:{called})\s*([?!.]*)\s*$", r"\1", text, flags=re.IGNORECASE)


def _bare(word: str) -> str:
    """Return a word without a contracted ending, such as 's or 're."""
    return re.sub(r"'(?:s|re|ve|ll|d|m)?$", "", word)
