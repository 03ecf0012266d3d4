"""Reads by rule what a line tells of its speaker: home, work, kin, fears, what they lost, what lies before them. Pure.

Each fact is a sentence of the line, word for word. Its key tells what it is about, so that a newer one takes its place.
It knows English only: of other languages nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mud_assistant.assistant.language.words import sentences_of, words_of
from mud_assistant.assistant.memory.acquaintance.kin_words import ANIMALS, RELATIONS, is_trade
from mud_assistant.assistant.memory.acquaintance.told_matters import (
    COMMON,
    GOING,
    key_of,
    noun_of,
    object_of,
    read_losses,
    read_matters,
)
from mud_assistant.assistant.memory.acquaintance.told_questions import tells
from mud_assistant.assistant.memory.recall.words import drop_stop_words, split_words
from mud_assistant.tools.memories import Fact, FactPart

#: The longest sentence that is kept, in characters, and the most facts of one line.
MAX_SENTENCE, MAX_FACTS = 240, 8
_I = r"\b(?:i|we)(?:'m|'ve|'re|'d|'ll)?\b"
_OF_ONESELF = re.compile(rf"{_I}|\b(?:my|mine|our|ours|me|us)\b", re.IGNORECASE)
_HOME = re.compile(
    r"\b(?:i|we)(?:'ve)? (?:\w+ ){0,2}?(?:come|came|hail|hailed|moved|travell?ed|sailed|wandered|fled) "
    r"(?:\w+ ){0,3}?from\b(?! the (?:market|inn|tavern|shop|mill|baker|church|well)\b)"
    r"|\b(?:i am|i'm|we are|we're|i was|we were) (?!far\b|\w+ing\b|back\b|just\b|safe\b|free\b|away\b)"
    r"(?:[\w'-]+,? ){0,6}?from (?!here\b|there\b|it\b|you\b|him\b|her\b|them\b|me\b|now\b|work(?:ing)?\b)"
    r"|\b(?:i am|i'm|we are|we're) (?:[\w'-]+,? ){1,6}?out of (?-i:[A-Z])"
    r"|\b(?:i|we) (?:was|were|am) (?:born|raised|brought up|reared|native)\b|\b(?:i|we) grew up\b"
    r"|\bmy (?:home|village|home ?town|town|city|homeland|birthplace|people|family) "
    r"(?:is|are|was|lies|comes?|lives?|hails?)\b",
    re.IGNORECASE,
)
_LIVES = re.compile(
    r"\b(?:i|we)(?:'ve)? (?:\w+ ){0,2}?(?:live|lives|lived|dwell|reside|lodge|settled|sleep|stay|rent)\b"
    r"(?! (?:with|for|without|to)\b)|\b(?:i|we)(?:'ve| have)? moved (?:\w+ )?(?:in)?to\b",
    re.IGNORECASE,
)
_TRADE = re.compile(
    r"\b(?:i|we) (?:work|worked|serve|served|apprentice|trade|deal) (?:\w+ ){0,2}?(?:as|at|in|for|on|with|under)\b"
    r"|\bmy (?:\w+ )?(?:trade|craft|job|profession|work|business|calling|occupation) (?:is|was)\b|\bfor a living\b"
    r"|\bby (?:trade|profession)\b|\b(?:earn|make|made|earned) (?:my|our|a) (?:living|bread|keep)\b"
    r"|\b(?:i|we) (?:run|keep|own|manage) (?:a|an|the|my|our) (?:\w+ ){0,2}?"
    r"(?:shop|mill|inn|tavern|bakery|forge|smithy|stall|farm|school|ferry|workshop|brewery|store|boarding house)\b",
    re.IGNORECASE,
)
_I_AM_A = re.compile(
    r"\b(?:i am|i'm|i was|i've been|i have been|i became|we are|we're|my name is) (?:[\w'-]+(?: [\w'-]+)?, )?"
    r"(?:(?:now|only|just|but|also|still|training as|working as|apprenticed? to|called) )*(?:an?|the|one of the) "
    r"(?P<what>[\w'-]+(?: [\w'-]+){0,4})",
    re.IGNORECASE,
)
_KIN_NAMES = "|".join(sorted(RELATIONS | ANIMALS, key=len, reverse=True))
_ANY_KIN = re.compile(rf"{_I}.*\b(?:{'|'.join(sorted(RELATIONS, key=len, reverse=True))})s?\b", re.IGNORECASE)
_MY_KIN = re.compile(
    rf"\b(?:my|our) (?P<which>(?:[\w'-]+ ){{0,2}}?)(?P<kin>{_KIN_NAMES})(?P<many>e?s)?(?:-in-law)?\b(?P<rest>.*)",
    re.IGNORECASE,
)
_I_HAVE_KIN = re.compile(
    rf"\b(?:i|we)(?:'ve| have| had|'ve got| have got| keep| own| got| bought| found| adopted| raised| married) "
    rf"(?:only |also |just )?(?:an?|one|two|three|four|five|six|seven|many|several|no|the|\d+)(?: more)? "
    rf"(?P<which>(?:[\w'-]+ ){{0,3}}?)(?P<kin>{_KIN_NAMES})(?P<many>e?s)?\b(?P<rest>.*)",
    re.IGNORECASE,
)
_IS_MY_KIN = re.compile(
    rf"(?P<name>\b[A-Z][\w'-]+)(?:,? (?:is|was)|,) (?:my|our) (?P<which>(?:\w+ ){{0,2}}?)(?P<kin>{_KIN_NAMES})\b"
)
_NAMED = re.compile(
    r"^(?:'s)?,? ?(?:(?:is|are|was|were|who is|which is|that is|whose) )?(?:called|named|name is|name was|name's|"
    r"names are|names were|goes by|answers to)\b|^'s (?:real |full )?name (?:is|was)\b",
    re.IGNORECASE,
)
_APPOSED = re.compile(r"^(?:'s name is|,)? ?(?P<name>[A-Z][\w'-]+)")
_MINE_CALLED = re.compile(
    r"\b(?:my|our) (?P<thing>(?:[\w'-]+ ){0,2}?[\w'-]+?)(?:'s)?,? (?:(?:is|was|are) )?(?:called|named|name is)\b",
    re.IGNORECASE,
)
_LIKING = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:(?:really|always|quite|just|also|still|never|so|do|don't|do not|didn't|truly|rather|"
    r"cannot|can't|no longer|simply|absolutely|most|much|very) ){0,3}(?:like|love|loved|adore|enjoy|enjoyed|prefer|"
    r"fancy|hate|hated|loathe|despise|dislike|detest|can't stand|cannot stand|can't bear|cannot bear|stand|bear|"
    r"stomach)"
    r"\b(?! (?:to (?:know|see|ask|hear|buy|have|talk|speak|order|think|say)|you|your|it here|that|this|for)\b)"
    r"(?P<what>(?:(?! (?:and|but) (?:i|we)\b).)*)"
    r"|\b(?:am|'m|are) (?:\w+ ){0,2}?(?:fond of|mad about|keen on|crazy about|partial to|devoted to|"
    r"allergic to|sick of)(?P<fond>.*)"
    r"|\bfavou?rite (?P<favourite>\w+)",
    re.IGNORECASE,
)
#: What somebody does again and again, as those do who live by it.
_DOES = re.compile(
    r"\b(?:i|we) (?:\w+ly |also |just |mostly )?(?P<does>mend|teach|bake|brew|weave|sew|spin|fish|hunt|farm|trap|carve|"
    r"paint|keep|grow|breed|raise|sell|repair|make|forge|build|cut|catch|gather|drive|row|ferry|guard|write|print|"
    r"bind|tend|heal|deliver|dig|mine|sail|cook|clean|herd|shoe|blow|tan|dye|copy|train|nurse|plough|milk|collect|"
    r"study|perform|preach|juggle|trade|serve|work|run|play|patrol|haul|load|wash|guide|lead) "
    r"(?!you\b|it\b|sure\b|up\b|this\b|that\b|to\b)(?!.*\b(?:tomorrow|tonight)\b)\w",
    re.IGNORECASE,
)
_WISH = re.compile(r"\b(?:i|we)(?:'d| would| should) (?:\w+ )?(?:like|love|prefer)\b", re.IGNORECASE)
_FEAR = re.compile(
    r"\b(?:afraid|scared|frightened|terrified|fearful|petrified|wary) of(?P<of>.*)"
    r"|\b(?:i|we) (?:(?:really|always|still|do|don't|no longer|most|so|only) ){0,2}(?:fear|dread)\b(?P<what>.*)"
    r"|(?P<by>[\w'-]+(?: [\w'-]+)?) (?:frightens?|scares?|terrif(?:y|ies)) me\b"
    r"|\bmy (?:greatest |worst |only |biggest )?fear is(?P<is>.*)|\bnightmares? (?:of|about)(?P<dream>.*)",
    re.IGNORECASE,
)
_PROMISED = re.compile(
    r"\byou(?:'ve| have)? (?:\w+ )?promised\b|\byou (?:\w+ )?(?:owe|owed) (?:me|us)\b"
    r"|\byou said (?:that )?you(?:'d| would)"
    r"|\byou were going to\b",
    re.IGNORECASE,
)
_HAS = re.compile(
    r"\b(?:i|we)(?:'ve| have| had| own| owned| keep| carry| bought| sold| inherited| built| made| won| earned| found|"
    r" gave away| lost| wear| got| brought| traded| swapped| collect| play)(?: got)? (?!to\b|a look|been\b|a question|"
    r"heard\b|seen\b|no idea\b|never\b|not\b)(?P<what>(?:my|our|the|an?|two|three|some|\w+) .*)",
    re.IGNORECASE,
)
_MINE = re.compile(
    r"\b(?:my|our) (?P<thing>(?:[\w'-]+ ){0,2}?[\w'-]+) (?:is|are|was|were|has|had|comes?|came|got)\b", re.IGNORECASE
)
#: What somebody says of themselves, but for what they think, want and say at the moment.
_STATES = re.compile(
    r"\b(?:i|we)(?:'m|'ve|'d|'re)? (?!(?:just |only |also |really |do |don't |did |didn't |do not |will |"
    r"would |can |could |"
    r"should |shall |may |might |must |have |am |are |was )*(?:"
    r"think|know|knew|see|hope|guess|suppose|mean|say|said|tell|"
    r"told|ask|asked|wonder|wish|remember|forget|understand|agree|thank|beg|hear|believe|look|wait|greet|bet|admit|"
    r"want|need|like to|be|see you|care)\b)(?P<what>.*)|\b(?:call me|they call me|my name is)\b(?P<name>.*)",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:i am|i'm|we are|we're) (?:\w+ )?(?:here|back|fine|well|good|sorry|glad|sure|ready|done|tired|hungry|thirsty|"
    r"cold|afraid|happy|ok|okay|late|listening|looking|asking|not sure|just|curious|new here|lost)\b(?! (?:of|from)\b)",
    re.IGNORECASE,
)


def read_facts(text: str, at: float, offset: float = 0.0, speaker: str = "") -> tuple[Fact, ...]:
    """Return what a line tells of its `speaker`, by that name.

    `at` is its time, `offset` what local time is ahead of UTC, both in seconds.
    """
    own = re.compile(rf"(?<![\w'-]){re.escape(speaker)} of [A-Z]") if speaker else None
    is_named = own is not None and own.search(text) is not None
    if not (is_named or _OF_ONESELF.search(text) or _PROMISED.search(text) or _IS_MY_KIN.search(text)):
        return ()
    facts: dict[tuple[FactPart, str], Fact] = {}
    for sentence in sentences_of(text.replace("\u2019", "'")):
        if sentence.endswith("?") and not tells(sentence):
            continue
        found = _facts_in(sentence[:MAX_SENTENCE], at, offset)
        if own is not None and own.search(sentence):
            found.append(Fact(FactPart.HOME, "from", sentence[:MAX_SENTENCE]))
            if any(map(is_trade, words_of(sentence))):
                found.append(Fact(FactPart.WORK, "trade", sentence[:MAX_SENTENCE]))
        for fact in found:
            facts[fact.part, fact.key] = fact
    return tuple(facts.values())[:MAX_FACTS]


def read_short_answer(whole: str, asked: str) -> tuple[Fact, ...]:
    """Return what a short answer tells with its question: "Rex." to "What is your dog called?". `whole` is both."""
    turned = re.sub(r"\byour\b", "my", asked, flags=re.IGNORECASE)
    if turned == asked and not re.search(r"\byou\b", asked, re.IGNORECASE):
        return ()
    if (kin := _MY_KIN.search(turned)) is not None:
        return (Fact(FactPart.KIN, f"{kin['kin'].casefold()}=", whole),)
    part, key = FactPart.SELF, " ".join(sorted(drop_stop_words(split_words(asked)))[:3])
    if re.search(r"\bwhere\b.*\b(?:from|born|live|home)\b", asked, re.IGNORECASE):
        part, key = FactPart.HOME, "from"
    elif re.search(r"\b(?:do for a living|trade|work|job|craft|profession)\b", asked, re.IGNORECASE):
        part, key = FactPart.WORK, "trade"
    elif re.search(r"\b(?:afraid|fear|scared?)\b", asked, re.IGNORECASE):
        part, key = FactPart.FEAR, "asked"
    return (Fact(part, key, whole),)


def _facts_in(sentence: str, at: float, offset: float) -> list[Fact]:
    found = [Fact(part, key, sentence) for part, key in (*_home(sentence), *_work(sentence), *_kin(sentence))]
    found += [*read_losses(sentence), *read_matters(sentence, at, offset)]
    if _PROMISED.search(sentence):
        found.append(Fact(FactPart.PROMISE, key_of(sentence, 3), sentence))
    found += [Fact(part, key, sentence) for part, key in (*_fears(sentence), *_likings(sentence)) if key]
    if not found:
        found += [Fact(part, key, sentence) for part, key in _others(sentence) if key]
    return found


def _home(sentence: str) -> Iterator[tuple[FactPart, str]]:
    if _HOME.search(sentence):
        yield FactPart.HOME, "from"
    if _LIVES.search(sentence):
        yield FactPart.HOME, "lives"


def _work(sentence: str) -> Iterator[tuple[FactPart, str]]:
    named = _I_AM_A.search(sentence)
    if _TRADE.search(sentence) or (named is not None and any(map(is_trade, words_of(object_of(named["what"]))))):
        yield FactPart.WORK, "trade"
    elif (does := _DOES.search(sentence)) is not None:
        yield FactPart.WORK, does["does"].casefold()


def _kin(sentence: str) -> Iterator[tuple[FactPart, str]]:
    if (named := _IS_MY_KIN.search(sentence)) is not None:
        yield FactPart.KIN, f"{_which(named)}{named['kin'].casefold()}={named['name'].casefold()}"
        return
    for pattern in (_MY_KIN, _I_HAVE_KIN):
        rest = sentence
        while (found := pattern.search(rest)) is not None:
            kin, rest = f"{_which(found)}{found['kin'].casefold()}", found["rest"]
            if _NAMED.match(rest) or re.search(r"\b(?:called|named)\b", rest):
                yield FactPart.KIN, f"{kin}="
            elif (name := _APPOSED.match(rest)) is not None:
                yield FactPart.KIN, f"{kin}={name['name'].casefold()}"
            else:
                yield FactPart.KIN, f"{kin} {key_of(rest, 2)}".strip()
    if _ANY_KIN.search(sentence) and not (_MY_KIN.search(sentence) or _I_HAVE_KIN.search(sentence)):
        yield FactPart.KIN, key_of(sentence, 2)
    if (thing := _MINE_CALLED.search(sentence)) is not None and not _MY_KIN.search(sentence):
        yield FactPart.KIN, f"{words_of(thing['thing'])[-1]}="


def _which(found: re.Match[str]) -> str:
    words = [word for word in words_of(found["which"] or "") if word not in COMMON]
    return f"{' '.join(words)} " if words else ""


def _fears(sentence: str) -> Iterator[tuple[FactPart, str]]:
    if (found := _FEAR.search(sentence)) is not None:
        what = next(filter(None, (found["of"], found["what"], found["by"], found["is"], found["dream"])), "")
        yield FactPart.FEAR, key_of(object_of(what) or what, 1)


def _likings(sentence: str) -> Iterator[tuple[FactPart, str]]:
    for found in _LIKING.finditer(sentence) if not _WISH.search(sentence) else ():
        if found["favourite"]:
            yield FactPart.LIKING, f"favourite {found['favourite'].casefold()}"
        else:
            what = found["what"] or found["fond"] or ""
            yield FactPart.LIKING, key_of(object_of(what) or what, 2)


def _others(sentence: str) -> Iterator[tuple[FactPart, str]]:
    if (thing := _MINE.search(sentence)) is not None:
        yield FactPart.OWN, words_of(thing["thing"])[-1]
    elif (has := _HAS.search(sentence)) is not None:
        yield FactPart.OWN, noun_of(has["what"])
    elif (states := _STATES.search(sentence)) is not None and not _is_of_the_moment(sentence):
        yield FactPart.SELF, key_of(states["what"] or states["name"] or "", 2)


def _is_of_the_moment(sentence: str) -> bool:
    """Tell whether a sentence says only what its speaker wants, or how they are, just now."""
    return any(pattern.search(sentence) for pattern in (_WISH, _PASSING, GOING))
