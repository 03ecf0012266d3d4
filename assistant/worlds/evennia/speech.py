"""How an assistant's text leaves for Evennia: in pieces a client shows well, and with no markup that means anything."""

from __future__ import annotations

import re

from tools.invisible import paired_isolates

MAX_PIECE = 400

#: Keeps a bar from its next letter. Doubling alone does not do: Evennia resolves `||lc` and then looks for links, and
#: parses a line twice for clients in screen reader mode.
_APART = "\u200b"
_BAR = re.compile(r"\|(?!\s)")
#: Two braces are one brace to Evennia's colour parser; a single one is itself.
_BRACES = re.compile(r"\{{2,}")
#: What Evennia's function parser looks at: it takes one backslash off each run of them, and a function starts with `$`.
_EVALUATED = re.compile(r"\\*\$|\\+")
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’»」』)\]]*(?:\s+|(?<=[。！？]))")  # noqa: RUF001 - full-width marks
_SPACES = re.compile(r"\s+")


def spoken_pieces(text: str, max_chars: int = MAX_PIECE) -> list[str]:
    """`text` as lines of at most `max_chars`, cut after sentences where it can be, else after words; none for nothing.

    Newlines become spaces, so that no piece can look like a line that somebody else caused.
    """
    rest = _SPACES.sub(" ", text).strip()
    pieces = []
    while len(rest) > max_chars:
        cut = _cut(rest, max_chars)
        pieces.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    # Each is a line of its own: an isolate that is closed in another would turn all that follows it.
    return [whole for piece in (*pieces, rest) if (whole := paired_isolates(piece).strip())]


def escaped(text: str, *, inline_functions: bool = False) -> str:
    """`text` so that Evennia shows exactly it: no colour, link, line break or indent of its markup comes out of it.

    An invisible character (U+200B) stands after a bar. `inline_functions` is whether the game evaluates `$name()` in
    everything it sends (FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED).
    """
    safe = _BRACES.sub(lambda braces: braces.group() * 2, text)
    safe = _BAR.sub(f"|{_APART}", safe).replace("|", "||")
    return _EVALUATED.sub(lambda run: "\\" + run.group(), safe) if inline_functions else safe


def _cut(text: str, room: int) -> int:
    """Where to cut a text that is longer than `room`."""
    ends = [match.end() for match in _SENTENCE.finditer(text, 0, room + 1) if match.end() <= room + 1]
    if ends and text[: ends[-1]].rstrip():
        return ends[-1]
    word = text.rfind(" ", 1, room + 1)
    return word if word > 0 else room
