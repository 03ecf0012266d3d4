"""Says by rule what of an event is remembered, and how important it is. Pure: no model is asked.

A greeting, a line without content and a plain question are not remembered, nor who comes and goes. A short answer is
remembered with the question that it answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from mud_assistant.assistant.events.classify import OpenQuestion
from mud_assistant.assistant.events.events import (
    ChannelSaid,
    Emoted,
    Event,
    Gave,
    Noticed,
    Paged,
    Said,
    Whispered,
    audience_of,
    quoted_in,
)
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.language.words import content_words, is_open_question, words_of
from mud_assistant.assistant.memory.acquaintance.told_facts import read_facts, read_short_answer
from mud_assistant.assistant.memory.acquaintance.told_matters import read_answer
from mud_assistant.assistant.memory.acquaintance.told_questions import only_asks
from mud_assistant.tools.memories import MAX_NAME, MAX_TEXT, Fact, Memory, MemoryKind, memory_id
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.trust import PEOPLE, Audience, audience_key, clamp_level, label_of

#: How important things are, from 1 to 10: told in private or with the character's name; a gift, a promise, a number or
#: a name; told to it; overheard; seen; noticed. `events/classify.py` gives a line with the name an attention of 10.
PRIVATE, NOTABLE, TOLD, OVERHEARD, SEEN, AMBIENT = 8, 7, 6, 4, 3, 2
_NAMED = 10
#: The fewest words with content of a line that is remembered. One is enough where somebody tells of themselves.
_LEAST_CONTENT = 2
_OF_ONESELF = frozenset({"i", "i'm", "i've", "i'd", "my", "we", "our"})
_GREETINGS_TEXT = """
    hello hi hey greeting morning evening afternoon night day bye goodbye farewell thank thanks please welcome
    hm hmm um uh er mhm huh eh
    sorry ok okay yes no sure indeed well oh ah ha sir madam friend everyone everybody all there again later
