"""Porter's stemming of English words (1980), as SQLite's FTS5 does it, so that both databases find the same. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

#: Shorter and longer words are left as they are, in bytes of UTF-8.
_SHORTEST, _LONGEST = 3, 64
_SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "logi": "log", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble",
}  # fmt: skip
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_FOURTH = dict.fromkeys(
    ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou", "ism",
     "ate", "iti", "ous", "ive", "ize"), ""
)  # fmt: skip
_FOURTH |= {"sion": "s", "tion": "t"}
_RUN = re.compile("V+C+")
#: A consonant, a vowel, and a consonant that is not w, x or y, at the end.
_SHORT_END = re.compile("CVC$")


@lru_cache(maxsize=16_384)
def stem_english(word: str) -> str:
    """Return the stem of a word in lower case."""
    if not _SHORTEST <= len(word.encode()) < _LONGEST:
        return word
    return _fifth(_replace(_replace(_replace(_first(word), _SECOND, 0), _THIRD, 0), _FOURTH, 1))


def _shape(word: str) -> str:
    """Return V for each vowel and C for each other letter; y is a vowel behind one that is none."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("C"))
        shape += "V" if is_vowel else "C"
    return shape


def _measure(word: str) -> int:
    """Count how often consonants follow vowels."""
    return len(_RUN.findall(_shape(word)))


def _ends_short(word: str) -> bool:
    return bool(_SHORT_END.search(_shape(word))) and word[-1] not in "wxy"


def _first(word: str) -> str:
    """Take off what makes a plural, a past or a participle."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        stem = next((word.removesuffix(end) for end in ("ed", "ing") if word.endswith(end)), word)
        if stem != word and "V" in _shape(stem):
            word = _mend(stem)
    if word.endswith("y") and "V" in _shape(word[:-1]):
        word = f"{word[:-1]}i"
    return word


def _mend(stem: str) -> str:
    """Return what is left of a word without "ed" or "ing" as it is alone."""
    if stem.endswith(("at", "bl", "iz")):
        return f"{stem}e"
    if stem[-1:] == stem[-2:-1] and _shape(stem).endswith("C") and stem[-1] not in "lsz":
        return stem[:-1]
    return f"{stem}e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _replace(word: str, endings: dict[str, str], least: int) -> str:
    """Put another ending in place of the longest that is there, where the measure of the stem is over `least`."""
    end = max((end for end in endings if word.endswith(end)), key=len, default="")
    stem = word.removesuffix(end)
    if not end or _measure(stem + (endings[end] if endings is _FOURTH else "")) <= least:
        return word
    return stem + endings[end]


def _fifth(word: str) -> str:
    """Take off an "e" at the end, and one of two "l"."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
