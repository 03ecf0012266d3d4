"""Finds each of several things that one line asks for later. English. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from mud_assistant.assistant.events.goal import MOST_A_PERSON, GoalKind
from mud_assistant.assistant.language.later.hours import BARE, HOUR
from mud_assistant.assistant.language.later.wishes import WAKE_UP, Asked
from mud_assistant.assistant.language.promises import request_in

#: The most characters of a line that is read, and the most places where it is parted. Of 450 requests that people
#: wrote, the longest had 193 characters.
MOST_CHARS, _MOST_LINKS = 400, 6
_AND = re.compile(
    r"(?i)(?:(?:,? oh)?[,;]? (?:and|then|plus|also)|[.;!?]+)(?: (?:oh|and|also|then|please))*,? (?=\w)"
    r"|[,;] (?:oh )?(?=also\b)"
)
#: What asks something for the asker, and is no part of what is to be told or remembered.
_FOR_ASKER = re.compile(
    r"(?i)(?:also )?(?:(?:could|would|can|will) you )?(?:remind|tell|wake|let|give|ping|poke|call|warn|get|fetch)"
    r" (?:me|us)\b"
)
#: What leaves out the verb that stands in the part before.
_AT_A_TIME = re.compile(r"(?i)(?:again )?(?:in|at) ")
#: "In an hour to eat, and in two to sleep".
_BARE = re.compile(rf"(?i)^in {BARE}")
_WHEN = re.compile(r"(?i)(?:when|if|once|as soon as) ")


def requests_in(line: str) -> Sequence[Asked]:
    """Return what a player's line asks the character to do later, in its order; at most what one person may ask.

    A line of more than `MOST_CHARS` is a speech, and is not read for that.
    """
    if len(line) > MOST_CHARS:
        return ()
    for link in islice(_AND.finditer(line), _MOST_LINKS):
        first = request_in(line[: link.start()])
        if first is None:
            continue
        rest = _rest(first, line[link.end() :], is_sentence=link[0][0] in ".;!?")
        if rest is not None and (others := requests_in(rest)):
            return (first, *others)[:MOST_A_PERSON]
    whole = request_in(line)
    return () if whole is None else (whole,)


def _rest(first: Asked, back: str, *, is_sentence: bool) -> str | None:
    """Return what follows the first request as a line of its own; None where it may be a part of that request."""
    is_reminder = first.kind is GoalKind.REMIND
    if _FOR_ASKER.match(back) or (is_sentence and is_reminder):
        return back
    if is_reminder and _AT_A_TIME.match(back):
        is_in_hours = bool(first.when.seconds) and not (first.when.seconds or 0.0) % HOUR
        back = _BARE.sub(r"\g<0> hours", back) if is_in_hours else back
        return f"remind me {back}"
    tells_asker = first.kind is GoalKind.TELL and not first.whom
    if (tells_asker or (is_reminder and not first.what)) and _WHEN.match(back):
        return f"let me know {back}"
    has_words = first.what not in {"", WAKE_UP} and first.kind in {GoalKind.REMIND, GoalKind.TELL} and not tells_asker
    return None if has_words else back
