"""Forms of a session: a line or a prompt of the game with holes, such as `[{number}] {name}`. Pure.

A form fits a whole line, whatever its case and however many spaces stand between words. It holds words and holes and
nothing else, so that the time to match a line grows with its length alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: The longest text that is matched, the longest form, and the most holes of any length in a form.
MOST_TEXT, MOST_FORM, MOST_WIDE = 1000, 200, 2
_HOLES = {"any": r".{0,200}?", "number": r"\d{1,9}", "word": r"[^\s{}]{1,40}"}
_PART = re.compile(r"\{(\w+)\}|([^{}]+)|(.)")


class SessionFormError(ValueError):
    """A form that cannot be used; the sentence says why."""


def compile_session_form(form: str, name: str = "") -> re.Pattern[str]:
    """Return the pattern of a form; `name` is the character's, for the hole {name}. Raises SessionFormError."""
    if not form.strip() or len(form) > MOST_FORM:
        raise SessionFormError(f"a form has 1 to {MOST_FORM} characters")
    if form.count("{any}") > MOST_WIDE:
        raise SessionFormError(f"a form has at most {MOST_WIDE} holes {{any}}")
    pieces: list[str] = []
    for hole, words, stray in _PART.findall(form.strip()):
        if words:
            pieces.append(re.sub(r"(?:\\ )+", " +", re.escape(words)))
        elif hole == "name":
            pieces.append(re.escape(name) if name else _HOLES["word"])
        elif hole in _HOLES:
            named = hole != "any" and f"(?P<{hole}>" not in "".join(pieces)
            pieces.append(f"(?P<{hole}>{_HOLES[hole]})" if named else f"(?:{_HOLES[hole]})")
        else:
            told = f"{{{hole}}} is no hole" if hole else f"{stray} stands alone"
            raise SessionFormError(f"{told}: use {{name}}, {', '.join(f'{{{each}}}' for each in _HOLES)}")
    return re.compile("".join(pieces), re.IGNORECASE)


def fits(forms: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    """Return how the first form that the whole text fits does, None for none."""
    text = text.strip()
    if len(text) > MOST_TEXT:
        return None
    return next((found for form in forms if (found := form.fullmatch(text))), None)


def is_firm(form: str) -> bool:
    """Tell whether a form begins with words of its own, so that no player's words can come before them."""
    return not form.startswith("{any}")


def starts_with(forms: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches one of these prompts at the beginning of a line, None for no prompts.

    Raises SessionFormError for a prompt that ends with a hole: where it ends could not be told while it comes.
    """
    patterns = []
    for form in forms:
        if form.rstrip().endswith("}"):
            raise SessionFormError("a prompt has to end with a word or a sign")
        patterns.append(compile_session_form(form).pattern)
    anonymous = re.sub(r"\?P<\w+>", "?:", "|".join(patterns))
    return re.compile(anonymous, re.IGNORECASE) if patterns else None
