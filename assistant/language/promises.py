"""Finds what a character is asked to do later, and what it promises in its own words. English. Pure.

A thing for now is no promise: "Wait here.", "I'll tell you a secret." In doubt there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from mud_assistant.assistant.language.asked import Asked, asked_in
from mud_assistant.assistant.language.clauses import clauses_of
from mud_assistant.assistant.language.languages import write_out
from mud_assistant.assistant.language.persons import to_first
from mud_assistant.assistant.language.times import find_when
from mud_assistant.assistant.language.words import sentences_of


class Promised(Struct, frozen=True):
    """A sentence of the character that promises something for later; `asked` is None where it cannot be kept."""

    sentence: str
    asked: Asked | None


_STARTS = re.compile(r"(?i)[,;:!-]+ |\b(?:so|and|but|then|because) ")
_REPORTS = re.compile(r"(?i)\b(?:said|says|told|asked|asks|wrote|used to|never|not|remember when|always|would|did)\b")
_QUOTED = re.compile(
    r"[\"\u201c][^\"\u201d]*[\"\u201d]?|\u2018[^\u2019]*\u2019(?!\w)|(?<!\w)'(?:[^']|(?<=\w)'(?=\w))+'(?!\w)"
)


def request_in(line: str) -> Asked | None:
    """Return what a player's line asks the character to do later, None for nothing."""
    text = _QUOTED.sub(lambda match: " " if len(match[0]) < len(line) else match[0], line)
    for sentence in sentences_of(write_out(text).replace("\u2019", "'")):
        if (asked := _in_sentence(sentence)) is not None:
            return asked
    return None


def _in_sentence(sentence: str) -> Asked | None:
    """Return what a sentence asks for, wherever in it the clause begins."""
    for start in (0, *(match.end() for match in _STARTS.finditer(sentence))):
        if start and _REPORTS.search(sentence[:start]):
            return None
        for clause in clauses_of(sentence[start:]):
            if (asked := asked_in(clause)) is not None:
                return asked
    return None


_VOW = (
    r"(?:I (?:do )?(?:promise|swear|vow|give you my word)(?: you)?|(?:you have|on|upon) my (?:word|honou?r|oath)(?: on it)?"
    r"|word of honou?r)(?:[,:.;]? (?:that )?I(?:'ll| will| shall)| to)\b"
)
#: How a character says what it will do. A vow is a promise even where it names no time.
_OWN = re.compile(
    rf"(?i)(?:(?P<vow>{_VOW})|\b(?:I|we)(?:'ll| (?:will"
    rf"|shall)(?! (?:I|we)\b)| am going to|'m going to|'re going to| are going to))"
    r"(?: (?:gladly|surely|certainly|happily|also|then|just|be sure to|make sure to|do my best to|try to|of course"
    r"|indeed|remember to|never fail to|personally|be glad to|be happy to|come and))*[ ,]+"
)
_DENIED = re.compile(r"(?i)^(?:not|never|no longer|hardly|rather not|neither|nor)\b")
#: What is said of oneself in these words is no promise, whenever it is to be.
_HARMLESS = re.compile(
    r"(?i)^(?:miss|say|admit|think|know|believe|bet|wager|confess|grant|own|allow|hope|want|love|like|need"
    r"|have(?! (?:it|them|your|the \w+|a \w+) (?:ready|done|made|waiting))|be (?!there|here|back|at|waiting|ready|in)"
    r"|see(?! (?:to|that))|hear|find out|eat|drink|sleep|rest|go to (?:bed|sleep)|go home|take (?:my|a|some)|dream"
    r"|wonder|forget|regret|spare|stick|keep (?:my|it|that|to)|put it|suppose|expect|remain|stay|live|die|grow|pass"
    r"|give (?:it|that) (?:a|some) thought|ask (?:you )?(?:again|that|why)|try|bake|cook|brew|pour|start|begin|stop"
    r"|get (?:up|to bed|old)|look forward|feel|enjoy|manage|survive|sit|lie|thank you|tell you (?:what|a|this|one"
    r"|that|something|the truth|why|how))\b"
)
_FAR = re.compile(
    r"(?i)\b(?:tomorrow|next (?:week|month|year|time|spring|summer|autumn|winter|harvest|market)|some ?day|one day"
    r"|soon|this (?:week|month|year)|(?:on|next|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day|by (?:then|the time)"
    r"|before (?:winter|spring|long|the week)|in (?:spring|summer|autumn|winter))\b"
)
_DOUBTS = re.compile(
    r"(?i)\b(?:if|unless|whether|perhaps|maybe|might|wish|suppose|think|doubt|as though|as if|otherwise|or else)\b"
)
_TO_ME = re.compile(
    r"(?i)\b(remind|tell|wake|meet|let|call|warn|fetch|find|join|visit|see|give|show|bring|await|expect|with|for|to"
    r"|at|by|of|about|nudge|rouse|get|inform|alert|notify|send|behind|near|until|owe) you\b(?! (?:are|were|have|had"
    r"|left|said|want|need|come|return|get|like|asked|told)\b)"
)


