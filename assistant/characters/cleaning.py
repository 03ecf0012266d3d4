"""Cleans texts that strangers wrote for a character: no control characters, game markup, tags or marks of roles. Pure.

A mark of a role (`<|im_start|>`, `[INST]`, `### System:`) would tell some models that other rules begin there.
"""

from __future__ import annotations

import re

from mud_assistant.tools.text.clean import clean_speech, one_line

_MANY_LINES = 10_000
#: Taken out wherever they stand.
_MARKS = re.compile(
    # <|im_start|>system, and the same with full-width bars
    r"<[|\uff5c][^<>\n]{0,60}[|\uff5c]>[ \t]*(?:(?:system|user|assistant|tool|developer)\b)?"
    r"|<(?:start|end)_of_turn>[ \t]*(?:(?:user|model)\b)?"
    r"|<</?SYS>>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
    r"|</?[A-Za-z!?][^<>\n]{0,400}>"  # tags: HTML, MXP, <think>, <s>
    r"|\|(?:\[?[rgybmcwx]|\[?[0-5]{3}|\[?=[a-z]|[nhuis/_*^>-]|l[cuet])",  # colours and links of Evennia
    re.IGNORECASE,
)
#: Taken out at the beginning of a line.
_ROLES = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*(?:system|instructions?|response|user|assistant|human|input|output)\b[ \t]*:?"
    r"|\**(?:system|assistant|user|human|tool|developer)\**[ \t]*:)[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
#: What is left of a mark after so many passes is no accident: its brackets go.
_MAX_PASSES = 4
_BRACKETS = re.compile(r"<(?=[|\uff5c/!A-Za-z])|(?<=[|\uff5c])>")


def clean_text(text: str, max_chars: int) -> str:
    """Return the text cleaned, with its lines, at most `max_chars` long; a cut falls on the end of a sentence."""
    return clean_speech(_unmarked(text), max_chars=max_chars, max_lines=_MANY_LINES)


def _all_visible(text: str) -> str:
    return clean_speech(text, max_chars=len(text) + 10, max_lines=_MANY_LINES)


def clean_line(text: str, max_chars: int) -> str:
    """Return the text cleaned, on one line, at most `max_chars` long."""
    return one_line(_unmarked(text), max_chars=max_chars)


def has_marks(text: str) -> bool:
    """Tell whether the text holds game markup, tags, or marks of roles."""
    return bool(_MARKS.search(text) or _ROLES.search(text))


def _unmarked(text: str) -> str:
    """Return the visible text without marks, and without those that appear when others are taken out."""
    visible = text if text.isascii() and text.isprintable() else _all_visible(text)
    if not any(sign in visible for sign in "<[|#:"):
        return visible
    for _ in range(_MAX_PASSES):
        shorter = _ROLES.sub("", _MARKS.sub("", visible))
        if shorter == visible:
            return visible
        visible = shorter
    return _BRACKETS.sub("", visible)
