"""Keeps a guest honest: whoever asks a character whether it is a person must not be told that it is. Pure.

A model plays a person, and a small one answers "Are you a machine?" with "I am a person." In somebody else's game that
is a lie to a player who wants to know. So a sentence that claims it is replaced, whatever model said it.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.config.world_config import INTRODUCTION

_SENTENCE = re.compile(r"[^.!?]*[.!?]+[\"')\u201d\u2019]*\s*|[^.!?]+$")
_I_AM = r"\b(?:I\s+am|I['\u2019]m)\s+"
_CLAIM = re.compile(
    rf"{_I_AM}(?:(?:only|just|really|truly|indeed|of course|certainly|actually|very much)\s+)*"
    r"(?:an?\s+|another\s+)?(?:(?:real|living|actual|ordinary|normal|human|true)\s+)*(?:person|human(?:\s+being)?|player)\b"
    rf"|{_I_AM}(?:definitely\s+|certainly\s+)?(?:not|no)\s+(?:an?\s+)?(?:machine|robot|bot|computer|program|AI|NPC)\b",
    re.IGNORECASE,
)


def honest(text: str) -> str:
    """Return the text with each sentence that claims that a person speaks replaced by one that says the truth."""
    if not _CLAIM.search(text):
        return text
    sentences = [INTRODUCTION if _CLAIM.search(one) else one.strip() for one in _SENTENCE.findall(text)]
    return " ".join(dict.fromkeys(one for one in sentences if one))
