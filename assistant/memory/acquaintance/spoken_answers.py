"""Says without a model what a line asks of a person: what they told, word for word, or that it is theirs to tell. Pure.

A small model that is shown what somebody said invents the rest of their life. It knows English only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from mud_assistant.assistant.journal.tables.acquaintances import KnownFact
from mud_assistant.assistant.language.persons import to_second
from mud_assistant.assistant.memory.acquaintance.asked_parts import asks_all, asks_whether_known, parts_asked
from mud_assistant.assistant.memory.acquaintance.known_people import Acquaintance
from mud_assistant.assistant.memory.recall.words import collect_stems
from mud_assistant.tools.memories import FactPart, describe_age
from mud_assistant.tools.text.clean import clean_heard

#: The most characters of what is repeated, and the most of one sentence.
MOST_CHARS, MOST_QUOTED = 220, 160
_PART = r"(?:what|who|whom|where|when|which \w+|how many \w+|how old|why)"
#: A question for something that the speaker told of themselves: "what did I lose?", "do you know where I live?".
_MINE = re.compile(
    rf"(?i)\b{_PART} (?:do|did|am|was|have|had) I\b"
    r"(?! (?:find|get|go|need|put|pay|sit|sleep|buy|begin|start|look|owe|have to|do (?:now|next|with|about))\b)"
    r"|\b(?:what|who|how old)(?: is|'s| are| was| were) my\b|\bwhat (?:am I called|trade am I)\b"
    rf"|\b(?:know|remember|recall|forgotten|forgot|tell me) (?:{_PART}|how|that|my|the name of my)\b"
    r"(?=.*\b(?:my|I (?!can|could|may|might|must|should|shall|will|would|need|have to|ought))\b)"
)
#: A question for all that is known of the speaker.
_ALL_OF_ME = re.compile(
    r"(?i)\b(?:know|remember|recall|recogni[sz]e|forgot|forgotten|forget|met) (?:\w+ )?me\b"
    r"(?! (?:to|that|how|what|where)\b)"
    r"|\b(?:know|remember|recall|heard|learnt|learned|tell me|everything|anything) (?:\w+ )?"
    r"(?:about|of) (?:me|myself)\b"
    r"|\bwho (?:am I|I am)\b"
)
#: A question for something of the person called {name}.
_THEIRS = (
    rf"(?i)\b{_PART} (?:do|does|did|is|was|has|had|are) {{name}}\b"
    r"|\b(?:what|who|how old)(?: is|'s| are| was| were) {name}['\u2019]s?\b"
    r"|\b(?:is|was|does|did|has|had) {name}\b"
    r"(?! (?:here|there|around|in|at|on|gone|back|out|away|come|came|go|went|pass|leave|left|arrive)\b)"
)
#: A question for what the person called {name} told the character.
_TELL = r"(?:\w+ )?(?:tell|told|say|said|mention|mentioned|whisper|whispered|talk|talked|speak|spoken)"
_TOLD_BY = rf"(?i)\b(?:what )?(?:did|has|does) {{name}} {_TELL}\b"
_OPINION = (
    r"(?i)\bwhat do you (?:think|make) of {name}\b|\bdo you (?:like|trust) {name}\b|\bhow do you (?:like|find) {name}\b"
)
_TELLING_ME = ("{words} You told me so yourself.", "{words} I have not forgotten.", "{words} I remember it well.")
_FOUND_AGAIN = "{words} Has it turned up?"
_KNOWING_ME = (
    "Of course I know you, {name}. {words}",
    "I do not forget a face, {name}, nor what comes with it. {words}",
)
_QUOTING = ("{name} told me so: {words}", "I have it from {name}: {words}")
_KNOWING = ("{name}? We met {when}. {words}", "{name}, yes. We met {when}. {words}")
_JUDGING = (
    "{name}? It is early to judge. {words}",
    "We met {when}, {name} and I. I do not judge so fast. {words}",
)
_SILENT = ("That is for {name} to tell, not for me.", "You must ask {name} that.", "{name} will tell you, or will not.")
_NOBODY = ("{name}? I have met nobody of that name.", "Nobody called {name} has come by me.")
_DISCREET = (
    "What {name} says to me stays with me, as what you say to me does.",
    "I carry no words from one to the other. Ask {name}.",
)


class KnownAnswer(Struct, frozen=True):
    """What can be said to a line as it is. `quoted` is what it repeats of somebody's words.

    `may_be_reworded` says that a model may say it in words of its own; where there is nothing to tell, it would invent.
    """

    text: str
    quoted: str = ""
    may_be_reworded: bool = True


def answer_about_asker(line: str, asker: Acquaintance, wanted: Sequence[KnownFact], now: float) -> KnownAnswer | None:
    """Return what is said to a question of somebody about themselves; None where the line asks for something else.

    `wanted` is what they told and the line asks for, the best first. At another time the words are others.
    """
    name = asker.shown_name
    if _ALL_OF_ME.search(line):
        if wanted:
            text = _one_of(_KNOWING_ME, now).format(name=name, words=_told_back(wanted))
            return KnownAnswer(text, _quoted(wanted))
        if (left := asker.left_before(now)) > 0:
            seen = f"You were here {describe_age(now - left)}, and kept your story to yourself."
            return KnownAnswer(_one_of(_KNOWING_ME, now).format(name=name, words=seen))
        return None
    if not _MINE.search(line):
        return None
    fitting = _answering(line, wanted, name)[:1]
    if not fitting:
        return None
    frame = _FOUND_AGAIN if fitting[0].part is FactPart.LOST else _one_of(_TELLING_ME, now)
    return KnownAnswer(frame.format(words=_told_back(fitting)), _quoted(fitting))


def answer_about_other(line: str, other: Acquaintance, wanted: Sequence[KnownFact], now: float) -> KnownAnswer | None:
    """Return what is said to a question about another person; None where the line asks for something else.

    `wanted` is what the other told, those who hear may know, and the line asks for.
    """
    name = other.shown_name
    if _asks(_TOLD_BY, line, name):
        return KnownAnswer(_one_of(_DISCREET, now).format(name=name), may_be_reworded=False)
    if asks_all(line) or asks_whether_known(line) or _asks(_OPINION, line, name):
        words = _quoted(wanted)
        told = f"They told me: {words}" if words else "They have told me little of themselves."
        frame = _one_of(_JUDGING if _asks(_OPINION, line, name) else _KNOWING, now)
        return KnownAnswer(frame.format(name=name, when=describe_age(now - other.first_at), words=told), words)
    if not _asks(_THEIRS, line, name):
        return None
    if fitting := _answering(line, wanted, name):
        words = _quoted(fitting[:1])
        return KnownAnswer(_one_of(_QUOTING, now).format(name=name, words=words), words)
    return KnownAnswer(_one_of(_SILENT, now).format(name=name), may_be_reworded=False)


def answer_about_stranger(name: str, now: float) -> KnownAnswer:
    """Return what is said to somebody who asks if the character knows a person whom it never met."""
    return KnownAnswer(_one_of(_NOBODY, now).format(name=name))


def _answering(line: str, wanted: Sequence[KnownFact], name: str) -> list[KnownFact]:
    """Return the facts that answer the line: of the kind that it asks for, or with a word of it beside their name."""
    parts, asked = parts_asked(line), collect_stems(line) - collect_stems(name)
    return [fact for fact in wanted if fact.part in parts or asked & collect_stems(fact.memory.text)]


def _asks(pattern: str, line: str, name: str) -> bool:
    return re.search(pattern.replace("{name}", re.escape(name)), line) is not None


def _told_back(facts: Sequence[KnownFact]) -> str:
    """Return what somebody told, as one tells it to them; word for word where it cannot be turned."""
    turned = [to_second(clean_heard(fact.memory.text, MOST_QUOTED)) for fact in facts]
    if all(turned) and sum(map(len, turned)) <= MOST_CHARS:
        return " ".join(dict.fromkeys(turned))
    return f"You told me: {_quoted(facts)}"


def _quoted(facts: Sequence[KnownFact]) -> str:
    """Return what was told, word for word, as much as fits."""
    texts, room = list[str](), MOST_CHARS
    for text in dict.fromkeys(clean_heard(fact.memory.text, MOST_QUOTED) for fact in facts):
        if len(text) <= room:
            texts.append(f'"{text}"')
            room -= len(text)
    return " ".join(texts)


def _one_of(choices: Sequence[str], now: float) -> str:
    return choices[int(now) % len(choices)]
