"""Lets no promise evaporate: what the character is about to promise becomes a goal, or is not said.

Promises are found by rule in the words of each call that speaks, beside the line that they answer. A goal is written
down with the intent of the call, in one transaction, so that words that may have been heard are kept. The same line and
the same words give the same goals, also when a run is taken up again after a crash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from mud_assistant.assistant.events.events import spoken_text
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.language.later.beyond import asks_too_much
from mud_assistant.assistant.language.later.wishes import Asked
from mud_assistant.assistant.language.promises import accepts, promised_in
from mud_assistant.assistant.language.several import requests_in
from mud_assistant.assistant.life.promising import Asker, PromiseMoment, goal_of, person_named
from mud_assistant.assistant.loop.recovery import MAYBE_HEARD
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.screening import SPEECH
from mud_assistant.llm import ToolCall
from mud_assistant.tools import Executed, Principal, ToolFailed
from mud_assistant.tools.game import GameTime, game_time
from mud_assistant.tools.text.lenient import plain
from mud_assistant.tools.trust import PEOPLE, authority_of_words

#: Said in place of a promise that cannot be kept, or must not be made.
CANNOT, ENOUGH, NOBODY = (
    "I cannot promise that.",
    "I have promised enough already.",
    "I know more than one person of that name.",
)
#: Words without one of which no line asks for anything later, and no words of a character promise anything.
NAMES_TIME = re.compile(
    r"(?i)\b(?:once|if|should|(?:un)?til+|while|whilst|ev\w+|ere|each|all|morn\w*|night\w*|daily|nightly|hourly"
    r"|twice|return|tomor\w*|tmrw?|tmw|2mor\w*|ton[iy]\w*|to?night|in|at|by|before|b4|after\w*|around|about|soon|ne?xt"
    r"|wh?e?n\w*|later|dawn|dusk|noon|mid\w+|sun\w+|for|during|(?:up)?on|then|(?:min(?:ute)?|hour|hr|second|sec)s?"
    r"|timer|alarm|reminder|message|note|the moment|a while|as|o'?clock|come|this|back|brb|afk|wen|wait|stay|go|move"
    r"|leave|hold|watch|guard|tell|inform|warn|let|my (?:absence|return))\b|\d"
)
PROMISES = re.compile(
    r"(?i)\b(?:I|we)(?:['\u2019]?ll| will| shall| won['\u2019]?t|['\u2019]?m going| am going|['\u2019]m gonna)\b"
    r"|\b(?:promise|swear|vow|word|oath|honou?r)\b"
)


async def keeping_word(context: RunContext, run: Run, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Return the calls without promises that cannot be kept, and note in the run the goals of all others."""
    who, trigger = run.requester, run.trigger
    if trigger is None or trigger.event.by_rule is not None or who is None or who.kind not in PEOPLE:
        return calls
    kept = list(calls)
    for at, call in enumerate(calls):
        if call.name in SPEECH:
            kept[at] = await _keeping(context, run, call)
    return tuple(kept)


def requests_of(context: RunContext, run: Run, line: str) -> Sequence[Asked]:
    """Return what a line asks the character for later, beside those who are here."""
    names, people = (context.body.me.name, *context.settings.aliases), run.scene.people if run.scene else None
    return requests_in(line, names, None if people is None else [*names, *(one.name for one in people)])


def _asked_of(context: RunContext, run: Run) -> Sequence[Asked]:
    """Return what the run's line asks for later. Most lines name no time, and are not read for it."""
    line = spoken_text(run.trigger.event) if run.trigger is not None else ""
    return requests_of(context, run, line) if NAMES_TIME.search(line) else ()


def _asks_too_much(run: Run) -> bool:
    """Tell whether the run's line asks for something later that no goal can keep."""
    line = spoken_text(run.trigger.event) if run.trigger is not None else ""
    return NAMES_TIME.search(line) is not None and asks_too_much(line)


