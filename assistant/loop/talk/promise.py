"""Answers by rule what a small model cannot: a request for later, what the character has promised, and the hour."""

from __future__ import annotations

import re

from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.language.later.beyond import asks_too_much
from mud_assistant.assistant.language.later.hours import NUMBERS_TEXT
from mud_assistant.assistant.life.peace import wish_in
from mud_assistant.assistant.loop.promise_goals import CANNOT, requests_of, take_on
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.manner import response_of, speech_call
from mud_assistant.assistant.loop.talk.question import Question, without_name
from mud_assistant.llm import LLMResponse
from mud_assistant.tools.game import game_time
from mud_assistant.tools.trust import may_hear

#: Said to a player who does not want to be spoken to first, or does again: it is kept beside the answer.
AS_YOU_WISH = "As you wish."
#: How something is promised, one of each in turn.
_PROMISES = ("I will {goal}.", "You have my word: I will {goal}.", "I shall {goal}.")
_NOTHING = "I have promised you nothing that I have not kept."
_ASKS = re.compile(
    r"(?i)\b(?:what (?:did|have|had) you promised?|what(?: have| did) you (?:say|said) (?:that )?you (?:would|will)"
    r"|what (?:are|were) you (?:going|supposed|meant) to do for me"
    r"|(?:any|your|the) promises?(?= (?:to me|you made)|\?|$)"
    r"|what (?:do|did) you owe me|do you (?:still )?remember what you promised|did you promise me (?:any|some)thing)"
)


_ASKS_HOUR = re.compile(
    r"(?i)\b(?:what(?:'s| is) the (?:time|hour)|what (?:time|hour) is it|do you (?:know|have) the (?:time|hour)"
    r"|how late is it)\b(?! (?:of|to|for|in|at|when)\b)"
)
#: The parts of a day, each from an hour on.
_PARTS = ((5, "in the morning"), (12, "in the afternoon"), (18, "in the evening"), (22, "at night"))
_HALF = 30


async def tell_promise(context: RunContext, run: Run, asked: Question) -> LLMResponse | None:
    """Return the words that take on or refuse what a line asks for later, or that list what was promised.

    They also grant the wish not to be spoken to first.

    None for any other line. The goal is made of the words when they are said, as with every model.
    """
    line = without_name(asked.text, asked.view.name)
    if wish_in(line) is not None:
        return _said(context, run, AS_YOU_WISH)
    if _ASKS_HOUR.search(line.replace("\u2019", "'")) and (now := game_time(context.body.world)) is not None:
        return _said(context, run, hour_told(now.hour))
    if _ASKS.search(line):
        return _said(context, run, promises_told(context, run))
    sentences: list[str] = []
    for number, request in enumerate(requests_of(context, run, asked.heard)):
        goal = await take_on(context, run, request, "", number)
        turn = (len(asked.earlier) + number) % len(_PROMISES)
        sentences.append(goal if isinstance(goal, str) else _PROMISES[turn].format(goal=goal.text))
        if isinstance(goal, str):
            break
    if not sentences and asks_too_much(asked.heard):
        sentences.append(CANNOT)
    return _said(context, run, " ".join(sentences)) if sentences else None


def hour_told(hour: float) -> str:
    """Say which hour of the day it is, to the next half hour: "It is about half past two in the afternoon."."""
    half_hours = round(hour * 60 / _HALF) % 48
    whole, is_half = divmod(half_hours, 2)
    if half_hours in (0, 24):
        return f"It is about {'noon' if half_hours else 'midnight'}."
    part = next((part for start, part in reversed(_PARTS) if whole >= start), _PARTS[-1][1])
    name = NUMBERS_TEXT.split()[(whole - 1) % 12]
    return f"It is about half past {name} {part}." if is_half else f"It is about {name} {part}."


def promises_told(context: RunContext, run: Run) -> str:
    """Return what the character has promised to who asks and not kept yet, in a sentence, for those who hear it."""
    goals = promises_to(context, run)
    return f"I said that I would {'; and that I would '.join(goals)}." if goals else _NOTHING


def promises_to(context: RunContext, run: Run) -> list[str]:
    """Return what the character has promised to who asks, as it is listed, where all who hear the answer may know."""
    goals: list[Goal] = [] if run.requester is None else list(context.memory.goals.of(run.requester.id))
    return [goal.text for goal in goals if may_hear(goal.audience, run.hearers)]


def _said(context: RunContext, run: Run, words: str) -> LLMResponse | None:
    call = speech_call(context.rules, run, words)
    return None if call is None else response_of([call])
