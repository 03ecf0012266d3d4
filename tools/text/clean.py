"""The one place text is made safe to show: a model's words before a player sees them, a player's before a model does.

Pure functions over Unicode. Escaping game markup (`|`, `$`, `{`) is not done here: each world's adapter knows its
own markup and escapes it. A cleaned text never holds control characters (newline apart), terminal escape sequences,
bidirectional marks, embeddings and overrides, lone surrogates or noncharacters. Joiners, variation selectors, tag
characters and isolates are kept only where they have an effect (`invisible.py`); everywhere else they can only hide
things and are dropped. The number of marks on a letter is limited. Cleaning is idempotent.
"""

from __future__ import annotations

import re
import unicodedata

from tools.text.invisible import keep_in_place, keep_paired_isolates, limit_marks

MAX_SPEECH_CHARS = 1200
MAX_SPEECH_LINES = 12
MAX_LINE_CHARS = 400
MAX_HEARD_CHARS = 4000

ELLIPSIS = "…"
#: A cut falls on a sentence's end when that keeps at least this share of the room, else on a word's end.
_KEEP_SHARE = 0.6

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor, erase
    r"|\x1b[\]P^_X][^\x07\x1b\n]*+(?:\x07|\x1b\\)"  # OSC, DCS, APC, PM, SOS: window titles, links
)
_DROPPED = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 (newline and tab apart), DEL, C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"  # soft hyphen, invisible marks and fillers
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u2065\u206a-\u206f"  # zero-width space, bidi controls, operators
    "\u3164\ufeff\uffa0\ufff0-\ufffb"  # fillers, byte-order mark, specials
    "\ud800-\udfff\ufdd0-\ufdef"  # lone surrogates, noncharacters
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # format controls
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
    + "]"
)
_BLANK_RUNS = re.compile(r"\n{3,}")
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’»)]*(?=\s)")  # noqa: RUF001 - full-width marks end sentences too
_WORD_END = re.compile(r"\S(?=\s)")
#: Passes over characters whose place depends on others that a pass may drop. More than any sensible text needs.
_MAX_PASSES = 8
#: All invisible characters that such passes may keep.
_UNSEEN = re.compile("[\u180b-\u180f\u200c\u200d\u2066-\u2069\ufe00-\ufe0f\U000e0000-\U000e0fff]")
_FRAYED_END = re.compile("[\\s\u200c\u200d]+\\Z")


def clean_speech(text: str, *, max_chars: int = MAX_SPEECH_CHARS, max_lines: int = MAX_SPEECH_LINES) -> str:
    """Return what a player may see of a model's text: cleaned, trimmed and cut to the caps with an ellipsis.

    Outer blank lines are dropped, runs of blank lines become one. A cut falls on the end of a sentence or of a word.
    """
    tidy = _tidy(_visible(text))
    lines = tidy.split("\n")
    shown = _head("\n".join(lines[:max_lines])) + ELLIPSIS if len(lines) > max_lines else tidy
    shown = _shorten(shown, max_chars)
    return tidy if shown == tidy else _tidy(_visible(shown))  # the cut may have split what belongs together


def one_line(text: str, *, max_chars: int = MAX_LINE_CHARS) -> str:
    """Return `text` cleaned as speech on one line: every run of white space is one space."""
    line = " ".join(_visible(text).split())
    shown = _shorten(line, max_chars)
    return line if shown == line else " ".join(_visible(shown).split())


def clean_heard(text: str, max_chars: int = MAX_HEARD_CHARS, *, keep_newlines: bool = False) -> str:
    """Return what a model may see of a stranger's text: cleaned, at most `max_chars`.

    A cut is marked with the full length. The text is one line unless `keep_newlines`, so that it cannot add a second
    line to a transcript.
    """
    # Cleaning needs only a little more than the part that can be shown, so a megabyte costs no more than that part.
    visible = _visible(text[: 4 * max_chars])
    tidy = _tidy(visible) if keep_newlines else " ".join(visible.split())
    if len(tidy) <= max_chars and len(text) <= 4 * max_chars:
        return tidy
    mark = f" [cut, {len(text)} characters in all]"
    shown = _visible((_head(tidy, max_chars - len(mark)) + mark).strip()[:max_chars])
    return _tidy(shown) if keep_newlines else " ".join(shown.split())


def _visible(text: str) -> str:
    """Return `text` in NFC without anything that is not seen or steers a terminal; line ends are newlines."""
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPES.sub("", _LINE_ENDS.sub("\n", text).replace("\t", " "))
    text = unicodedata.normalize("NFC", _DROPPED.sub("", text))
    for _ in range(_MAX_PASSES):
        # Dropping one character may join a letter and its accent, or leave another character without effect.
        kept = unicodedata.normalize("NFC", keep_paired_isolates(keep_in_place(limit_marks(text))))
        if kept == text:
            return text
        text = kept
    return unicodedata.normalize("NFC", limit_marks(_UNSEEN.sub("", text)))


def _tidy(text: str) -> str:
    """Return `text` without outer white space, white space at ends of lines and runs of blank lines."""
    if "\n" not in text:
        return text.strip()
    return _BLANK_RUNS.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()


def _shorten(text: str, max_chars: int) -> str:
    """Return `text`, or its beginning with an ellipsis, at most `max_chars` long."""
    if len(text) <= max_chars:
        return text
    room = max_chars - 2 * len(ELLIPSIS)
    kept, ending = text[: max(0, room + 1)], ELLIPSIS
    if sentence := _last(_SENTENCE_END, kept, room):
        kept, ending = kept[:sentence], " " + ELLIPSIS
    elif word := _last(_WORD_END, kept, room):
        kept = kept[:word]
    return (_head(kept) + ending)[:max_chars]


def _head(text: str, chars: int | None = None) -> str:
    """Return the first `chars` of `text` without white space or a joiner left hanging at the end."""
    return _FRAYED_END.sub("", text if chars is None else text[: max(0, chars)])


def _last(border: re.Pattern[str], text: str, room: int) -> int:
    """Return where the last `border` ends in `text`, 0 when that would throw too much away."""
    end = 0
    for match in border.finditer(text):
        end = match.end()
    return end if end >= room * _KEEP_SHARE else 0