async def _keeping(context: RunContext, run: Run, call: ToolCall) -> ToolCall:
    words = call.arguments.get(SPEECH[call.name])
    if not isinstance(words, str) or call.problem:
        return call
    promised = promised_in(words) if PROMISES.search(words) else ()
    if not promised and not accepts(words):
        return call
    asked = _asked_of(context, run)
    goals: list[Goal] = []
    for number, one in enumerate(promised):
        meant = _meant(asked[number] if number < len(asked) else None, one.asked)
        goal = await take_on(context, run, meant, f"{run.id}.{call.id}.{len(goals)}", len(goals))
        if isinstance(goal, Goal):
            goals.append(goal)
        else:
            words = words.replace(one.sentence, goal, 1)
    if not promised and not asked and _asks_too_much(run):
        words = CANNOT
    for number, wish in enumerate(() if promised else asked):
        goal = await take_on(context, run, wish, f"{run.id}.{call.id}.{number}", len(goals))
        if isinstance(goal, Goal):
            goals.append(goal)
        else:
            words = f"I will {goals[0].text}. {goal}" if goals else goal
            break
    if goals:
        run.progress.promised[call.id] = [goal for goal in goals if not context.memory.goals.knows(goal)]
    if words != call.arguments[SPEECH[call.name]]:
        call = replace(call, arguments={**call.arguments, SPEECH[call.name]: words})
    return call


def _meant(asked: Asked | None, own: Asked | None) -> Asked | None:
    """Return what is promised: what was asked for, at the time that the character's own words name, if they do."""
    if asked is None or own is None:
        return asked or own
    return replace(asked, when=own.when) if asked.kind is own.kind else own


async def take_on(context: RunContext, run: Run, asked: Asked | None, goal_id: str, before: int = 0) -> Goal | str:
    """Return the goal that the run's asker would have, or a sentence that says why it is not promised.

    So many others are taken on `before` it with the same words.
    """
    who = run.requester
    if asked is None or who is None:
        return CANNOT
    whom: Principal | None = None
    if name := person_named(asked):
        people = await _people_named(context, run, name)
        if len(people) > 1:
            return NOBODY
        whom = next(iter(people.values()), Principal("", name))
    asker = Asker(who, authority_of_words(who, context.rules.world_text), run.hearers)
    goal = goal_of(goal_id, asked, asker, _moment(context, run), whom)
    if goal is None:
        return CANNOT
    goals = context.memory.goals
    if goals.get(goal_id) is None and not goals.knows(goal) and not goals.has_room(who.id, before):
        return ENOUGH
    return goal


def note_promises(context: RunContext, run: Run, executed: Sequence[Executed]) -> None:
    """Take up the goals of calls that may have been heard. The others are dropped with the end of the run."""
    for done in executed:
        goals = run.progress.promised.pop(done.call.id, ())
        if done.status in MAYBE_HEARD:
            context.memory.goals.put(goals)
            if any(goal.kind is GoalKind.WAIT for goal in goals):
                context.tools.following.end()
        else:
            run.progress.goals = (
                *run.progress.goals,
                *(replace(goal, state=GoalState.DROPPED, reason="not said") for goal in goals),
            )


def may_promise(context: RunContext, run: Run, sentence: str) -> bool:
    """Tell whether a sentence may hold a promise, so that only the whole answer shows what is promised."""
    promises = bool(PROMISES.search(sentence)) and bool(promised_in(sentence))
    return promises or (accepts(sentence) and (bool(_asked_of(context, run)) or _asks_too_much(run)))


def _moment(context: RunContext, run: Run) -> PromiseMoment:
    """Return when and where the line was said: a run that is taken up again promises the same."""
    now, scene = context.process.clock.seconds(), run.scene
    said = min(now, run.trigger.event.at) if run.trigger is not None else now
    game = game_time(context.body.world)
    if game is not None:
        game = GameTime(game.seconds - (now - said) * game.pace, game.pace)
    room, room_id = (scene.room, scene.id) if scene is not None else ("", "")
    return PromiseMoment(said, game, context.memory.people.utc_offset, room, room_id)


async def _people_named(context: RunContext, run: Run, name: str) -> dict[str, Principal]:
    """Return those of that name, by their ids: who is here, in the game, or was ever met. The asker is left out."""
    wanted = plain(name)
    seen = list(run.scene.people) if run.scene is not None else []
    with suppress(ToolFailed):
        seen += await context.body.world.who()
    found = {one.id: Principal(one.id, one.name) for one in seen if one.id and plain(one.name) == wanted}
    for _, one in (await context.memory.people.find("", (name.casefold(),))).named:
        if plain(one.name) == wanted:
            found.setdefault(one.who, Principal(one.who, one.name))
    own = {context.body.me.id, run.requester.id if run.requester is not None else ""}
    return {id_: who for id_, who in found.items() if id_ not in own}