"""
_GREETINGS = frozenset(_GREETINGS_TEXT.split())
#: The most words with content of an answer that says too little without its question.
_SHORT_ANSWER = 3
_OF_THEM = frozenset({"you", "your", "you're", "you've"})
_YES_OR_NO = frozenset({"yes", "no", "yeah", "yep", "nope", "aye", "nay", "never", "always", "sometimes"})
#: An answer that tells nothing, and a question that asks for nothing to be remembered.
_NO_ANSWER = re.compile(
    r"\b(?:(?:do not|don't) (?:know|remember|recall|care)|dunno|no idea|not sure|can't (?:say|remember|tell)|"
    r"rather not|none of your|not telling|forgot)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:(?:can|could|may|might|shall|should) (?:i|we)\b|would you like|do you want|help you|do for you|brings you|"
    r"anything else)",
    re.IGNORECASE,
)
#: A question without a word of content whose answer is remembered with it.
_HOW_IT_WENT = re.compile(r"\bhow did (?:it|that) go\b", re.IGNORECASE)
#: Stands between a short answer and its question.
ASKED = ' (asked: "'
_PROMISE = re.compile(r"\b(?:promise|swear|vow|owe|secret|remember|don't tell|do not tell|never tell)\b", re.IGNORECASE)
#: A number, or a word with a capital that does not begin a sentence and is no "I".
_PROPER = re.compile(r"\d|(?<![.!?:\"'\u201c] )(?<!^)\b(?!I\b)[A-Z][\w'-]+")

#: What a game tells of people who come and go.
_COMING = re.compile(r"\b(?:has|have) (?:entered|left|joined|connected|disconnected)\b", re.IGNORECASE)

Remember = Callable[[Accepted], Memory | None]


def remembering(names: Collection[str], world_text: int = 1, utc_offset: float = 0.0) -> Remember:
    """Return the rule of a character with these names; `world_text` is the level of the game's own texts.

    `utc_offset` is the owner's time minus UTC, in seconds: "tomorrow" is a day of theirs.
    """
    own = frozenset(word for name in names for word in words_of(name))
    called = re.compile(rf"^\W*(?:{'|'.join(map(re.escape, names)) or '(?!)'})\s*[,:!.-]+\s*", re.IGNORECASE)

    def remember(accepted: Accepted) -> Memory | None:
        event, attention = accepted.event, accepted.attention
        told = _what(event)
        if told is None or event.by_rule is not None:
            return None
        kind, text, how = told
        words = clean_heard(text, MAX_TEXT)
        asked = attention.asked
        if kind is not MemoryKind.HEARD or asked is None or not _needs_question(words, asked.text, own):
            asked = None
        if asked is None and not _is_worth_it(words, own, is_gift=isinstance(event, Gave)):
            return None
        who, audience = event.who, audience_of(event)
        facts = _facts(event, called.sub("", words), attention.asked, utc_offset) if kind is MemoryKind.HEARD else ()
        authority = label_of(who, world_text).authority
        if isinstance(event, Gave) and event.authority is not None:
            authority = min(authority, clamp_level(event.authority))
        sources = frozenset({who.id})
        if asked is not None:
            words, sources = f'{words}{ASKED}{asked.text}")', sources | asked.sources
            facts += read_short_answer(words, asked.text) if facts else ()
            authority = min(authority, asked.authority)
        return Memory(
            memory_id(kind, who.id, words, audience),
            words,
            kind,
            event.at,
            who.id,
            one_line(who.name, max_chars=MAX_NAME),
            how,
            importance=_importance(event, words, is_named=attention.importance >= _NAMED, told=attention.addressed),
            authority=authority,
            sources=sources,
            audience=audience,
            event=event.id,
            facts=facts,
        )

    return remember


def _facts(event: Event, words: str, asked: OpenQuestion | None, utc_offset: float) -> tuple[Fact, ...]:
    """Return what the words tell of the person who spoke them, and whether they answer how something went."""
    if event.who.kind not in PEOPLE:
        return ()
    facts = read_facts(words, event.at, utc_offset, one_line(event.who.name, max_chars=MAX_NAME))
    return facts if asked is None else (read_answer(words, event.at, utc_offset), *facts)


def _what(event: Event) -> tuple[MemoryKind, str, str] | None:
    """Return the kind of memory that an event makes, its words and how they were heard; None for no memory."""
    name = one_line(event.who.name, max_chars=MAX_NAME)
    match event:
        case Said():
            return MemoryKind.HEARD, event.text, "told you" if event.to_me or event.alone else "said"
        case Whispered():
            return MemoryKind.HEARD, event.text, "whispered to you"
        case Paged():
            return MemoryKind.HEARD, event.text, "paged you"
        case ChannelSaid():
            return MemoryKind.HEARD, event.text, f"said on {one_line(event.channel, max_chars=MAX_NAME)}"
        case Emoted():
            said = quoted_in(event.text)
            return (MemoryKind.HEARD, said, "said") if said else (MemoryKind.SEEN, f"{name} {event.text}", "")
        case Gave():
            return MemoryKind.SEEN, f"{name} gave you the {one_line(event.thing, max_chars=MAX_NAME)}.", ""
        case Noticed() if event.granted is None and not _COMING.search(event.text):
            return MemoryKind.SEEN, event.text, ""
        case _:
            return None


def _is_worth_it(text: str, own: frozenset[str], *, is_gift: bool) -> bool:
    """Tell whether a line says something. A question alone does so only with a number or a name in it."""
    if is_gift:
        return True
    content = content_words(text) - _GREETINGS - own
    if len(content) < (1 if _OF_ONESELF.intersection(words_of(text)) else _LEAST_CONTENT):
        return False
    return not only_asks(text, own) or _has_proper(text, own)


def _needs_question(text: str, asked: str, own: frozenset[str]) -> bool:
    """Tell whether a line answers a question, and says too little without it."""
    if only_asks(text, own) or _NO_ANSWER.search(text) or _OFFER.search(asked):
        return False
    if not content_words(asked) - _GREETINGS - own and not _HOW_IT_WENT.search(asked):
        return False
    answer = content_words(text) - _GREETINGS - own
    if not answer:  # yes or no, to what was asked of them
        if is_open_question(asked):
            return False
        return not _YES_OR_NO.isdisjoint(words_of(text)) and not _OF_THEM.isdisjoint(words_of(asked))
    return len(answer) <= _SHORT_ANSWER


def spoken_part(text: str) -> str:
    """Return the words that were spoken, of the text of a memory: without the question that they answered."""
    return text.partition(ASKED)[0]


def _importance(event: Event, text: str, *, is_named: bool, told: bool) -> int:
    if isinstance(event, Whispered | Paged) or is_named:
        return PRIVATE
    if isinstance(event, Noticed):
        return AMBIENT
    if isinstance(event, Gave) or _PROMISE.search(text) or _has_proper(text, frozenset()):
        return NOTABLE
    if told:
        return TOLD
    return SEEN if isinstance(event, Emoted) else OVERHEARD


def _has_proper(text: str, own: frozenset[str]) -> bool:
    return any(found.group().casefold().strip("'-") not in own for found in _PROPER.finditer(text))


def profile_id(principal_id: str, audience: Audience) -> str:
    """Return the id of the profile of a person, as far as this audience may know it."""
    return f"profile:{principal_id}:{audience_key(audience)}"