def promised_in(words: str) -> Sequence[Promised]:
    """Return what a character promises in the words that it is about to say, in their order."""
    straight = words.replace("\u2019", "'")
    masked = _QUOTED.sub(lambda match: "_" * len(match[0]), straight)
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
        front = sentence[places[number - 1].end() if number else 0 : place.start()]
        end = places[number + 1].start() if number + 1 < len(places) else len(sentence)
        said = sentence[place.end() : end].strip(" ,.!;:")
        timed = _front_time(front)
        if not said or _DENIED.match(said) or (timed is None and _DOUBTS.search(front)):
            continue
        asked = _in_own_words(f"{timed}, {said}" if timed else said)
        if asked is not None:
            yield asked
        elif _is_later(f"{timed or ''} {said}", said, is_vow=bool(place["vow"])):
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


def _in_own_words(said: str) -> Asked | None:
    """Return what a promise takes on, from the words behind "I will"."""
    for_asker = to_first(_TO_ME.sub(r"\1 me", said))
    for clause in clauses_of(for_asker[:1].lower() + for_asker[1:]):
        if (asked := asked_in(clause)) is not None:
            return asked
    return None


def _is_later(whole: str, said: str, *, is_vow: bool) -> bool:
    if _HARMLESS.match(said):
        return False
    found = find_when(whole)
    is_once = found is not None and not found[2].every
    return is_vow or is_once or _FAR.search(whole) is not None


_TAKES_ON = re.compile(
    r"(?i)^(?:(?:oh|ah|well|aye|yes|why|then|and|hm+|dear|my (?:dear|friend|lord|lady)|good)[,!.]? ?)*(?:"
    r"(?:I|that I|indeed I|of course I|so I|yes I|certainly I|gladly I)(?:'ll| will| shall)(?! (?:think|consider"
    r"|see|try|say|admit|miss|tell you|have (?:some|a|my)))(?: (?:do|see to|remember|remind|tell|wait|stay|be|come"
    r"|meet|mind|keep|let|wake|pass|give|not forget|gladly|certainly|surely|indeed|of course|make sure|watch"
    r"|look after|take care|bear|hold|water|feed|light|sweep|tend|guard|return|ask)\b|\W|$)"
    r"|I won't forget|I(?:'d| would| shall|'ll| will) be (?:glad|happy|delighted|honou?red|pleased)|gladly|happily"
    r"|willingly|of course|as you (?:wish|like|say|will|please)|very well|(?:you (?:can|may) )?(?:count|depend"
    r"|rely) on (?:me|it|that)"
    r"|you (?:can|may) (?:count|depend|rely) on me|you have my word|(?:you have )?my word on it|I promise|I swear"
    r"|I give you my word|certainly|surely|sure(?: thing)?|with pleasure|by all means|consider it done|it (?:shall"
    r"|will) be done|leave (?:it|that) (?:to|with) me|no (?:problem|trouble)|all right|alright|okay|ok\b|agreed"
    r"|done\b|so be it|it's a (?:deal|promise|bargain)|deal\b|absolutely|naturally|right you are|rest assured"
    r"|be assured|never fear|have no fear|I can do that|fine\b|yes\W*$|aye\W*$|yes,? (?:at|when|in|every|tomorrow"
    r"|tonight|of course|I will|gladly)|aye,? (?:at|when|in|every|that|I)|I'll do (?:it|that|so)|that (?:I|we) will"
    r"|that can be (?:done|arranged)|I(?:'m| am) (?:on it|at your service|happy to|glad to)|(?:it is|it's|'tis"
    r"|it would be|it will be) (?:my|a) (?:pleasure|honou?r)|at your service|right away|I hear and obey"
    r"|as good as done|depend upon it"
    r")(?:\b|(?<=\W)|$)"
)
_TAKES_BACK = re.compile(
    r"(?i)\b(?:not(?! (?:forget|fail|let you down|miss|be late|a problem|at all))|cannot|can't|never(?! fear| fail"
    r"| forget)|won't(?! forget| fail| let you| be late)|don't (?!worry|fret)|couldn't|wouldn't|if I must|but"
    r"|unless|however|perhaps|maybe|why should|nobody|nothing|refuse|no one|sorry|afraid|wish I could)\b|\?"
)


def accepts(words: str) -> bool:
    """Tell whether words plainly take on what was asked: "I will.", "Very well, at dawn."."""
    masked = _QUOTED.sub(" ", words.replace("\u2019", "'"))
    sentences = sentences_of(masked)
    first = next((at for at, one in enumerate(sentences) if _TAKES_ON.match(one)), None)
    return first is not None and first <= 1 and not any(_TAKES_BACK.search(one) for one in sentences)
