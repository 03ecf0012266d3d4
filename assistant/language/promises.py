"""Finds what a character is asked to do later, and what it promises in its own words. English. Pure.

A thing for now is no promise: "Wait here.", "I'll tell you a secret." In doubt there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.language.later.clauses import TAIL, as_read, clauses_of, filled_in, request_of, starts_of
from mud_assistant.assistant.language.later.hours import NAME, NOBODY
from mud_assistant.assistant.language.later.phrasing import LEAVING, QUOTED, expected_in
from mud_assistant.assistant.language.later.wishes import Asked, asked_in
from mud_assistant.assistant.language.persons import to_first
from mud_assistant.assistant.language.times import PRONOUNS, find_when
from mud_assistant.assistant.language.words import one_of, sentences_of


class Promised(Struct, frozen=True):
    """A sentence of the character that promises something for later; `asked` is None where it cannot be kept."""

    sentence: str
    asked: Asked | None


_THEY_SAY = re.compile(r"(?i), (?:they|he|she|we|people|folk|everybody|everyone|my \w+) (?:say|says|said)\W*$")
#: What is passed on may stand in the next sentence.
_MESSAGE = re.compile(r"(?i)\b(?:message|word|something)\b")
#: Who is not here, so that a message is left for them.
_MESSAGE_FOR = re.compile(
    rf"(?i)\b(?:take|leave|pass(?: on)?|have|give|deliver) (?:a|my|this) (?:message|word|note) (?:on )?(?:for"
    rf"|to) (?P<whom>{NOBODY}{NAME})"
)
#: A name of which the next sentence may speak: "I look for Ann. If she comes, tell her so."
_A_NAME = re.compile(
    r"(?<=[a-z,;] )(?!I\b)[A-Z][a-z]+\b|^(?!(?:He|She|It|That|There|Here|Wh\w+|How|We|They|You|The|This|These|Those|My"
    r"|Our|Your|All|Some|Every\w*|No\w*|If|In|At|On|By|As|Since|Because|After|Before|Then|And|But|So|Oh|Please"
    r"|Always)\b)[A-Z][a-z]+(?='s |'ll | (?:is|has|had|was|went|left|will|should|might|may|can't|won't|never|always"
    r"|came|swore|said|and I|\w+(?:ed|s|nt|ld|ok|ve|ot|st)) )"
)
#: "Ann will come later. Tell her the key is under the mat."
_WILL_COME = re.compile(
    r"(?i)\b(?:(?:will|should|ought to|might|may|is (?:going|due|supposed|meant|expected|bound) to|wants to)"
    r"|(?<=\w)'(?:ll|d)) (?:\w+ ){0,2}?(?:come|arrive|visit|return|(?:be|drop|pass|stop|pop|wander|look) (?:\w+ing )?"
    r"(?:along|here|back|by|in|round|over|through))\b|'s coming\b|\bcomes (?:later|soon|by|tonight|today|tomorrow|this"
    r"|in|at)\b|\bis (?:coming|due|on (?:her|his|their) way)\b"
)
_PLEASE = r"(?:(?:please|then|so|just|do|can you|could you|would you|will you|if you(?:'d| could| would| can)) )*"
_TOLD_THEN = re.compile(
    rf"(?i)^(?!.*\b(?:when|once|if (?:he|she|they)|as soon|next time|until)\b)([^.!?]+?(?: (?:will|should|might|may|is"
    rf"|said|was)|'s|'ll|'d) [^.!?;,]*)(?:[;,]| (?=tell|let))+ ?(?:so |and |but )?(?={_PLEASE}(?:tell|ask|give|warn"
    rf"|inform|let) (?:her|him|them)\b)"
)
_MOST_SENTENCES = 8
_TELL_THEM = re.compile(rf"(?i){_PLEASE}(?:tell|ask|give|warn|inform|let) (?:her|him|them)\b")
_WHEN_THEY = re.compile(
    r"(?i)\b((?:when(?:ever)?(?: next)?|once|if|as soon as|next time|should|until|till|'?til|before"
    r"|the moment)(?= (?:she|he|they)\b)|(?:when|once|if|should|next time) (?:you )?(?:see|meet|spot))(?: (?:she|he"
    r"|they|her|him|them))\b(?P<does> (?:does|is|do|has)(?=\W*$|,))?"
)


def request_in(line: str) -> Asked | None:
    """Return what a player's line asks the character to do later, None for nothing."""
    text = as_read(line)
    spoken_of = waited = expected = before = ""
    is_message = False
    for sentence in sentences_of(_TOLD_THEN.sub(r"\1. ", text))[:_MOST_SENTENCES]:
        they = _WHEN_THEY.search(sentence)
        front = sentence[: they.start()] if they is not None else ""
        name = expected_in(front) or next(reversed(_A_NAME.findall(front)), spoken_of)
        asked = _in_sentence(_WHEN_THEY.sub(partial(_named, name), sentence, count=1)) if they and name else None
        asked = asked or _in_sentence(sentence, before)
        small = f"{sentence[:1].lower()}{sentence[1:]}"
        who = waited or (expected if _TELL_THEM.match(sentence) else "")
        asked = asked or (_in_sentence(f"When {who} comes, {sentence}") if who else None)
        if asked is None and is_message and not sentence.endswith("?"):  # "Pass a message to Ann: the boat is in."
            asked = _in_sentence(f"When {waited} comes, tell {waited} {small}")
        asked = asked or (_in_sentence(f"{before[:-1]}, {small}") if before else None)
        if asked is not None:
            return asked
        spoken_of, before = next(reversed(_A_NAME.findall(sentence)), spoken_of), sentence
        found = find_when(sentence) if _MESSAGE.search(sentence) else None
        waits = found is not None and found[2].person
        left = _MESSAGE_FOR.search(sentence)
        waited = spoken_of if waits in PRONOUNS else waits or (left["whom"] if left else "")
        is_message = left is not None or (bool(waited) and _MESSAGE.search(sentence) is not None)
        expected = spoken_of if _WILL_COME.search(sentence) else ""
    return _staying_in(text)


