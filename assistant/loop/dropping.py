"""Drops promises that whoever asked for them takes back in talk: "forget about the hens". For every model, by rule."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from mud_assistant.assistant.events.events import spoken_text
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.language.later.calling_off import called_off, called_off_in
from mud_assistant.assistant.language.words import listed
from mud_assistant.assistant.loop.acting import act, answer_by_rule, outcome_of
from mud_assistant.assistant.loop.promise_goals import requests_of
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.manner import speech_call
from mud_assistant.tools.trust import may_hear

#: Why a promise ended that was taken back in talk.
TAKEN_BACK = "you took it back"
#: Said where others hear it, of what was asked in private.
VERY_WELL = "Very well."
#: Asked where several promises may be meant.
WHICH = "Which shall I let be: to {goals}?"
_AT_END = re.compile(r" (?:until|for) .*")
_NOT_TO = "not "


def take_back(context: RunContext, run: Run) -> str:
    """Drop what the run's line takes back, with the end of the run. Return what is to be said of it, empty for nothing.

    Where it is not plain which promise is meant, all are kept and the character asks. Only who asked for a promise can
    take it back. A run that is taken up again after a crash drops the same.
    """
    if run.trigger is None or run.requester is None or run.granted is not None or run.by_rule is not None:
        return ""
    goals, line = context.memory.goals.of(run.requester.id), spoken_text(run.trigger.event)
    off = called_off_in(line) if goals and line else None
    meant = [] if off is None else called_off(off, goals, context.process.clock.seconds())
    if off is None or not meant:
        return ""
    is_plain = len(meant) == 1 or off.is_all
    if is_plain:
        dropped = (replace(goal, state=GoalState.DROPPED, reason=TAKEN_BACK) for goal in meant)
        run.progress.goals = (*run.progress.goals, *dropped)
    return "" if requests_of(context, run, line) else _words(run, meant, is_plain=is_plain)


async def say_instead(context: RunContext, run: Run, words: str) -> Outcome | None:
    """Say it the way the line came, as the only step of the run. Return the outcome; None where it may not speak."""
    call = speech_call(context.rules, run, words)
    return None if call is None else outcome_of(run, await act(context, run, answer_by_rule(run, call), 0))


def _words(run: Run, goals: Sequence[Goal], *, is_plain: bool) -> str:
    heard = [goal for goal in goals if may_hear(goal.audience, run.hearers)]
    if not heard or (len(heard) < len(goals) and not is_plain):
        return VERY_WELL if is_plain else WHICH.format(goals="what you asked for first, or last")
    if not is_plain:
        return WHICH.format(goals=listed([goal.text for goal in heard], "or to"))
    return f"Very well. {' '.join(map(_not_any_more, heard))}"


def _not_any_more(goal: Goal) -> str:
    """Say that a promise is kept no longer."""
    if goal.kind is GoalKind.WAIT and goal.text.startswith(_NOT_TO):
        return f"I may {_AT_END.sub('', goal.text[len(_NOT_TO) :])} again."
    return f"I will not {goal.text}."
