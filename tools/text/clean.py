"""The one place text is made safe to show: a model's words before a player sees them, a player's before a model does.

Pure functions over Unicode. Escaping game markup (`|`, `$`, `{`) is not done here: each world's adapter knows its
own markup and escapes it. A cleaned text never holds control characters (newline apart), terminal escape sequences,
bidirectional marks, embeddings and overrides, lone surrogates or noncharacters. The number of marks on a letter is
limited. Cleaning is idempotent.

Joiners, variation selectors, tag characters and isolates are kept only where the text around them is drawn differently
without them, at most one for each visible character, and only where Unicode gives it a meaning; everywhere else they
can only hide a message and are dropped. The emoji are those of emoji-variation-sequences.txt and the symbols beyond
U+1F000; the ideographic variants are the first 32, which is all that are registered for any character.
"""

from __future__ import annotations

import re
import unicodedata

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
    return line if len(line) <= max_chars else " ".join(_visible(_shorten(line, max_chars)).split())


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


#: The most accents (from the blocks that fit any letter) and the most marks of all kinds that a letter keeps.
MAX_ACCENTS, MAX_MARKS = 4, 8
#: The most times that the same mark may stand in a row.
_MAX_SAME = 2
#: The deepest nesting of isolates.
_MAX_DEPTH = 3
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa"
    "\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623"
    "\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e"
    "\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8"
    "\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712"
    "\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797"
    "\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_SKIN = "\U0001f3fb-\U0001f3ff"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_MONGOLIAN = "\u1807\u1820-\u1878\u1880-\u18aa"
#: Letters and marks of scripts whose letters join (Arabic and its kin) or stack (the scripts of India and its east).
_JOINING = (
    "\u0610-\u061a\u0620-\u0669\u066e-\u06d3\u06d5-\u06dc\u06df-\u06ff\u070f-\u07f7\u07fa\u0840-\u085b\u0860-\u0887"
    "\u0889-\u088e\u0897-\u08e1\u08e3-\u0963\u0966-\u096f\u0971-\u0df3\u0f00\u0f18\u0f19\u0f20-\u0f33\u0f35\u0f37"
    "\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u1000-\u1049\u1050-\u109d\u1700-\u1734\u1740-\u1773\u1780-\u17b3\u17b6-\u17d3"
    "\u17dc\u17dd\u17e0-\u17e9\u1807\u180a\u1820-\u1878\u1880-\u18aa\u1900-\u193b\u1a00-\u1a1b\u1a20-\u1a99\u1b00-\u1b59"
    "\u1b80-\u1bf3\u1c00-\u1c37\u1cd0-\u1cfa\ua800-\ua827\ua840-\ua873\ua880-\ua8cd\ua8d0-\ua8d9\ua8e0-\ua8f7"
    "\ua8fb-\ua92d\ua930-\ua953\ua960-\ua9c0\ua9cf-\ua9d9\ua9e0-\uaa59\uaa60-\uaadd\uaae0-\uaaef\uabc0-\uabea"
    "\uabec\uabed\uabf0-\uabf9\U00010ac0-\U00010ae6\U00010b80-\U00010b91\U00010d00-\U00010d39\U00010eb0-\U00010f54"
    "\U00010f70-\U00010f85\U00010fb0-\U00010fcb\U00011000-\U00011fff\U0001e900-\U0001e94b"
)
#: The flags of England, Scotland and Wales: the only ones spelled with tag characters that are drawn anywhere.
_FLAGS = [
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(char)) for char in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
]
#: Sequences that are kept, else (group `out`) an invisible character that is dropped.
_IN_PLACE = re.compile(
    "|".join(
        [
            *_FLAGS,
            "[#*0-9]\ufe0f(?=\u20e3)",  # keycaps
            f"[{_EMOJI}][\ufe0e\ufe0f]",
            f"[{_HAN}][\ufe00-\ufe02\U000e0100-\U000e011f]",
            "[\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f][\ufe00\ufe01]",  # set to the corner or the middle
            f"[{_MONGOLIAN}][\u180b-\u180d\u180f]",
            f"(?<=[{_MONGOLIAN}\u180b-\u180d\u180f])\u180e(?=[{_MONGOLIAN}])",
            f"(?<=[{_EMOJI}{_SKIN}\ufe0f\U000e007f])\u200d(?=[{_EMOJI}])",
            f"(?<=[{_JOINING}])[\u200c\u200d]",
        ]
    )
    + "|(?P<out>[\u180b-\u180f\u200c\u200d\ufe00-\ufe0f\U000e0000-\U000e0fff])"
)
_ISOLATE = re.compile("[\u2066-\u2069\n]")
_CLOSE = "\u2069"
#: Runs of characters that are neither letters nor white space: only there can there be too many marks.
_RUN = re.compile(r"[^\w\s]{3,}")


def keep_in_place(text: str) -> str:
    """Drop joiners, variation selectors and tags that do nothing where they stand."""
    return _IN_PLACE.sub(lambda found: "" if found["out"] else found[0], text)


def keep_paired_isolates(text: str) -> str:
    """Drop isolates that have no other half on their line, nothing to isolate, or too many around them.

    An isolate that is left open turns the direction of all that follows, whoever wrote that.
    """
    if not _ISOLATE.search(text):
        return text
    opened: list[int] = []
    kept: set[int] = set()
    for found in _ISOLATE.finditer(text):
        at = found.start()
        if found[0] == "\n":
            opened.clear()
        elif found[0] != _CLOSE:
            opened.append(at)
        elif opened:
            start = opened.pop()
            if len(opened) < _MAX_DEPTH and any(char.isalnum() for char in text[start + 1 : at]):
                kept |= {start, at}
    return _ISOLATE.sub(lambda found: found[0] if found[0] == "\n" or found.start() in kept else "", text)


def limit_marks(text: str) -> str:
    """Drop the marks of which a letter has too many."""
    return _RUN.sub(_limit_run, text)


def _limit_run(run: re.Match[str]) -> str:
    kept: list[str] = []
    accents = marks = same = 0
    for char in run[0]:
        if unicodedata.category(char)[0] != "M":
            accents = marks = same = 0
            kept.append(char)
            continue
        same = same + 1 if kept and kept[-1] == char else 1
        accents += unicodedata.name(char, "").startswith("COMBINING")
        marks += not _is_selector(char)
        if accents <= MAX_ACCENTS and marks <= MAX_MARKS and same <= _MAX_SAME:
            kept.append(char)
    return "".join(kept)


def _is_selector(char: str) -> bool:
    """Tell whether the mark only chooses a form of the letter; such marks are counted elsewhere."""
    return char in "\u180b\u180c\u180d\u180f" or "\ufe00" <= char <= "\ufe0f" or char >= "\U000e0100"
