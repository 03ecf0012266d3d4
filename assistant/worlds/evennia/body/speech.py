"""Prepares an assistant's text for Evennia: in pieces a client shows well, without markup that has any effect."""

from __future__ import annotations

import re

from tools.text.clean import keep_paired_isolates

MAX_PIECE = 400

#: Separates a bar from its next letter. Doubling the bar alone is not enough: Evennia resolves `||lc` and then looks
#: for links, and parses a line twice for clients in screen reader mode.
_APART = "\u200b"
_BAR = re.compile(r"\|(?!\s)")
#: Evennia's colour parser reads two braces as one; a single brace stays as it is.
_BRACES = re.compile(r"\{{2,}")
#: What Evennia's function parser reads: it removes one backslash from each run, and a function starts with `$`.
_EVALUATED = re.compile(r"\\*\$|\\+")
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’»」』)\]]*(?:\s+|(?<=[。！？]))")  # noqa: RUF001 - full-width marks
_SPACES = re.compile(r"\s+")


def split_speech(text: str, max_chars: int = MAX_PIECE) -> list[str]:
    """Split `text` into lines of at most `max_chars`, after a sentence where possible, else after a word.

    An empty text gives no lines. Newlines become spaces, so that no piece can look like a line from another source.
    """
    rest = _SPACES.sub(" ", text).strip()
    pieces = []
    while len(rest) > max_chars:
        cut = _cut(rest, max_chars)
        pieces.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    # Each piece is a line of its own: an isolate closed only in a later piece would turn all the text after it.
    return [whole for piece in (*pieces, rest) if (whole := keep_paired_isolates(piece).strip())]


def escape(text: str, *, inline_functions: bool = False) -> str:
    """Escape `text` so that Evennia shows exactly it, with no colour, link, line break or indent from its markup.

    An invisible character (U+200B) is put after each bar. `inline_functions` says whether the game evaluates `$name()`
    in everything it sends (FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED).
    """
    safe = _BRACES.sub(lambda braces: braces.group() * 2, text)
    safe = _BAR.sub(f"|{_APART}", safe).replace("|", "||")
    return _EVALUATED.sub(lambda run: "\\" + run.group(), safe) if inline_functions else safe


def escape_for_game(text: str) -> str:
    """Escape `text` as this game's settings require."""
    from django.conf import settings  # noqa: PLC0415  (only where Django is set up)

    return escape(text, inline_functions=settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED)


def _cut(text: str, room: int) -> int:
    """Return where to cut a text that is longer than `room`."""
    ends = [match.end() for match in _SENTENCE.finditer(text, 0, room + 1) if match.end() <= room + 1]
    if ends and text[: ends[-1]].rstrip():
        return ends[-1]
    word = text.rfind(" ", 1, room + 1)
    return word if word > 0 else room