def _named(name: str, they: re.Match[str]) -> str:
    return f"{they[1]} {name}{' comes' if they['does'] else ''}"


def _in_sentence(sentence: str, before: str = "") -> Asked | None:
    """Return what a sentence asks for, wherever in it the clause begins; `before` is what was said before it."""
    if _THEY_SAY.search(sentence):
        return None
    for front, part in starts_of(sentence):
        for clause in clauses_of(part):
            if (asked := asked_in(clause)) is not None:
                full = filled_in(asked, front if front.count(" ") > 1 else before, clause.text)
                if full.what or not full.whom:
                    return full
    return None


def _staying_in(text: str) -> Asked | None:
    """Return that somebody is to stay until the asker is back, who only says that they go: "wait here, brb"."""
    if not LEAVING.search(text):
        return None
    parts = (part for sentence in sentences_of(text) for _, part in starts_of(sentence))
    wishes = (re.split(r"[,.;!?-]+ |[.!?]$", LEAVING.split(request_of(part))[0])[0].strip() for part in parts)
    asked = (
        _in_sentence(f"{wish} until I am back") for wish in wishes if wish.casefold() not in {"", "wait", "hold on"}
    )
    return next((one for one in asked if one is not None and one.kind is GoalKind.WAIT), None)


_VOW = (
    r"(?:I (?:do )?(?:promise|swear|vow|give you my word)(?: you)?|(?:you have|on|upon) my (?:word|honou?r"
    r"|oath)(?: on it)?|word of honou?r)(?:[,:.;]? (?:that )?I(?:'ll| will| shall)| to)\b"
)
#: How a character says what it will do. A vow is a promise even where it names no time.
_OWN = re.compile(
    rf"(?i)(?:(?P<vow>{_VOW})|\b(?:I|we(?= shall meet| will meet|'ll meet))(?:'ll| (?:will|shall)(?! (?:I|we)\b)|(?:'m"
    rf"| am) going to|(?= won't )))(?: (?:gladly|surely|certainly|happily|also|then|just|of course|indeed|personally"
    rf"|always|(?:be sure|make sure|do my best|try|remember|never fail|not fail|not forget|be glad|be happy) to"
    rf"|come and(?= (?:tell|wake|remind)))\b)*[ ,]+"
)
#: What leads from one promise of a sentence to the next.
_LINK = re.compile(r"(?i)[\s,;]*\b(?:and|but|then|so)\s*$")
_DENIED = re.compile(
    r"(?i)^(?:(?:not|never)(?! (?:move|stir|budge|leave|go)\b)|won't(?! (?:move|stir|budge|leave|go)\b)|no longer"
    r"|hardly|rather|neither|nor)\b"
)
#: What is said of oneself in these words is no promise, whenever it is to be.
_HARMLESS_WORDS = r"""
    miss|say|admit|think|know|believe|bet|wager|confess|grant|own|allow|hope|want|love|like|need|hear|find out|eat
    drink|have(?! (?:it|them|your)\b|.*\b(?:ready|done|made|mended|waiting|finished)\b)
    be (?!there|here|back|at|waiting|ready|in)|see(?! (?:to|that)\b)|sleep|rest|go to (?:bed|sleep)|go home
    take (?:my|a|some)|dream|wonder|forget|regret|spare|stick|keep (?:my|it|that|to)|put it|suppose|expect|remain|stay
    live|die|grow|pass(?! (?:it|that|this|your|the|on|my)\b)|give (?:it|that) (?:a|some) thought
    ask (?:you )?(?:again|that|why)|try|(?:bake|cook|brew|pour)(?!.*\byou\b)|start|begin|stop|get (?:up|to bed|old)
    look forward|feel|enjoy|manage|survive|sit|lie|thank you
    tell you (?:what|a|this|one|that|something|the truth|why|how)|not|never|won't|meet (?:someone|a|my)|remember|finish
    retire|leave(?! (?:the|it|your|a|my))|close|shut|depart|turn in|lie down|work|buy(?!.*\byou\b)
"""
_HARMLESS = re.compile(rf"(?i)^(?:{one_of(_HARMLESS_WORDS)})\b")
_FAREWELL = re.compile(r"(?i)^(?:be (?:glad|happy) to )?see (?:you|me)(?: again)?\b")
_FAR = re.compile(
    r"(?i)\b(?:tomorrow|next (?:week|month|year|time|spring|summer|autumn|winter|harvest|market)|some ?day|one day|soon"
    r"|this (?:week|month|year|spring|summer|autumn|winter)|(?:on|next|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|before (?:winter|spring|long|the week)|in (?:the )?(?:spring|summer|autumn|winter))\b"
)
_AS_YOU_LIKE = re.compile(r"(?i)\b(?:as you (?:wish|like)|if you (?:like|wish|want|please)|if need be)\b")
_DOUBTS = re.compile(
    r"(?i)\b(?:if|unless|whether|perhaps|maybe|might|wish|hope|wonder|suppose|think|doubt|as though|as if|otherwise"
    r"|told|or else|(?:they|people|some|he|she|who) (?:say|says|said|thinks?|thought))\b|\b(?:not|cannot|can't|don't"
    r"|never)\b[^,;:.]*$|\b(?:what|where|who|whom|how|why) *$|\b(?:said|says?|thought|sang|wrote|swore)[,:]* *$"
)
_TO_ME = re.compile(
    r"(?i)\b(remind|tell|wake|meet|let|call|warn|fetch|find|join|visit|see|give|show|bring|await|expect|with|for|to|at"
    r"|by|of|about|nudge|rouse|get|inform|alert|notify|send|behind|near|owe) you\b(?!')(?! (?:are|were|have|had|left"
    r"|said|want|need|come|return|get|like|asked|told)\b)"
)
#: Turns of a character that are put as a player would put them: "I will not move".
_TURNED = (
    (re.compile(r"(?i)^((?:[^,]*, )?)(?:not|never|won't) (?=(?:move|stir|budge|leave|go)\b)"), r"\1don't "),
    (re.compile(r"(?i)\bbe (wait|stay|watch|guard|mind)ing\b"), r"\1"),
)


