"""Turns a speaker's first person into the second: a small model repeats "my feet" when the feet are the speaker's.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.language.words import content_words, sentences_of

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


def to_second(text: str) -> str:
    """Return `text` with its first person made the second, and each sentence beginning with a capital."""
    for pattern, other in _PAIRS:
        text = re.sub(pattern, other, text, flags=re.IGNORECASE if pattern[2] in "mwo" else 0)
    return re.sub(r"(^|[.!?]\s+)([a-z])", lambda match: match[1] + match[2].upper(), text)


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
