"""Finds each of several things that one line asks for later. English. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice

from mud_assistant.assistant.events.goal import MOST_A_PERSON, GoalKind
from mud_assistant.assistant.language.later.clauses import wishes_of, without_calls
from mud_assistant.assistant.language.later.hours import BARE, HOUR, NOBODY
from mud_assistant.assistant.language.later.wishes import WAKE_UP, Asked
from mud_assistant.assistant.language.promises import request_in
from mud_assistant.assistant.language.times import When

#: The most characters of a line that is read (of 450 requests the longest had 193), and places where it is parted.
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
#: What is to be told and has no time of its own. A name in small letters shows by what follows it.
_MESSAGE = re.compile(
    rf"(?i)(?:tell|inform|warn|let(?= \S+ know\b)) (?P<whom>{NOBODY}(?:(?-i:[A-Z])[\w-]*|(?!it\b|him\b|her\b|them\b"
    r"|folks?\b|others\b)[a-z]+(?= (?:know )?(?:that )?(?:I|we|he|she)\b)))(?: know)?(?: that| about)? (?P<what>.+?)"
    r"(?:,? (?:before|when\w*) (?:he|she|they)\b.*)?"
)


def requests_in(line: str, names: Collection[str] = (), here: Collection[str] | None = None) -> Sequence[Asked]:
    """Return what a player's line asks the character of those `names` to do later, in its order.

    There are at most so many as one person may ask. A line of more than `MOST_CHARS` is a speech, and is not read.
    Words for somebody that name no time are for when they come, where `here` names all who are here and not them.
    """
    if len(line) > MOST_CHARS:
        return ()
    line = without_calls(line, names)
    for link in islice(_AND.finditer(line), _MOST_LINKS):
        first = request_in(line[: link.start()])
        if first is None:
            continue
        rest = _rest(first, line[link.end() :], is_sentence=link[0][0] in ".;!?")
        if rest is not None and (others := requests_in(rest)):
            return (first, *others)[:MOST_A_PERSON]
    whole = request_in(line) or (None if here is None else _message_in(line, here))
    return () if whole is None else (whole,)


def _message_in(line: str, here: Collection[str]) -> Asked | None:
    """Return what somebody is to be told who is not here: "Tell Ann I was here."."""
    known = {word for name in here for word in name.casefold().split()}
    for found in filter(None, map(_MESSAGE.fullmatch, wishes_of(line))):
        if (whom := found["whom"].capitalize()).casefold() not in known:
            return Asked(GoalKind.TELL, When(person=whom), found["what"], whom)
    return None


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
