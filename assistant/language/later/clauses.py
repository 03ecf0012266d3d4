"""Takes the clause that asks for something out of a line: without names, polite words and the time. English. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import islice

from msgspec.structs import replace

from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.language.languages import write_out
from mud_assistant.assistant.language.later.phrasing import as_mostly_put, without_quotes
from mud_assistant.assistant.language.later.plainly import plainly_put, verb_of
from mud_assistant.assistant.language.later.wishes import AWAY, Asked, Clause
from mud_assistant.assistant.language.persons import to_listener
from mud_assistant.assistant.language.times import When, find_when
from mud_assistant.assistant.language.words import one_of, sentences_of

_CALLED = r"(?:(?:hey|hi|hello|oi|yo|psst|dear|good (?:morning|evening|day)|listen|excuse me|sorry)[,!]? )*"
_MAY = "(?: could| would| might| can|'d)?"
_POLITE = one_of(
    r"""
    (?:(?:would|do|you) (?:you )?)?mind(?= \w+ing\b)|please|kindly|now|then|well|oh|ok(?:ay)?|al(?:l )?right|and|so|but
    yet|just|also|maybe|perhaps|yes|again|do(?! not\b)|right|great|thanks|thank you|fine|good|um|uh|er|anyway|actually
    hey|by the way|from (?:now|tomorrow) on|in (?:the )?future|if possible|possibly|perchance|by any chance
    feel free to|(?:could|can|might|can't|couldn't) you
    (?:will|would|won't|wouldn't) you(?! (?:still |ever )?be (?:there|here|at|in)\b)
    (?:(?:are|would) you )?(?:be )?(?:able|willing|happy|free|prepared|open|up) (?:to|for)|go ahead and|come and|go and
    (?:if|when) (?:you|it)(?:'re| are| can| could| would| please| don't| do not| have| isn't| is not)[^,]{0,30},
    if you (?:would|could|please|can|will),|if I(?:'m| am) (?:still )?(?:here|around|about|online|awake)
    I almost forgot|(?:do you think|(?:is there )?any (?:way|chance)) you (?:could|would|can|might)|might you
    (?:I|we) (?:was |do |only |just )*(?:thought you (?:might|could)|(?:think|hop|wonder|trust)\w*(?: if)? you{_MAY})
    (?:I|it|we)(?:'d| would)(?! not\b| never\b) [^,;:.!?]{1,40} if you(?:'d| wouldn't mind| didn't mind|{_MAY})
    if you (?:wouldn't|didn't|don't) mind|be sure(?: to)?
    be an? (?:dear|darling|angel|friend|pal|love|good \w+)(?: and)?
    (?:(?:would|could|will) you )?be (?:so|a|an|very|the|my|good|kind)(?: \w+){0,2},? (?:and|as to|to)\b
    I (?:want|need|beg|ask|order|command|beseech|would have|trust|charge|count on)(?: of)? you(?: to)?|I'd have you
    I(?:'d| would) (?:like|love|prefer) (?:for )?you to|I (?:have|need) a favou?r(?: to ask)?|a (?:small )?favou?r
    (?:do|could you do) (?:me|us) (?:a|the|this|one|an?other)?(?: \w+)? ?favou?r(?: and)?|one (?:more )?thing|try to
    don't forget(?: to)?|remember(?: to)?|make sure(?! (?:that )?I\b)(?: (?:to|you|that you))?|see that you
    (?:promise|swear)(?: (?:to )?me)?(?: (?:to|you'll|that you'll|that you will|you will))?|(?:before|if) I forget
    (?:may|can|could|might) I [^,;:.!?]{0,20}?you (?:please )?to|your (?:task|job|duty) is to
    (?:while|as) I think of it|(?:is it|would it be) (?:possible|okay|ok|all right|too much)[^,;:.!?]{0,22}? to
    you(?= (?:tell|say|let|give) (?:her|him|them)\b)|you will(?= (?:tend|mind|feed|wait|remind|meet|wake|tell)\b)
    (?:how|what) about(?: we| you)?|why don't (?:you|we)
    (?:somebody|someone|you)(?: (?:could|can|shall|should|might|must|have to|may|need to|had better|ought to)|'d better)
    you'd(?! (?:be|have)\b)
""".replace("{_MAY}", _MAY)
)
_LEAD = re.compile(rf"(?i)(?:{_CALLED})?(?:(?:{_POLITE})\b[\s,:;!.-]*)*")
_FRIEND = r"(?:my )?(?:friend|dear|sir|madam|lad|love|mate|good \w+|old \w+)"
_ENDS = r"""
    please(?: and thank you)?|ok|okay|alright|all right|(?:will|would|could|can|won't) you(?: please)?
    thanks(?: a lot)?|thank you|cheers|much appreciated|be a dear|don't (?:worry|fret)|never fear|fear not|of course
    as (?:you wish|agreed|promised)|I (?:promise|swear|give you my word)|you have my word|mark my words
    (?:up)?on my (?:word|honou?r)|if need be|if it(?:'s| is) no trouble|(?:and )?don't (?:forget|be late)|without fail
    for sure|say|let's say|if possible|for me please|(?:that|it)(?:'d| would) be \w+(?: \w+)?
    if you(?:'d)? (?:can|could|would|will|please|don't mind|like|may|wish|want|get a chance|be so (?:kind|good))
"""
#: What is said at the end of a clause for politeness, or to somebody by name.
TAIL = re.compile(
    rf"(?i)(?:(?:^|[\s.,!?;:-]+)\b(?:{one_of(_ENDS)})\b|,\s+(?:{_FRIEND}|right|yes|deal|(?-i:[A-Z])[\w'-]+))*[\s.,!?;:-]*$"
)
#: Politeness and names in the middle of a clause: "Remind me, Ann, at noon".
_ASIDE = re.compile(r"(?i),? (?:please|kindly)\b,?(?= )|\b(me|us), [\w'-]+,(?= )")
_WISHES = re.compile(r"(?i)\bif you [a-z]+")
_FOR = re.compile(
    r"(?i)\bfor (?=(?:about |around |another |just )?(?:an?|half an?|half|(?:a )?quarter of an|a few|a couple"
    r"|\d+|[a-z]+) (?:seconds?|minutes?|mins?|hours?|days?)\b)"
)
_NAMED = re.compile(r"(?i)|(?:tell|inform|warn|remind|ask|let|say to|whisper to|pass on to) \S+(?: \S+)?(?: know)?")


#: How somebody is called beside their name: "good Sage", "keeper Sage".
_FONDLY = r"(?:(?:O|good|dear|sweet|gentle|kind|trusty|old|wise|master|mistress|keeper|friend|my|brother|sister) )*"
_NOT_CALLED = "".join(rf"(?<!\b{word})" for word in ("to", "of", "for", "and", "with", "tell", "see"))


def without_calls(line: str, names: Collection[str]) -> str:
    """Return a line without each call of the character by one of its names: "oda wake me", "be there, Oda?"."""
    name = rf"{_FONDLY}(?:{'|'.join(map(re.escape, names))})"
    begins = rf"(?:^|(?<=[.!?;] ))({_CALLED}){name}(?:[,:!. ]+(?!(?:is|was|has|said|says)\b))"
    ends = rf"{_NOT_CALLED}[ ,]+{name}(?=\W*$|[,;:.!?])"
    return re.sub(rf"(?i){ends}", "", re.sub(rf"(?i){begins}", r"\1", line)).strip(" ,") if names else line


@lru_cache(maxsize=16)
def as_read(line: str) -> str:
    """Return a line as it is read for a request: written out, in plain words and without quotes."""
    return plainly_put(write_out(without_quotes(line)).replace("\u2019", "'"))


#: Where what is asked for may begin: behind a mark or a link, and at "could you", wherever that stands.
_STARTS = re.compile(
    r"(?i)[,;:!-]+ |\b(?:so|and|but|yet|then|because|or) |(?<!what)(?<!who)(?<!how)(?<!why)(?<!when)(?<!where)(?<!that)"
    r" (?=(?:please|kindly|(?:could|would|can|will|might) you)\b)|\b(?:if|that|thought|think|hope|hoping|wonder"
    r"|wondering|wish|maybe|perhaps|so|glad|grateful) (?=you(?:'d|'ll| would| could| can| might| should| must"
    r"| will)? [a-z])"
)
_REPORTS = re.compile(
    r"(?i)\b(?:said|says|told|asked|asks|wrote|used to|remember when|did|swore|promised|heard|whether)\b|\b(?:not|never"
    r"|\w+n't)(?: (?:say|tell|ask|mean|want)\w*)?\W*$"
)


_THEM = re.compile(r"(?i)\b(?:him|her|them)\b")
#: What names no time and means one that was named before: "remind me", "come back then".
_THEN = re.compile(
    r"(?i)(?P<said>(?:remind|wake|tell|call|warn|ping|poke|nudge|let|alert|give) (?:me|us)(?: a \w+| know)?"
    r"|.*(?= then\b))(?: then)?(?: when (?:it'?s|its|it is) (?:time|so)(?: to go)?| please)*(?P<rest>(?<=then) .*)?"
)


#: In a sentence of more, nobody asks for anything behind them.
_MOST_STARTS = 16


def starts_of(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before each place of a sentence where it may ask for something, and the sentence from there on.

    What others said or asked is left out. A time that was named before is said again where it is meant.
    """
    at, first = 0, find_when(_plain(sentence))
    for start in (0, *(match.end() for match in islice(_STARTS.finditer(sentence), _MOST_STARTS))):
        front, part = sentence[:start], sentence[start:]
        if not _REPORTS.search(sentence[at:start]):
            yield front, part
            then = _THEN.fullmatch(TAIL.sub("", _plain(part)))
            again = find_when(front) if then or (start and first and first[0] == 0) else None
            is_of_them = again is not None and (again[2].person is None or _THEM.search(part) is not None)
            if again is not None and is_of_them and find_when(part) is None:
                yield front, f"{front[again[0] : again[1]]}, {then['said'] + (then['rest'] or '') if then else part}"
        at = start if start and sentence[start - 2] in ",;:!-" else at


def request_of(sentence: str) -> str:
    """Return a sentence from the verb of what it asks for on, without calls and polite words."""
    return TAIL.sub("", as_mostly_put(_plain(_ASIDE.sub(r"\1", sentence))))


def wishes_of(line: str) -> Iterator[str]:
    """Yield each part of a line that may ask for something, in plain words and from its verb on."""
    return (request_of(part) for sentence in sentences_of(as_read(line)) for _, part in starts_of(sentence))


def clauses_of(sentence: str) -> Iterator[Clause]:
    """Yield the clause that a sentence begins with, without each of the times that it names."""
    core = as_mostly_put(_plain(_ASIDE.sub(r"\1", sentence)))
    first = find_when(core)
    if (away := AWAY.search(core)) and (first is None or not (first[2].every or first[2].person)):
        text = re.sub(r", [\w'-]+$", "", _without(core, *away.span()))
        yield Clause(text, When(person=""), away[0].strip(" ,"))
    at = 0
    while (found := find_when(core[at:])) is not None:
        begin, end, when = found[0] + at, found[1] + at, found[2]
        text = _without(core, begin, end)
        yield Clause(
            AWAY.sub("", text).strip(" ,") if when.every or when.person else text,
            when,
            core[begin:end],
            _NAMED.fullmatch(core[:begin].rstrip(" ,")) is not None,
        )
        at = end
    if (span := _FOR.search(core)) and (found := find_when(f"in {core[span.end() :]}")):
        yield Clause(_without(core, span.start(), span.end() + found[1] - len("in ")), found[2], "for")


def _without(core: str, begin: int, end: int) -> str:
    """Return a clause without its time, from its verb on and without what is said at its end for politeness."""
    head, rest = core[:begin].rstrip(" ,"), core[end:].strip()
    joined = f"{head}{'' if rest.startswith((',', ':', ';')) else ' '}{rest}" if head else rest.lstrip(" ,;:")
    return TAIL.sub("", re.sub(r"(?i)^to (?=[a-z])", "", _plain(joined)))


def _plain(text: str) -> str:
    """Return a clause from its verb on: without a call, polite words and "-ing"."""
    whole = text.strip(" ,.!?")
    core = _LEAD.sub("", whole, count=1).strip(" ,")
    if core == whole:
        return core
    first, space, rest = core.partition(" ")
    is_past = _WISHES.search(whole) is not None and not first.casefold().endswith(("eed", "ing"))
    return f"{verb_of(first)}{space}{rest}" if is_past or re.fullmatch(r"(?i)[a-z]*[aeiouy][a-z]*ing", first) else core


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
    before = re.sub(r"^(?:My|The|Our|We|There)\b", lambda first: first[0].lower(), _LINKS.sub("", front.strip(" ,")))
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
