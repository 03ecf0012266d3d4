"""Reads a line of the game: its visible text, and the words that its speaker says. Pure except for markup.

A wrong cut can never put words into another mouth: the speaker is taken from the game, not from the line.
"""

from __future__ import annotations

import re

from tools.text.clean import clean_heard, one_line

#: The most characters of a line that are read; a longer one is cut before anything else is done with it.
MAX_RAW = 12_000
MAX_TEXT = 4_000
MAX_NAME = 80

# ruff: noqa: RUF001 - quotation marks of many languages are what this table is about
#: The marks that close a quotation, by the mark that opens it.
_QUOTES = {
    '"': '"', "“": "”“", "”": "”", "„": "“”", "«": "»", "»": "«»", "‹": "›", "›": "‹›", "「": "」", "『": "』",
    "《": "》", "〈": "〉", "〝": "〞〟", "＂": "＂", "❝": "❞",
}  # fmt: skip
_OPENING = re.compile(f"[{''.join(_QUOTES)}]")
#: The number that a builder sees after a name.
_DBREF = re.compile(r"\s*\(#\d+\)\Z")


def visible(text: str, max_chars: int = MAX_TEXT) -> str:
    """Return `text` on one line, without the game's markup; at most `max_chars`."""
    return clean_heard(without_markup(text), max_chars)


def visible_lines(text: str, max_chars: int = MAX_TEXT) -> str:
    """Return `text` without the game's markup, with its lines kept; at most `max_chars`."""
    return clean_heard(without_markup(text), max_chars, keep_newlines=True)


def visible_name(name: str) -> str:
    """Return a display name on one line, without markup and without the number that builders see."""
    return one_line(_DBREF.sub("", without_markup(name).strip()), max_chars=MAX_NAME)


def without_markup(text: str) -> str:
    """Return `text` without Evennia's colours, links and raw escape sequences; a long text is cut first."""
    from evennia.utils.ansi import strip_ansi, strip_mxp  # noqa: PLC0415  (only where Django is set up)

    return str(strip_ansi(strip_mxp(text[:MAX_RAW])))


def bare_speech(text: str, name: str) -> str:
    """Return the words spoken in a visible line: between its outermost quotation marks, else all but the name."""
    rest = after_name(text, name)
    told = text if rest is None else rest
    opening = _OPENING.search(told)
    if opening is not None:
        closing = max(told.rfind(mark) for mark in _QUOTES[opening.group()])
        if closing > opening.start():
            return told[opening.end() : closing].strip()
    return told.strip()


def after_name(text: str, name: str) -> str | None:
    """Return the text after `name` if the visible line begins with it as whole words, else None."""
    if not name or text[: len(name)].casefold() != name.casefold():
        return None
    rest = text[len(name) :]
    if rest[:1].isalnum():
        return None
    return re.sub(r"\A\s*\(#\d+\)", "", rest).strip()
