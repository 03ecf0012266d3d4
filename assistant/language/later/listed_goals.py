"""Says how what is asked for later is listed: "remind you at dawn: the bread". English. Pure."""

from __future__ import annotations

import re

from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.language.later.chores import WHOSE
from mud_assistant.assistant.language.later.wishes import WAKE_UP, Asked, is_asked
from mud_assistant.assistant.language.persons import to_listener
from mud_assistant.assistant.language.times import spoken_time


def listed(asked: Asked, asker_name: str = "") -> str:
    """Return how a goal is listed: "remind you at dawn: the bread". To others than the asker give their name.

    It stands after "I will" or "I said that I would" as well.
    """
    whom, time = asker_name or "you", spoken_time(asked.when, asker_name)
    if asked.kind is GoalKind.REMIND:
        time = "when they are back" if asker_name and asked.when.person == "" else time
        is_waking = asked.what == WAKE_UP
        return f"wake {whom} {time}" if is_waking else f"remind {whom} {time}{asked.what and ': '}{asked.what}"
    if asked.kind is GoalKind.TELL:
        return _listed_message(asked, whom, time)
    if asked.kind is GoalKind.COME:
        return f"be {f'at the {asked.place}' if asked.place else 'here'} {time}"
    what = WHOSE.sub("the", asked.what) if asker_name else to_listener(asked.what)
    if asked.kind is GoalKind.WAIT:
        return f"{_DO_NOT.sub('not ', what)} {_AT_END.sub('for ' if asked.when.seconds else 'until ', time, count=1)}"
    return f"{what} {time}"


#: What begins a time at which waiting ends.
_AT_END = re.compile(r"^(?:(?:when|at|in) )?")
_DO_NOT = re.compile(r"(?i)^(?:do not|don't) ")


def _listed_message(asked: Asked, asker: str, time: str) -> str:
    """Return how it is listed that somebody is told or asked something, or that the asker is told of somebody."""
    comes, whom = (asked.when.person or "").casefold(), asked.whom.casefold()
    if not whom:
        is_coming = asked.what.casefold() == f"{comes} is here"
        return f"tell {asker} {time}" if is_coming else f"tell {asker} {time}: {asked.what}"
    if comes and (comes.endswith(whom) or whom.endswith(comes)):
        time = "when they come"
    return (
        f"ask {asked.whom} {time}: {asked.what}" if is_asked(asked.what) else f"tell {asked.whom} {time}: {asked.what}"
    )