def promised_in(words: str) -> Sequence[Promised]:
    """Return what a character promises in the words that it is about to say, in their order."""
    straight = words.replace("\u2019", "'")
    masked = QUOTED.sub(lambda match: "_" * len(match[0]), straight)
    found: list[Promised] = []
    at = 0
    for sentence in sentences_of(words):
        at = words.index(sentence, at)
        said = masked[at : at + len(sentence)]
        at += len(sentence)
        if not said.rstrip("\"' ").endswith("?"):
            found += [Promised(sentence, asked) for asked in _promises(said)]
    return found


def _promises(sentence: str) -> Iterator[Asked | None]:
    """Yield what each "I will" of a sentence promises, None for what cannot be kept."""
    places = list(_OWN.finditer(sentence))
    for number, place in enumerate(places):
        front = _AS_YOU_LIKE.sub("", sentence[places[number - 1].end() if number else 0 : place.start()])
        end = places[number + 1].start() if number + 1 < len(places) else len(sentence)
        said = TAIL.sub("", _LINK.sub("", sentence[place.end() : end]))
        timed = _front_time(front)
        if not said or _DENIED.match(said) or (timed is None and _DOUBTS.search(front)):
            continue
        wish = _for_asker(f"{timed}, {said}" if timed else said)
        asked = _asked_by(wish)
        if asked is not None and (asked.place or _FAREWELL.match(said) is None):
            yield asked
        elif asked is None and _is_later(said, wish, is_vow=bool(place["vow"])):
            yield None


def _front_time(front: str) -> str | None:
    """Return the time that ends what stands before "I will"; None for none."""
    at = 0
    while (found := find_when(front[at:])) is not None:
        begin, end = found[0] + at, found[1] + at
        if not front[end:].strip(" ,:-"):
            return front[begin:end]
        at = end
    return None


