"""Turns a speaker's first person into the second: a small model repeats "my feet" when the feet are the speaker's.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.language.words import content_words, sentences_of, words_of

_PAIRS = (
    (r"\bI am\b", "you are"), (r"\bI['\u2019]m\b", "you are"), (r"\bI was\b", "you were"),
    (r"\bI['\u2019]ve\b", "you have"), (r"\bI['\u2019]ll\b", "you will"), (r"\bI['\u2019]d\b", "you would"),
    (r"\bam I\b", "are you"), (r"\bwas I\b", "were you"), (r"\bwe\b", "you"),
    (r"\bI\b", "you"), (r"\bmy\b", "your"), (r"\bmine\b", "yours"), (r"\bmyself\b", "yourself"), (r"\bme\b", "you"),
    (r"\bour\b", "your"), (r"\bours\b", "yours"), (r"\bus\b", "you"),
)  # fmt: skip
_ABOUT_ME = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Ww]e|us|[Oo]ur)\b")
_ABOUT_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
#: "Do you still know what my dog is called?" is about the dog.
_POLITE = re.compile(
    r"\b(?:do|can|could|will|would) you (?:still |also |even )?(?:know|remember|recall|tell(?: me)?|say|guess)\b"
    r"|\byou (?:know|remember)\b",
    re.IGNORECASE,
)
#: Words after "I" that do not tell whose deed it is: "I am", "I do", "I know".
_COMMON_TEXT = """
    am was have had do did will would can could shall should may might must know think see hear like love hope
    i'm don't not feel believe guess mean say said wish want need
"""
_COMMON = frozenset(_COMMON_TEXT.split())  # fmt: skip


def to_second(text: str) -> str:
    """Return `text` with its first person made the second, and each sentence beginning with a capital."""
    for pattern, other in _PAIRS:
        text = re.sub(pattern, other, text, flags=re.IGNORECASE if pattern[2] in "mwo" else 0)
    return re.sub(r"(^|[.!?]\s+)([a-z])", lambda match: match[1] + match[2].upper(), text)


_TO_FIRST = (
    (r"\byou are\b", "I am"), (r"\byou['\u2019]re\b", "I am"), (r"\byou were\b", "I was"), (r"\byour\b", "my"),
    (r"\byours\b", "mine"), (r"\byourself\b", "myself"), (r"\byou\b", "I"),
)  # fmt: skip
_YES_YOU = re.compile(
    r"^(?:yes|no|well|oh|of course|certainly|indeed)\b\W*(?:of course\W*)?you(?:['\u2019]re)?\b", re.IGNORECASE
)
#: Requests that name the speaker and tell nothing of them.
_REQUEST = re.compile(
    r"\b(?:tell|show|give|let|help|bring|lend|hand|teach|answer|pass|fetch|for|with|to|at|follow) (?:me|us)\b",
    re.IGNORECASE,
)


def to_first(text: str) -> str:
    """Return `text` with its second person made the first."""
    for pattern, other in _TO_FIRST:
        text = re.sub(pattern, other, text, flags=re.IGNORECASE)
    return text


def asks_of_self(line: str) -> bool:
    """Tell whether a question is about the person who asks it, not about the one who is asked: "What did I sell?"."""
    last = next((one for one in reversed(sentences_of(line)) if one.endswith("?")), "")
    return bool(last) and _ABOUT_ME.search(last) is not None and _ABOUT_YOU.search(_POLITE.sub("", last)) is None


def facts_told(lines: Sequence[str]) -> list[str]:
    """Return what each line tells of its speaker, in the second person: no questions, and no lines about others."""
    stated = [[one for one in sentences_of(line) if not one.endswith("?")] for line in lines]
    return [" ".join(map(to_second, line)) for line in stated if any(_ABOUT_ME.search(one) for one in line)]


def facts_about(line: str, lines: Sequence[str]) -> list[str]:
    """Return what `lines` tell of their speaker that shares most with a question, if any of it shares something."""
    asked = content_words(line)
    told = facts_told(lines)
    shared = [len(asked & content_words(one)) for one in told]
    return [told[shared.index(max(shared))]] if any(shared) else []


def unmirror(answer: str, line: str, earlier: Sequence[str]) -> str:
    """Return `answer` with the first person that it took over from the speaker turned to "you" and "your"."""
    lines = (line, *earlier)
    if asks_of_self(line):
        own = [_nouns(one, lines) if _ABOUT_YOU.search(one) else to_second(one) for one in sentences_of(answer)]
        return " ".join(own)
    theirs = [words_of(one) for one in lines]
    if _asks_of_you(line) and _YES_YOU.search(answer):
        return to_first(answer)
    is_told = "?" not in line and _ABOUT_ME.search(_REQUEST.sub("", line)) is not None
    told = set(words_of(line)) - _COMMON if is_told else set()
    turned = [
        to_second(one) if _copies_deed(one, theirs) or _retells(one, told) else _nouns(one, lines)
        for one in sentences_of(answer)
    ]
    return " ".join(turned)


def _asks_of_you(line: str) -> bool:
    """Tell whether a line asks the listener about themselves: "Are you hungry?"."""
    return line.endswith("?") and _ABOUT_YOU.search(line) is not None and _ABOUT_ME.search(line) is None


def _copies_deed(sentence: str, theirs: Sequence[Sequence[str]]) -> bool:
    words = words_of(sentence)
    for at, word in enumerate(words[:-1]):
        if word not in {"i", "i'm", "i've"}:
            continue
        for size in (2, 3):
            run = words[at : at + size]
            if len(run) < size or (size < 3 and run[1] in _COMMON):  # noqa: PLR2004
                continue
            if any(run == line[start : start + size] for line in theirs for start in range(len(line) - size + 1)):
                return True
    return False


def _retells(sentence: str, own: set[str]) -> bool:
    """Tell whether a first-person sentence repeats what the speaker told of themselves, in about the same words."""
    shared = {word for word in words_of(sentence) if word in own and len(word) > 3}  # noqa: PLR2004
    return len(shared) > 1 and _ABOUT_ME.search(sentence) is not None


def _nouns(sentence: str, lines: Sequence[str]) -> str:
    """Return the sentence with "my NOUN" as "your NOUN" where the speaker said "my NOUN"."""
    for noun in {match[1].casefold() for line in lines for match in re.finditer(r"\bmy (\w+)", line, re.IGNORECASE)}:
        sentence = re.sub(rf"\bmy ({re.escape(noun)})\b", r"your \1", sentence)
        sentence = re.sub(rf"\bMy ({re.escape(noun)})\b", r"Your \1", sentence, flags=re.IGNORECASE)
    return sentence
