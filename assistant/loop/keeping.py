"""Keeps what a character promised: makes the one call that a goal needs now, and concludes what came of it.

The event that is there for a goal only names it (`ByRule.goal`). What is to be done is found when the run acts, by the
goal as it is then: who asked for it may have less to say by now, or may be gone. What becomes of the goal is written
down with the end of the run (`RunProgress.goals`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.events.goal import OUTLIVES_VISIT, Goal, GoalKind, GoalState
from mud_assistant.assistant.events.outcome import Answered, NothingToDo, Outcome
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.language.later.wishes import WAKE_UP, is_asked
from mud_assistant.assistant.life.goal_book import GRACE, MAX_WAIT, STAYS_SECONDS, again, due_at
from mud_assistant.assistant.life.presence import PRESENT_SECONDS
from mud_assistant.assistant.loop.acting import act, answer_by_rule
from mud_assistant.assistant.loop.recovery import MAYBE_HEARD
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.llm import ToolCall
from mud_assistant.tools import Executed, Kind, Principal, Scene, Status, ToolFailed
from mud_assistant.tools.game import game_time, present, principal_now, way_to
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.text.lenient import plain
from mud_assistant.tools.trust import authority_of_words

#: How long after one step of a walk the next is taken, and after a way was found closed, in seconds.
STEP_SECONDS, BLOCKED_SECONDS = 4.0, 60.0
#: How long after its time a walk that is made once is still tried while the way is closed, in seconds: who waits there
#: would rather hear that nobody comes.
BARRED_SECONDS = 480.0
#: How often it is looked whether anybody still wants an old goal, in seconds.
LOOK_AGAIN_SECONDS = 86_400.0
#: The most steps of one walk.
MAX_STEPS = 100
_MOVE, _SAY, _WHISPER, _EMOTE = "move", "say", "whisper", "emote"
#: Why a goal ended, for the person who asked for it.
NO_WAY, BARRED, NOT_BACK = "I find no way there", "the way is closed", "a day is as long as I can wait"
NOT_ALLOWED, TOO_OFTEN, NOT_SEEN = "I may not do it", "it went wrong three times", "nobody came for it in two weeks"
#: What was seen of a goal that was kept by being somewhere.
CAME = "it was there"
_log = Logger()


class _Step(Struct, frozen=True):
    """The call that a goal needs now. `done` says what was seen when it works; empty when more is to come after it."""

    tool: str
    arguments: dict[str, str]
    done: str = ""


async def keep_goal(context: RunContext, run: Run, goal_id: str) -> Outcome:
    """Do what a goal needs now. Return what came of it; the changed goal is in `run.progress.goals`."""
    goal = context.memory.goals.get(goal_id)
    assert run.trigger is not None
    if goal is None or run.trigger.event.id != goal.event_id:
        return NothingToDo()  # it is over, or this is an event of an earlier try
    if run.progress.written:  # an earlier process began it
        return _conclude(context, run, goal, "it was done while the game went down")
    if (asker := asker_now(context, goal.asker)) is None:
        return _change(run, replace(goal, state=GoalState.DROPPED, reason="who asked for it is gone"))
    run.progress.acts_for = asker
    step = await _step_of(context, replace(goal, asker=asker))
    if isinstance(step, Goal):
        return _change(run, replace(step, asker=goal.asker))
    if step.tool not in context.rules.grant:
        return _change(run, _withdrawn(goal, NOT_ALLOWED))
    call = ToolCall(run.trigger.event.id, step.tool, dict(step.arguments))
    authority = min(authority_of_words(asker, context.rules.world_text), context.rules.world_text)
    await act(context, run, answer_by_rule(run, call, authority), 0)
    return _conclude(context, run, goal, step.done)


def asker_now(context: RunContext, asker: Principal) -> Principal | None:
    """Return who asked for a goal, with the rank of now where the world can tell it; None for who is gone."""
    return principal_now(context.body.world, asker.id, asker)


def who_is_there(context: RunContext, goal: Goal) -> Principal | None:
    """Return the person whose presence a goal waits for, when they are there and awake; None while they are not.

    One known by name alone is whoever has that name, when only one there has it.
    """
    people = present(context.body.world, PRESENT_SECONDS)
    if goal.is_open and (goal.whom or goal.whom_name):
        is_named = [who for who in people if _is_meant(who, goal)]
        found = is_named[0] if len(is_named) == 1 else _character_here(context, goal)
        if goal.kind is GoalKind.TELL:
            return found
        if found is None:
            return None
    return next((who for who in people if who.id == goal.asker.id), None)


def _character_here(context: RunContext, goal: Goal) -> Principal | None:
    """Return the character that a goal speaks of, when it is here; None for anybody else."""
    who = principal_now(context.body.world, goal.whom) if goal.whom else None
    return who if who is not None and who.kind is Kind.ASSISTANT and context.body.world.hears(who) else None


def _is_meant(who: Principal, goal: Goal) -> bool:
    return who.id == goal.whom if goal.whom else plain(who.name) == plain(goal.whom_name)


async def _step_of(context: RunContext, goal: Goal) -> _Step | Goal:
    """Return the call that the goal needs now, or the goal as it has become without a call."""
    if not goal.is_open:
        reason = goal.reason or NOT_ALLOWED
        return _say(goal, goal.asker, f"I said that I would {goal.text}. I cannot: {reason}.", "they were told")
    now = context.process.clock.seconds()
    if now >= goal.made_at + OUTLIVES_VISIT and await _is_forsaken(context, goal, now):
        return replace(goal, state=GoalState.DROPPED, reason=NOT_SEEN)
    if now < due_at(goal, now, game_time(context.body.world)):
        return _later(goal, now, LOOK_AGAIN_SECONDS)
    match goal.kind:
        case GoalKind.REMIND | GoalKind.TELL:
            who = who_is_there(context, goal)
            if who is None:
                return _later(goal, now, LOOK_AGAIN_SECONDS if now >= goal.made_at + OUTLIVES_VISIT else STEP_SECONDS)
            return _say(goal, who, words_of_goal(goal, who), f"{one_line(who.name)} was told")
        case GoalKind.WAIT:
            return _waited(context, goal, now)
        case GoalKind.COME:
            return await _walk(context, goal, now) or _arrived(context, goal, now)
        case GoalKind.CHORE:
            return await _walk(context, goal, now) or _Step(_EMOTE, {"text": goal.what}, "it was done there")


def _waited(context: RunContext, goal: Goal, now: float) -> Goal:
    """Return what has become of a goal to wait: first until who asked for it leaves, then until they are back."""
    if now >= goal.made_at + MAX_WAIT:
        return _withdrawn(goal, NOT_BACK)
    is_here = who_is_there(context, goal) is not None
    if goal.evidence and is_here:
        return replace(goal, state=GoalState.DONE, evidence="they came back")
    return replace(_later(goal, now, STEP_SECONDS), evidence=goal.evidence if is_here else "they left")


def _arrived(context: RunContext, goal: Goal, now: float) -> _Step | Goal:
    """Return what is said to who asked it to come, when they are there and it was not all the time; or the end."""
    who = who_is_there(context, goal)
    if who is None or not goal.attempts or (_SAY if goal.audience is None else _WHISPER) not in context.rules.grant:
        return _came(goal, now)
    return _say(goal, who, f"{one_line(who.name, max_chars=60)}, here I am, as I said.", CAME)


def _came(goal: Goal, now: float) -> Goal:
    """Return a goal that is kept by being there. It stays for a while."""
    return replace(goal, state=GoalState.DONE, evidence=CAME, next_at=now + STAYS_SECONDS)


async def _is_forsaken(context: RunContext, goal: Goal, now: float) -> bool:
    """Tell whether who asked for the goal has not been seen for so long that it is dropped."""
    known = (await context.memory.people.find(goal.asker.id)).asker
    return known is None or now >= known.last_at + OUTLIVES_VISIT


def words_of_goal(goal: Goal, who: Principal) -> str:
    """Return what is said to the person whom a goal is for."""
    name = one_line(who.name, max_chars=60)
    if goal.kind is GoalKind.TELL:
        asker = one_line(goal.asker.name, max_chars=60)
        wish = "wants to know" if is_asked(goal.what) else "asked me to tell you"
        return f'{name}, {asker} {wish}: "{goal.what}"'
    if goal.whom_name:
        return f"{name}, {goal.whom_name} is here.{f' You asked me to remind you: {goal.what}.' if goal.what else ''}"
    if goal.what == WAKE_UP:
        return f"{name}, you asked me to wake you: it is time."
    return f"{name}, you asked me to remind you: {goal.what or 'it is time'}."


def _say(goal: Goal, who: Principal, words: str, done: str) -> _Step:
    """Return the call that says it aloud, or in a whisper where it was asked in private."""
    if goal.audience is None:
        return _Step(_SAY, {"text": words}, done)
    return _Step(_WHISPER, {"target": who.name, "text": words}, done)


async def _walk(context: RunContext, goal: Goal, now: float) -> _Step | Goal | None:
    """Return the next step to the place of the goal; None when it is reached or has none."""
    if not goal.place and not goal.place_id:
        return None
    try:
        scene = await context.body.world.look()
    except ToolFailed:
        return _later(goal, now, BLOCKED_SECONDS)
    if is_at(scene, goal):
        return None
    if goal.attempts > MAX_STEPS or (goal.due is not None and now > goal.due + GRACE):
        return _withdrawn(goal, BARRED)
    way = await way_to(context.body.world, goal.place)
    if way is None or not way.steps:
        return _withdrawn(goal, NO_WAY)
    return _Step(_MOVE, {"direction": way.steps[0]})


def is_at(scene: Scene, goal: Goal) -> bool:
    """Tell whether a scene is the place of a goal."""
    return scene.id == goal.place_id if goal.place_id and scene.id else plain(goal.place) in plain(scene.room)


def _conclude(context: RunContext, run: Run, goal: Goal, done: str) -> Outcome:
    """Note what became of the goal by the calls of the run, and return the run's outcome."""
    last: Executed | None = run.progress.executed[-1] if run.progress.executed else None
    now = context.process.clock.seconds()
    if goal.is_open and done == CAME:
        _change(run, replace(_came(goal, now), attempts=goal.attempts + 1))
        return NothingToDo() if last is None else Answered((last.call.name,))
    if last is None or last.status not in MAYBE_HEARD:
        is_barred = now - due_at(goal, now, game_time(context.body.world)) > BARRED_SECONDS and not goal.every
        return _change(run, _not_done(goal, last, now, is_barred=is_barred))
    if last.call.name == _MOVE:
        changed = _later(goal, now, STEP_SECONDS)
    elif not goal.is_open:
        changed = replace(goal, state=GoalState.TOLD, attempts=goal.attempts + 1)
    elif goal.every:
        changed = replace(again(goal, now, game_time(context.body.world)), attempts=goal.attempts + 1, evidence=done)
    else:
        changed = replace(goal, state=GoalState.DONE, attempts=goal.attempts + 1, evidence=done)
    _change(run, changed)
    return Answered((last.call.name,))


