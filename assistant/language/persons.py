"""Turns who speaks: what is written to the character ("You fear geese.") into its own words ("I fear geese."). Pure."""

from __future__ import annotations

import re

from mud_assistant.assistant.language.words import sentences_of

#: Words before a "you" to whom something is done.
_TO_YOU = "to|of|at|for|with|by|from|on|about|taught|gave|told|made|left|owes|loves|hates|saved|raised|call|calls"
_FIRST = (
    (r"\byou(?: a|['\u2019])re\b", "I am"), (r"\byou were\b", "I was"), (r"\bare you\b", "am I"),
    (r"\byou['\u2019]ve\b", "I have"), (r"\byou['\u2019]d\b", "I would"), (r"\byourself\b", "myself"),
    (r"\byours\b", "mine"), (r"\byour\b", "my"), (rf"\b({_TO_YOU}) you\b", r"\1 me"),
    (r"\byou(?=\s*(?:[.,;!?]|$|and |when |as |with ))", "me"), (r"\byou\b", "I"),
)  # fmt: skip
_SECOND = (
    (r"\b(?:I am|I['\u2019]m|we are|we['\u2019]re)\b", "you are"), (r"\b(?:am I|are we)\b", "are you"),
    (r"\bI was\b", "you were"), (r"\bwas I\b", "were you"), (r"\b(?:I|we)['\u2019]ve\b", "you have"),
    (r"\b(?:I|we)['\u2019]d\b", "you would"), (r"\b(?:I|we)['\u2019]ll\b", "you will"), (r"\bmyself\b", "yourself"),
    (r"\b(?:mine|ours)\b", "yours"), (r"\b(?:my|our)\b", "your"), (r"\b(?:I|me|we|us)\b", "you"),
)  # fmt: skip
#: What stands after the character's name where the name is who does it.
_DOES = {"is": "am", "has": "have", "does": "do", "was": "was", "will": "will", "can": "can", "had": "had"}
_ABOUT_ME = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine)\b")
#: What one asks for oneself and not about oneself: "May I come in?".
_MAY_I = re.compile(r"(?i)\b(?:can|could|may|might|shall|should|must|how (?:do|would)) I\b")
_ABOUT_YOU = re.compile(r"(?i)\b(?:you|your|yours|yourself)\b")
#: "Do you still know what my dog is called?" is about the dog.
_POLITE = re.compile(
    r"(?i)\b(?:do|can|could|will|would) you (?:still |also |even )?(?:know|remember|recall|tell(?: me)?|say|guess)\b"
    r"|\byou (?:know|remember)\b"
)


def to_first(text: str, name: str = "") -> str:
    """Return what the owner wrote of the character, to it or by its `name`, as it says that itself."""
    for pattern, other in _FIRST:
        text = re.sub(pattern, other, text, flags=re.IGNORECASE)
    if name:
        for does, do in _DOES.items():
            text = re.sub(rf"\b{re.escape(name)} {does}\b", f"I {do}", text)
        text = re.sub(rf"\b{re.escape(name)}['\u2019]s\b", "my", text)
    return capital(text)


def to_second(text: str) -> str:
    """Return what somebody said of themselves as it is told to them; empty where it speaks of the listener as well."""
    if _ABOUT_YOU.search(text):
        return ""
    for pattern, other in _SECOND:
        text = re.sub(pattern, other, text, flags=re.IGNORECASE)
    return capital(text)


def capital(text: str) -> str:
    """Return the text with a capital at the beginning of each sentence."""
    return re.sub(r"(^|[.!?]\s+)([a-z])", lambda match: match[1] + match[2].upper(), text)


def asks_of_self(line: str) -> bool:
    """Tell whether a question is about the person who asks it, not about the one who is asked: "What did I sell?"."""
    last = next((one for one in reversed(sentences_of(line)) if one.endswith("?")), "")
    if not last or _MAY_I.search(last):
        return False
    return _ABOUT_ME.search(last) is not None and _ABOUT_YOU.search(_POLITE.sub("", last)) is None


def tells_of_self(line: str) -> bool:
    """Tell whether a line says something of its speaker."""
    return any(_ABOUT_ME.search(one) for one in sentences_of(line) if not one.endswith("?"))


def to_listener(text: str) -> str:
    """Return what somebody asks to be reminded of as it is told to them: "my hens" becomes "your hens"."""
    parts = re.split(r"(?i)\b(you(?:rs?)?)\b", text)
    turned = [
        _TO_CHARACTER.get(part.casefold(), "") or (to_second(part) or part if part.strip() else part) for part in parts
    ]
    whole = "".join(
        each if not at or each in _TO_CHARACTER.values() else _like(each, parts[at]) for at, each in enumerate(turned)
    )
    return _like(whole, text)


_TO_CHARACTER = {"you": "me", "your": "my", "yours": "mine"}


def _like(text: str, other: str) -> str:
    """Return a text with a small first letter where the other has one."""
    small = other[:1].islower() or other.startswith(("I ", "I'"))
    return text[:1].lower() + text[1:] if small and text else text
