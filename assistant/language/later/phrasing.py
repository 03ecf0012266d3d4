"""Puts a request for later as it is mostly put: timers, messages, and who is meant by "he". English. Pure.

What it returns says the same, for `wishes.py` to read. A line that asks for nothing stays as it is.
"""

from __future__ import annotations

import re
from functools import partial

from msgspec.structs import replace

from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.language.later.hours import AMOUNT, CLOCK, LIGHT, NAME, NOBODY
from mud_assistant.assistant.language.later.wishes import Asked
from mud_assistant.assistant.language.persons import to_listener
from mud_assistant.assistant.language.times import find_when

_TIMER = r"(?:timer|alarm(?: clock)?|reminder|alert)"
_SET = r"(?:(?:set|start|make|give|put on) )?(?:(?:me|us) )?(?:an? |the )?"
_FOR_WHAT = r"(?: (?:for|about|to|that)\b|[:,-]+)?"
#: "Ten minute timer: the eggs", "set a timer for ten minutes", "set an alarm for 7am", "ten minutes, then call me".
_TIMERS = (
    (re.compile(rf"(?i)^{_SET}(?P<time>{AMOUNT})[ -]{_TIMER}{_FOR_WHAT}"), r"remind me in \g<time> about"),
    (re.compile(rf"(?i)^{_SET}{_TIMER},?(?: (?:for|in|to go off in))? (?P<time>{AMOUNT})(?: from now)?(?=\W*$|[:,-]"
                rf"| (?!was|is|had|took)\w){_FOR_WHAT}"), r"remind me in \g<time> about"),
    (re.compile(rf"(?i)^{_SET}{_TIMER} (?:for|at|to go off at) (?P<time>{CLOCK}|{LIGHT})\b"), r"remind me at \g<time>"),
    (re.compile(rf"(?i)^(?:(?:give (?:me|us)|wait|count) )?(?P<time>{AMOUNT})(?: from now)?(?:[:,-]+ ?(?:and )?(?:then"
                rf" )?| and then | then | and )(?=(?:please )?(?:remind|tell|wake|call|ping|poke|nudge|give|let|shout"
                rf"|holler|yell)\b)"),
     r"in \g<time>, "),
)  # fmt: skip
_PLEASE = re.compile(r"(?i)^\W*(?:please|thanks|thank you)\b")
_NAMED = rf"(?!me\b|us\b){NOBODY}{NAME}"
_THEY_COME = r"(?:,? (?:when|once|if|for when)(?: (?:he|she|they)(?:'s| is| are)?|'s)? [\w ]{2,20}?)?"
_ONE = "(?:a|my|this|one)"
#: "A message for Ann: I am at the mill", "leave Ann a note that I am at the mill".
_MESSAGES = tuple(
    re.compile(rf"(?i)^{whom}{_THEY_COME}(?: ?[:,-]+| that\b| saying(?: that)?\b) (?P<what>.+)")
    for whom in (
        (
            rf"(?:(?:take|leave|pass(?: on| along)?|relay|keep|deliver|get) )?(?:{_ONE} )?(?:message|note"
            rf"|word) (?:on )?(?:for|to) (?P<whom>{_NAMED})(?: (?:for|from) me)?"
        ),
        rf"pass (?:it |this |the word )?(?:on|along) to (?P<whom>{_NAMED})",
        rf"(?:leave|give) (?P<whom>{_NAMED}) (?:a|this|my) (?:message|note)(?: from me)?",
    )
)
#: Who is expected is who is meant by "he" afterwards: "I wait for Ann", "Ann is on her way".
_EXPECTED = re.compile(
    rf"(?i)\b(?:(?:waiting|looking|look|lookout|out|wait|listen) for|expecting"
    rf"|await(?:ing)?) (?P<whom>{NOBODY}{NAME})(?: [\w']+){{0,3}}?(?=,| and\b| -)|^(?P<late>{NOBODY}{NAME})(?:'s| is"
    rf"| should| will|'ll| might| may)(?: [\w']+){{0,3}}? (?:coming|due|way|here|back|arriv\w+|visit\w*|come)\b[^,]*,"
)
QUOTED = re.compile(
    r"[\"\u201c][^\"\u201d]*[\"\u201d]?|\u2018[^\u2019]*\u2019(?!\w)|(?<!\w)'(?:[^']|(?<=\w)'(?=\w))+'(?!\w)"
)
#: Before what is to be said in these very words.
_TO_BE_SAID = re.compile(r"(?i)(?:^|[,;:] |\b(?:and|please|then) )(?:say(?: to \w+)?|tell [\w'-]+(?: \w+)?)[,:]? *$")
#: A pause in the middle of a sentence.
_PAUSE = re.compile(r"(?:\.{2,}|\u2026) ?(?=[a-z])")


