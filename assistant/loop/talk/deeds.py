"""Tells a small model what somebody did without speech, and knows an answer by rule. Pure.

A pose, a gift or an arrival becomes a sentence to the character: "Petra waves at you.", "Petra gives you the map."
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from assistant.events.classify import is_unspoken
from assistant.events.events import Arrived, Emoted, Event, Gave, format_event, quoted_in, spoken_text
from assistant.language.attend import Turn
from assistant.language.things import known_words
from assistant.language.words import content_words, sentences_of, words_of
from tools.text.clean import one_line

#: How many deeds are told at once, the latest.
MAX_TOLD = 3
#: Example answers to deeds: each a deed of {who} and the answer.
_EXAMPLES = (
    ("{who} sneezes.", "Bless you, {who}!"),
    ("{who} claps for you.", "Too kind, {who}, I hardly deserve it."),
    ("{who} gives you a thimble.", "A thimble for me? How thoughtful, {who}."),
    ("{who} yawns at you.", "Am I so dull today, {who}?"),
)
#: What is said by rule when somebody gave something, or came.
_THANKS, _WELCOME, _WELL_MET = "Thank you, {who}.", "Welcome, {who}.", "Well met, {who}."
#: What is done by rule when somebody posed.
_NOD = "nods to {who}."
#: How many words an example needs to be recognised: shorter ones are what everybody says.
_RECOGNISED = 4
#: How a deed is told back; "You are kind" is an answer.
_RETELLS = re.compile(
    r"you (?!(?:are|too|flatter|look|seem|have|must|can|may|might|need|should|could|will|do|were)\b)", re.IGNORECASE
)
_GIFT = re.compile(r" gives you the ")


def words_in(event: Event) -> str:
    """Return what was spoken in the event: of a pose only what it quotes."""
    return quoted_in(event.text) if isinstance(event, Emoted) else spoken_text(event)


def describe_deeds(events: Iterable[Event], names: Sequence[str]) -> str:
    """Return what was done without speech, in sentences to the character with these names; empty for nothing."""
    return " ".join([_to_you(format_event(event), names) for event in events if is_unspoken(event)][-MAX_TOLD:])


def example_deeds(who: str) -> list[Turn]:
    """Return a few deeds with their answers, to be shown before the one that `who` did."""
    return [Turn("", f"({deed.format(who=who)})", answer.format(who=who)) for deed, answer in _EXAMPLES]


def by_rule(event: Event, grant: Collection[str]) -> tuple[str, str]:
    """Return the tool and the words that answer the event when no words of a model may be used."""
    who = one_line(event.who.name, max_chars=60)
    match event:
        case Gave():
            return "say", _THANKS.format(who=who)
        case Arrived():
            return "say", _WELCOME.format(who=who)
        case _ if "emote" in grant:
            return "emote", _NOD.format(who=who)
        case _:
            return "say", _WELL_MET.format(who=who)


def is_deed(line: str, names: Sequence[str]) -> bool:
    """Tell whether a line of the stream without speech was done to the character with these names."""
    return _GIFT.search(line) is not None or _to_you(line, names) != _whole(line)


def as_turn(line: str, names: Sequence[str]) -> str:
    """Return a line of the stream without speech as the model is shown it again."""
    return f"({_to_you(line, names)})"


def fit_to_say(said: str, who: str, deed: str, examples: Iterable[str]) -> str:
    """Return the first sentence of an answer.

    It is empty when the sentence tells the `deed` of `who` back, or is one of `examples`.
    """
    first = next(iter(sentences_of(said)), "")
    if any(len(words_of(line)) >= _RECOGNISED and words_of(line) == words_of(first) for line in examples):
        return ""
    told_again = content_words(first) - known_words(who)
    is_told_again = bool(told_again) and told_again <= known_words(deed)
    return "" if is_told_again or _RETELLS.match(first) else first


def _to_you(line: str, names: Sequence[str]) -> str:
    """Return the sentence with "you" for the character's own name."""
    called = "|".join(re.escape(name) for name in names if name)
    line = re.sub(rf"(?<!\w)@?(?:the )?(?:{called})['\u2019]s(?!\w)", "your", line, flags=re.IGNORECASE)
    return _whole(re.sub(rf"(?<!\w)@?(?:the )?(?:{called})(?!\w)", "you", line, flags=re.IGNORECASE))


def _whole(line: str) -> str:
    """Return the line with a mark that ends a sentence."""
    return line if line.endswith((".", "!", "?", "\u2026")) else f"{line}."
