"""What stands in a line of the game: its visible text, and the words of the one who speaks in it. Pure but for markup.

A wrong cut can never make somebody else speak: whose words they are comes from the game, not from the line.
"""

from __future__ import annotations

import re

from tools.clean import clean_heard, one_line

#: Characters of a line that are looked at; whoever sends a megabyte is cut before anything is done with it.
MAX_RAW = 12_000
MAX_TEXT = 4_000
MAX_NAME = 80

# ruff: noqa: RUF001 - quotation marks of many languages are what this table is about
#: What closes a quotation, by what opens it.
_QUOTES = {
    '"': '"', "“": "”“", "”": "”", "„": "“”", "«": "»", "»": "«»", "‹": "›", "›": "‹›", "「": "」", "『": "』",
    "《": "》", "〈": "〉", "〝": "〞〟", "＂": "＂", "❝": "❞",
}  # fmt: skip
_OPENING = re.compile(f"[{''.join(_QUOTES)}]")
#: What a builder is shown after a name.
_DBREF = re.compile(r"\s*\(#\d+\)\Z")


def visible(text: str, max_chars: int = MAX_TEXT) -> str:
    """`text` on one line, without the game's markup; at most `max_chars`."""
    return clean_heard(without_markup(text), max_chars)


def visible_lines(text: str, max_chars: int = MAX_TEXT) -> str:
    """`text` without the game's markup, its lines kept; at most `max_chars`."""
    return clean_heard(without_markup(text), max_chars, keep_newlines=True)


def visible_name(name: str) -> str:
    """A display name on one line, without markup and without the number that builders see."""
    return one_line(_DBREF.sub("", without_markup(name).strip()), max_chars=MAX_NAME)


def without_markup(text: str) -> str:
    """`text` without colours, links and raw escape sequences of Evennia; what is too long is cut first."""
    from evennia.utils.ansi import strip_ansi, strip_mxp  # noqa: PLC0415  (only where Django is set up)

    return str(strip_ansi(strip_mxp(text[:MAX_RAW])))


def bare_speech(text: str, name: str) -> str:
    """The words spoken in a visible line: what stands between its outermost quotation marks, else without the name."""
    rest = after_name(text, name)
    told = text if rest is None else rest
    opening = _OPENING.search(told)
    if opening is not None:
        closing = max(told.rfind(mark) for mark in _QUOTES[opening.group()])
        if closing > opening.start():
            return told[opening.end() : closing].strip()
    return told.strip()


def after_name(text: str, name: str) -> str | None:
    """What follows `name` where the visible line begins with it as whole words, else None."""
    if not name or text[: len(name)].casefold() != name.casefold():
        return None
    rest = text[len(name) :]
    if rest[:1].isalnum():
        return None
    return re.sub(r"\A\s*\(#\d+\)", "", rest).strip()
