"""Finds when a line wants something: at dawn, in an hour, when somebody comes, every evening. English. Pure.

The hour of each word for a time of day stands in `HOURS`. An hour without "morning" or "evening" may be either.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.language.later.hours import (
    A_WHILE,
    AFTER,
    AMOUNT,
    AMOUNTS,
    BARE,
    BEFORE,
    CLOCK,
    CLOCK_ENDS,
    COMES,
    DAY,
    FULL_DAY,
    HALF_DAY,
    HOUR,
    HOURS,
    LIGHT,
    MEAL,
    MINUTE,
    NAME,
    NOBODY,
    NUMBER,
    NUMBERS,
    ONCE,
    PART,
    PARTS,
    RELATION,
    SAME,
    SEE,
    UNITS,
    WEEK,
)


class When(Struct, frozen=True):
    """A time to come: in so many `seconds`, at an `hour` of the game's day, or when a `person` comes.

    `days` counts from today, 0 for the next time that it is that hour. With `is_either` the hour may be twelve hours
    later as well, whichever comes first. `person` is a name as it was said, empty for who speaks and None where nobody
    is waited for. `every` is the time until it is due again, in seconds, 0 for once.
    """

    seconds: float | None = None
    hour: float | None = None
    days: int = 0
    is_either: bool = False
    person: str | None = None
    every: float = 0.0


def _found(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?i)\b(?<!['-])(?:{pattern})(?![\w-])")


def _amount(match: re.Match[str]) -> float:
    count = match["n"].casefold()
    number = AMOUNTS.get(count) or float(count)
    more = {"half": 0.5, "quarter": 0.25}.get((match["half"] or match["late"] or "").rpartition(" ")[2].casefold(), 0.0)
    return (number + more) * UNITS[(match["unit"] or match["short"])[0].casefold()]


def _minutes(count: str) -> float:
    return (AMOUNTS.get(count.casefold()) or float(count)) * MINUTE


def _hour(name: str, relation: str) -> float:
    """Return the hour of a named time of day, before or after it where the relation says so."""
    last = re.sub(r"[ -]", "", name.casefold())
    last = SAME.get(last, last)
    hour = HOURS.get(f"at {last}", HOURS.get(f"at {last.removesuffix('time')}", HOURS.get(f"at {last}time", 12.0)))
    earlier = BEFORE if relation.casefold().endswith("before") else 0.0
    return (hour - earlier + (AFTER if relation.casefold().endswith("after") else 0.0)) % FULL_DAY


def _of_clock(match: re.Match[str]) -> When | None:
    """Return the hour that a clock shows; None for none that there is."""
    number = match["h"].casefold()
    hour = NUMBERS.get(number) or float(number)
    minutes = float(match["m"] or {"thirty": 30, "fifteen": 15}.get((match["word"] or "").casefold(), 0))
    if past := (match["past"] or "").casefold().removeprefix("a "):
        away = {"half": 30.0, "quarter": 15.0}.get(past) or AMOUNTS.get(past) or float(past)
        minutes += -away if match["to"] and match["to"].casefold() == "to" else away
    half = (match["ap"] or "").casefold()
    is_either = 0 < hour <= HALF_DAY and not half and not (match["m"] and number.startswith("0"))
    if half:
        hour = hour % HALF_DAY + (HALF_DAY if half == "p" else 0.0)
    hour += minutes / 60
    return When(hour=hour % FULL_DAY, is_either=is_either) if hour <= FULL_DAY and minutes < HOUR / MINUTE else None


def _of_light(match: re.Match[str]) -> When:
    return When(hour=_hour(match["named"], match["rel"] or "at"))


def _every(match: re.Match[str]) -> When:
    name = re.sub(r"[ -]", "", match["of"].casefold())
    if name in ("hour", "minute", "day", "week"):
        return When(every=UNITS[name[0]])
    is_twice = match.groupdict().get("also") is not None  # "every morning and evening"
    return When(hour=PARTS.get(name) or _hour(name, "at"), every=DAY / 2 if is_twice else DAY)


def _who(match: re.Match[str]) -> When | None:
    name = bare_name(match["who"])
    if name.casefold() in ("i", "me", "us"):
        return When(person="")
    return When(person=name if " " in name or not name.islower() or name in PRONOUNS else name.capitalize())


def bare_name(name: str) -> str:
    """Return a name without what the speaker is to that person: "my brother Tom" is Tom."""
    return _KIN.sub("", name)


_KIN = re.compile(r"^(?:(?:[Mm]y|[Oo]ur) (?:[a-z]+ )+|(?:(?:good|fair|sweet|dear|the knave|the rogue) )+)(?=[A-Z])")
#: What "tell Ann when she comes" calls Ann.
PRONOUNS = frozenset({"he", "she", "they", "him", "her", "them", "his", "their"})
#: How each part of a time is said, and what it means. Of those that begin at one place, the first counts.
_ELEMENTS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], When | None]], ...] = (
    (_found(rf"(?:{ONCE} (?:that )?(?:you|I)|should you) {SEE} (?P<who>him|her|them|me|us|{NOBODY}{NAME})(?: (?:again"
            rf"|next|here|around|(?:come|coming) in|coming|(?:in|within|inside|on|at) (?:here"
            rf"|(?:these|the|your) \w+)))*"), _who),
    (_found(rf"{ONCE} (?P<who>I)(?:'m| am)? {COMES}"), _who),
    (_found(rf"{ONCE} (?P<who>{NOBODY}{NAME})(?:(?='s)'s| ) ?{COMES}"), _who),
    (_found(rf"(?:up)?on (?P<who>{NOBODY}{NAME})'s (?:return|arrival)"), _who),
    (_found(rf"should (?P<who>{NOBODY}{NAME}) (?:be )?{COMES}"), _who),
    (_found(r"(?:(?:up)?on|at)(?: the (?:hour|day) of)? (?P<who>her|his|their) (?:return|arrival|coming)"), _who),
    (_found(r"for (?:high )?(?P<named>noon|dawn|dusk|midnight|sunset|sunrise)(?P<rel>(?!))?"), _of_light),
    (_found(rf"(?:every|each)(?: single)? (?P<of>{LIGHT}|{PART}|hour|minute|day|week)(?P<also> and (?:every "
            rf"|each )?(?:{PART}))?"), _every),
    (_found(rf"(?:every|each) {AMOUNT}"), lambda match: When(every=_amount(match))),
    (_found(rf"(?:when|once|after) {AMOUNT} (?:has|have|is|are) (?:passed|gone(?: by)?|up|over)"),
     lambda match: When(seconds=_amount(match))),
    (_found(r"once (?:a|an|every|per) (?P<of>hour|day|week|night|morning|evening)"), _every),
    (_found(r"(?P<of>dai|hour|night)ly"), lambda match: _ly(match["of"])),
    (_found(rf"(?:in|after|within) {AMOUNT}(?: from now)?"), lambda match: When(seconds=_amount(match))),
    (_found(rf"in {BARE}"), lambda match: When(seconds=_minutes(match["n"]))),
    (_found(rf"{AMOUNT} from now"), lambda match: When(seconds=_amount(match))),
    (_found(r"in (?:a|just a) (?:(?:little|short) )?(?:while|bit)|(?:a (?:bit"
            r"|little) )?later(?: on)?(?: today)?(?! (?:than|tonight|this)\b)"), lambda _: When(seconds=A_WHILE)),
    (_found(r"(?:by )?(?:the day after tomorrow)"), lambda _: When(hour=PARTS["morning"], days=2)),
    (_found(r"(?:by )?tomorrow(?: first thing)?(?: in the)?(?: (?P<part>morning|afternoon|evening|night))?"),
     lambda match: When(hour=PARTS[(match["part"] or "morning").casefold()], days=1)),
    (_found(rf"(?:just |right |shortly )?(?P<rel>{RELATION}) (?:the )?(?:high )?(?P<named>{LIGHT}|night"
            rf"|(?:{MEAL})(?:[ -]?time)?)(?: sharp)?"), _of_light),
    (_found(rf"(?:at|(?:at|on) the stroke of) (?:about |around |exactly )?{CLOCK}"), _of_clock),
    (_found(rf"{RELATION} (?:about |around |exactly )?{CLOCK}{CLOCK_ENDS}"), _of_clock),
    (_found(rf"(?P<h>{NUMBER})(?P<past>(?!))?(?P<to>(?!))?(?P<m>(?!))?(?P<word>(?!))?(?: ?(?P<ap>[ap])\.?m"
            rf"| o['\u2019]?clock)"), _of_clock),
    (_found(r"(?:when|once|as soon as|after|before) (?:the )?sun (?:is |has |be )?(?:(?P<up>rises?|risen|up"
            r"|comes? up|climbs)|(?:sets?|sinks?|sunk|dips|goes|gone|falls|low|down)(?: down)?)"),
     lambda match: When(hour=6.0 if match["up"] else 18.0)),
    (_found(r"(?:when|once|as soon as|before) (?:it (?:is|gets|grows) (?P<dark>dark)|night falls|night comes)"),
     lambda match: When(hour=18.0 if match["dark"] else 20.0)),
    (_found(r"when the (?:cock|rooster) crows|(?:when|once|as soon as) it(?: is|'s| gets) light"),
     lambda _: When(hour=6.0)),
    (_found(rf"(?:(?:early|later?) )?(?:(?:in|by|during|before) the|by|come|towards?|until|till) (?:(?:early"
            rf"|late) )?(?P<part>{PART})|this (?P<this>{PART})"),
     lambda match: When(hour=PARTS[(match["part"] or match["this"]).casefold()])),
    (_found(r"at (?:the )?(?:crack|break) of (?:dawn|day)|(?:at|by|before) sun ?up"), lambda _: When(hour=6.0)),
    (_found(r"on the morrow|(?:this|the same|same) time tomorrow"), lambda _: When(hour=PARTS["morning"], days=1)),
    (_found(r"every (?:so often|now and (?:then|again)|once in a while)|now and then|from time to time"),
     lambda _: When(every=HOUR)),
    (_found(r"twice (?:a|every|each) day"), lambda _: When(every=DAY / 2)),
    (_found(r"(?:later )?tonight"), lambda _: When(hour=HOURS["tonight"])),
    (_found(r"first thing"), lambda _: When(hour=PARTS["morning"])),
    (_found(r"next week"), lambda _: When(seconds=WEEK)),
)  # fmt: skip
#: "Tell her that supper is at seven when she comes": the hour is a part of what is told.
_IS = re.compile(r"(?i)\b(?:is|are|was|were|be|begins?|starts?|opens?|ends?|leaves?) $")
_BETWEEN = re.compile(r"[\s,]*(?:and )?")


def _ly(word: str) -> When:
    if word.casefold() == "night":
        return When(hour=HOURS["at night"], every=DAY)
    return When(every=HOUR if word.casefold() == "hour" else DAY)


@lru_cache(maxsize=256)
def find_when(text: str) -> tuple[int, int, When] | None:
    """Return where the first time that a text names begins and ends, and the time; None for none."""
    line = text.replace("\u2019", "'")
    found = _first(line, 0)
    if found is None:
        return None
    begin, end, when = found
    while (more := _first(line, end)) is not None:
        between = _BETWEEN.match(line, end)
        is_next = between is not None and between.end() == more[0]
        is_said = more[2].person is not None and _IS.search(line[:begin]) is not None
        both = joined(when, more[2]) if is_next and not is_said else None
        if both is None:
            break
        when, end = both, more[1]
    return begin, end, when


def _first(line: str, start: int) -> tuple[int, int, When] | None:
    """Return where the first part of a time begins and ends, and what it means."""
    best: tuple[int, int, When] | None = None
    for pattern, meaning in _ELEMENTS:
        match = pattern.search(line, start)
        if match is not None and (best is None or match.start() < best[0]):
            when = meaning(match)
            best = best if when is None else (match.start(), match.end(), when)
    return best


def joined(one: When, other: When) -> When | None:
    """Return what two parts of a time mean together, as "tomorrow" and "at noon"; None where they are two times."""
    if one.seconds is not None or other.seconds is not None:
        return None
    if one.person is not None or other.person is not None:
        waits, names_hour = (one, other) if one.person is not None else (other, one)
        return waits if names_hour.person is None and not names_hour.every else None  # "if Ann comes tonight"
    every, days = one.every or other.every, one.days or other.days
    if (one.every and other.every) or (one.days and other.days):
        return None
    if one.hour is None or other.hour is None:
        first = one if one.hour is not None else other
        return replace(first, every=every, days=days)
    clock, part = (one, other) if one.is_either else (other, one)
    if clock.is_either:
        late = part.hour is not None and part.hour >= HALF_DAY
        hour = (clock.hour or 0.0) % HALF_DAY + (HALF_DAY if late else 0.0)
        return When(hour=hour % FULL_DAY, days=days, every=every)
    exact = other if one.days or one.every else one
    return replace(exact, every=every, days=days)


def spoken_time(when: When, asker: str = "") -> str:
    """Return a time as the character says it to the asker, or of the `asker` to others: "when you are back"."""
    if when.person is not None:
        return f"when {when.person} comes" if when.person else f"when {f'{asker} is' if asker else 'you are'} back"
    if when.seconds is not None:
        return f"in {_spoken_amount(when.seconds)}"
    if when.hour is None:
        return f"every {_spoken_amount(when.every).removeprefix('an ').removeprefix('a ')}"
    said = next((said for said, hour in HOURS.items() if hour == when.hour and not when.is_either), "")
    said = said or f"at {_spoken_clock(when)}"
    part = said.removeprefix("in the ").removeprefix("at ")
    if when.every and said == "tonight":
        return "every night"
    if when.every:
        return f"every {part}" if part in (*PARTS, "dawn", "noon", "dusk", "midnight") else f"every day {said}"
    if not when.days:
        return said
    said = "at night" if said == "tonight" else said
    if when.days > 1:
        return f"the day after tomorrow {said}"
    return f"tomorrow {'night' if said == 'at night' else part if part in PARTS else said}"


def _spoken_amount(seconds: float) -> str:
    size, name = next(((one, name) for one, name in _SIZES if seconds >= one and not seconds % one), (1.0, "second"))
    count = seconds / size
    if seconds == HOUR / 2:
        return "half an hour"
    if count == 1:
        return f"{'an' if name == 'hour' else 'a'} {name}"
    words = {number: word for word, number in NUMBERS.items()}
    return f"{words.get(count) or f'{count:g}'} {name}s"


_SIZES = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (1.0, "second"))


def _spoken_clock(when: When) -> str:
    hour = when.hour or 0.0
    whole, minutes = int(hour), round(hour % 1 * 60)
    words = {number: word for word, number in NUMBERS.items()}
    if when.is_either and minutes in (0, 30):
        name = words.get(float(whole % 12 or 12), "twelve")
        return f"half past {name}" if minutes else name
    return f"{whole}:{minutes:02}"