def without_quotes(line: str) -> str:
    """Return a line without what it quotes of others, and with a comma for a pause."""
    return _PAUSE.sub(", ", QUOTED.sub(partial(_unquoted, line), line))


def _unquoted(line: str, quoted: re.Match[str]) -> str:
    """Return nothing for what somebody else said; the words themselves where they are to be said."""
    if len(quoted[0]) == len(line):
        return quoted[0]
    return quoted[0][1:-1] if _TO_BE_SAID.search(line[: quoted.start()]) else " "


def as_mostly_put(clause: str) -> str:
    """Return a clause, from its verb on, as such a thing is mostly asked for."""
    for pattern, other in _TIMERS:
        if (found := pattern.match(clause)) is not None:
            rest = _PLEASE.sub("", clause[found.end() :]).strip(" :,-")
            put = found.expand(other)
            return f"{put} {rest}" if rest else put.removesuffix(" about")
    for pattern in _MESSAGES:
        if (found := pattern.match(clause)) is not None:
            return f"when {found['whom']} comes, tell {found['whom']} {found['what']}"
    return clause


def expected_in(text: str) -> str:
    """Return who is expected, as a text says it: "I wait for Ann"; empty for nobody."""
    found = _EXPECTED.search(text)
    return "" if found is None else found["whom"] or found["late"]


_THING = re.compile(
    r"(?i)\b(?P<thing>(?:the|my|our|that|this) (?:(?!is\b|of\b)[a-z]+ )??(?P<noun>[a-z]+))(?='s|[,.;:]|$| (?:is|are|was"
    r"|has|have|of|in|on|by|at|to|for|so|and|don't|doesn't|can't|won't|never|always|only|goes|[a-z]+s)\b)"
)
_PLACE = re.compile(
    r"(?i)\b(?:at|in|by|near|behind|beneath|under|beside) (?:the|my|our|that) [a-z]+(?: [a-z]+(?=[,.;]|$))?"
)
_OF_IT = re.compile(r"(?i)(?:|(?:about |of )?(?:it|them|that|this|him|her)(?:,? then)?)")
_SPEAKS = re.compile(r"(?i)\b(?:I|I'm|I've|I'll|my|me|we|we're|our|the|there's)\b")
_LINKS = re.compile(
    r"(?i)^(?:oh|well|ok|okay|so|look|see)\b[, ]*|[\s,;:.!-]*\b(?:(?:so|and|but|then|please|or)\b[\s,]*)*$"
)


def filled_in(asked: Asked, front: str, said: str) -> Asked:
    """Return what is asked for with what "it", "them" and "there" stand for: something that was said before."""
    before = _LINKS.sub("", front.strip(" ,"))
    if asked.when.person is None and (time := find_when(before)) is not None and time[2] == asked.when:
        before = f"{before[: time[0]]}{before[time[1] :]}".strip(" ,")
    if asked.kind is GoalKind.TELL and asked.whom and not asked.what:
        return replace(asked, what=_LINKS.sub("", re.sub(r"(?i)^.*,? but ", "", before)))
    if asked.kind is GoalKind.REMIND and _OF_IT.fullmatch(asked.what) and _SPEAKS.search(before) and "?" not in before:
        return replace(asked, what=to_listener(before))
    if asked.kind is GoalKind.CHORE and (it := re.search(r"(?i) (it|them)\b", asked.what)) is not None:
        are_many = it[1].casefold() == "them"
        thing = next((one["thing"] for one in _THING.finditer(before) if one["noun"].endswith("s") is are_many), it[1])
        return replace(asked, what=f"{asked.what[: it.start()]} {thing}{asked.what[it.end() :]}")
    if asked.kind is GoalKind.COME and not asked.place and re.search(r"(?i)\bthere\b", said):
        places = _PLACE.findall(before)
        return replace(asked, place=re.sub(r"(?i)^\w+ \w+ ", "", places[-1])) if places else asked
    return asked