def _for_asker(said: str) -> str:
    """Return the words behind "I will" as the listener would ask for it."""
    for pattern, other in _TURNED:
        said = pattern.sub(other, said)
    turned = to_first(_TO_ME.sub(r"\1 me", said))
    return turned[:1].lower() + turned[1:]


def _asked_by(wish: str) -> Asked | None:
    return next(filter(None, map(asked_in, clauses_of(wish))), None)


def _is_later(said: str, wish: str, *, is_vow: bool) -> bool:
    """Tell whether what "I will" stands before is to come, and more than talk about oneself."""
    if _HARMLESS.match(said):
        return False
    found = find_when(wish)
    is_once = found is not None and not found[2].every
    return is_vow or is_once or _FAR.search(wish) is not None


#: Words that take something on alone, or before a mark, a name or a time: "Gladly.", "Very well, at dawn."
_YES_WORDS = r"""
    gladly|happily|willingly|of course|as you (?:wish|like|say|will|please)|very well|certainly|surely|sure(?: thing)?
    with (?:great )?pleasure|by all means|no (?:problem|trouble)(?: at all)?|all right|alright|okay|ok|agreed|done
    so be it|it's a (?:deal|promise|bargain)|deal|absolutely|naturally|right you are|rest assured|be assured
    (?:never|have no) fear|fine|at your service|right away|at once|I hear and obey|as good as done
    that (?:I|we) (?:will|shall)|happy to|consider it done|it (?:shall|will) be done|leave (?:it|that) (?:to|with) me
    I can do that|that can be (?:done|arranged)|I promise|I swear|I give you my word|(?:you have )?my word(?: on it)?
    indeed(?: I will)?|understood|right|(?:you (?:can|may) )?(?:count|depend|rely) (?:up)?on (?:me|it|that)
    I(?:'ll| will| shall) do (?:it|that|so|my best)
    (?:it is|it's|'tis|it would be|it will be) (?:my|a) (?:pleasure|honou?r)|I(?:'m| am) (?:on it|at your service)
    I (?:won't|will not|shall not) (?:forget|fail|let you down)|I(?:'ll| will) remember
    you may be sure(?: of it| of that)?
"""
_I_DO = r"""
    do|see to|remember|remind|tell|wait|stay|be (?:there|here|back|at|waiting|ready|glad|happy|sure)|come|meet|mind
    keep|let|wake|pass|give|not forget|gladly|certainly|surely|indeed|of course|make sure|watch|look after|take care
    bear|hold|water|feed|light|sweep|tend|guard|return|ask|warn|stoke|clean|check|wind|dust|polish
"""
_SIGH = r"(?:(?:oh|ah|well|why|then|and|h+m+|dear|my (?:dear|friend|lord|lady)|good|but|right)[,!.]* )*"
_GOES_ON = (
    r"(?=\W*$|[.,;!:\u2014-]| +(?:I(?:'ll| will| shall| can|'d)|at|when|once|in|every|each|tomorrow|tonight|my|dear"
    r"|friend|sir|then|it (?:shall|will)|and|as soon|until|till)\b)"
)
_TAKES_ON = re.compile(
    rf"(?i)^{_SIGH}(?:(?:{one_of(_YES_WORDS)}){_GOES_ON}|(?:yes|aye)(?=\W*$|[.!;]|,? (?:I(?:'ll| will| shall| can)|at"
    rf"|when|once|in|every|tomorrow|tonight|of course|gladly|certainly)\b|,? \w+[.!]*$)|(?:(?:yes|aye|indeed|of course"
    rf"|certainly|gladly|so|that),? )*I(?:'ll| will| shall)(?:\W*$|,| (?:{one_of(_I_DO)})\b)|I(?:'d| would|'m"
    rf"| am) (?:be )?(?:glad|happy|delighted|honou?red|pleased)(?: to|\W*$))"
)
_TAKES_BACK = re.compile(
    r"(?i)\b(?:(?:not|never|won't)(?! (?:fear|forget|fail|let you|miss|be late|a problem|at all|move|worry))|cannot"
    r"|can't|don't (?!worry|fret|mention|fear)|couldn't|wouldn't|but|unless|however|perhaps|maybe|nobody|nothing|refuse"
    r"|no one|sorry|afraid|wish I|if (?:I|we|only|the|paid|you (?!wish|like|please|want|insist))|first you)\b|\?"
)


def accepts(words: str) -> bool:
    """Tell whether words plainly take on what was asked: "I will.", "Very well, at dawn."."""
    sentences = sentences_of(QUOTED.sub(" ", words.replace("\u2019", "'")))
    return any(map(_TAKES_ON.match, sentences[:2])) and not any(map(_TAKES_BACK.search, sentences))
