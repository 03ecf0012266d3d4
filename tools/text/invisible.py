"""Keeps invisible characters only where the text around them is drawn differently without them.

At most one such character is kept for each visible one, and only where Unicode gives it a meaning: elsewhere it can
only hide a message. The emoji are those of emoji-variation-sequences.txt and the symbols beyond U+1F000; the
ideographic variants are the first 32, which is all that are registered for any character.
"""

from __future__ import annotations

import re
import unicodedata

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