def _not_done(goal: Goal, last: Executed | None, now: float, *, is_barred: bool) -> Goal:
    """Return what becomes of a goal whose call was not made or did not work."""
    if is_barred and last is not None and last.call.name == _MOVE and last.status is not Status.UNHEARD:
        return _withdrawn(goal, BARRED)
    if last is None or last.status is Status.UNHEARD or last.call.name == _MOVE:
        return _later(goal, now, BLOCKED_SECONDS if last is not None and last.call.name == _MOVE else STEP_SECONDS)
    _log.info("a goal was not kept: {why}", why=last.result.text)
    return _withdrawn(goal, NOT_ALLOWED) if goal.is_open else replace(goal, state=GoalState.TOLD)


def _later(goal: Goal, now: float, seconds: float) -> Goal:
    return replace(goal, attempts=goal.attempts + 1, next_at=now + seconds)


def _withdrawn(goal: Goal, why: str) -> Goal:
    return replace(goal, state=GoalState.WITHDRAWN, attempts=goal.attempts + 1, next_at=0.0, reason=why)


def _change(run: Run, goal: Goal) -> Outcome:
    """Have the changed goal written down with the end of the run."""
    run.progress.goals = (*run.progress.goals, goal)
    return NothingToDo()


def given_up(context: RunContext, events: Sequence[Accepted]) -> list[Goal]:
    """Return the goals for which these events were there, withdrawn: their runs went wrong too often."""
    rules = [heard.event.by_rule for heard in events]
    goals = [context.memory.goals.get(rule.goal) for rule in rules if rule is not None and rule.goal]
    return [give_up(goal) for goal in goals if goal is not None]


def give_up(goal: Goal) -> Goal:
    """Return a goal whose runs went wrong too often, withdrawn."""
    return _withdrawn(goal, TOO_OFTEN)
