"""Puts a request for later as it is mostly put: timers, messages, and who is meant by "he". English. Pure.

What it returns says the same, for `wishes.py` to read. A line that asks for nothing stays as it is.
"""

from __future__ import annotations

import re
from functools import partial

from msgspec.structs import replace

from mud_assistant.assistant.language.later.hours import AMOUNT, CLOCK, LIGHT, NAME, NOBODY
from mud_assistant.assistant.language.times import PRONOUNS, When, bare_name

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
_TO_BE_SAID = re.compile(
    r"(?i)(?:^|[,;:] |\b(?:and|please|then|up|in|here|back|by) )(?:say(?: to \w+)?|tell [\w'-]+(?: \w+)?)[,:]? *$"
)
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


def person(name: str, when: When) -> str:
    """Return who is meant by a name or by "her"; empty where nobody can tell."""
    if name.casefold() in PRONOUNS:
        return when.person if when.person and when.person.casefold() not in PRONOUNS else ""
    return name.capitalize() if name.islower() and " " not in name else bare_name(name)


def is_same(name: str, other: str) -> bool:
    """Tell whether two names may be those of one person: "Ann", "Ann of Harl", "her"."""
    one, two = name.casefold(), other.casefold()
    return two in PRONOUNS or one.endswith(two) or two.endswith(one) or one.startswith(two) or two.startswith(one)


def whose(when: When, whom: str) -> When:
    """Return a time with the name of whom it calls "she"."""
    return replace(when, person=whom) if when.person is not None and when.person.casefold() in PRONOUNS else when


#: The speaker goes away for a while, without saying until when somebody is to stay.
LEAVING = re.compile(
    r"(?i)\b(?:brb|afk|be right back|be back|back (?:soon|in)|(?:I(?:'m| am)|me) (?:just )?(?:off|going|gone|out)"
    r"|going to \w+|(?:I|I'll|I've got to|have to|need to|must|got to) (?:just |only |quickly )?(?:will |shall |must "
    r"|have to |need to |want to )?(?:return|go|leave|fetch|get|bring|run|nip|pop|pee|use|speak|answer|ask|grab|take"
    r"|check|feed|see|find|sell|buy|talk|call|change)|I (?:won't|shan't|will not) be|I(?:'ll| will) (?:only )?(?:be"
    r"|come back)|(?:just|only) (?:getting|grabbing|fetching|going|popping|nipping))\b"
)
