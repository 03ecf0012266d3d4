"""Compiles the forms of a profile: a line of the game with holes, such as `{who} says, '{text}'`. Pure.

A form holds literal words and named holes and nothing else, so that no form can take long: the time to match a line
grows with its length alone. A form fits a whole line or not at all, and the first verb counts, so that a quotation
inside a quotation stays the words of the outer speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

#: The longest line that is matched, in characters; what is longer is context.
MAX_LINE = 4_000
#: The most forms of one profile, and the longest form in characters.
MAX_FORMS, MAX_FORM = 400, 200
#: The kinds that are somebody's words, besides those of channels.
SPEECH = frozenset({"say", "say_to_me", "say_to_other", "tell", "whisper"})
#: The verbs of speech where a profile names none.
VERBS = ("says", "asks", "exclaims", "states", "mutters", "replies", "answers")
_WORD = r"\w[\w.'@+-]{0,39}"
#: What each hole fits. A name ends as early as it can, so that the first verb counts.
_HOLES = {
    "who": rf"{_WORD}(?: {_WORD}){{0,4}}?",
    "target": rf"{_WORD}(?: {_WORD}){{0,4}}?",
    "text": r".+",
    "channel": r"[\w' -]{1,30}?",
    "direction": r"[\w'-]{1,30}(?: [\w'-]{1,30}){0,2}?",
    "thing": r".{1,100}?",
    "any": r".{0,200}?",
    "mark": r"[\w' -]{1,30}?",
    "level": r"\d{1,5}",
    "exits": r".*?",
    "people": r".{1,1000}?",
    "things": r".{1,1000}?",
}
#: The holes of any length, and how many of them a form may have.
_WIDE, MOST_WIDE = frozenset({"text", "any", "thing", "exits", "people", "things"}), 2
#: The holes that may stand twice: `{who}` then has to be the same name, as where the game marks a line with its sender.
_TWICE = frozenset({"who", "me", "any"})
#: The holes that a line to be typed may have.
TYPED = frozenset({"text", "who", "thing", "direction"})
#: A game may write its verbs in capitals.
_FLAGS = re.DOTALL | re.IGNORECASE
_PART = re.compile(r"\{([a-z_]*)\}|([^{}]+)|(.)", re.DOTALL)


class FormError(ValueError):
    """A form that cannot be used; the sentence says why and what to write."""


@dataclass(frozen=True, slots=True)
class Form:
    """A compiled form, which fits whatever the case of letters.

    `kind` is what a line of it is, such as `say`. `colour` is the colour that its lines begin with where the game
    shows colours, empty for any. `head` and `tail` are the words at its ends, and `literals` all that it has.
    `acts` is whether only a space parts the name from what its owner did, so that the line may hold anything.
    `opening` are the literals before what was said.
    """

    kind: str
    pattern: re.Pattern[str]
    begins: re.Pattern[str] | None
    literals: tuple[str, ...]
    head: str = ""
    tail: str = ""
    colour: str = ""
    acts: bool = False
    opening: tuple[str, ...] = ()

    @property
    def is_speech(self) -> bool:
        """Whether its lines are somebody's words."""
        return self.kind in SPEECH or self.kind.startswith("channel:")

    def match(self, line: str, lower: str = "") -> dict[str, str] | None:
        """Return what the holes hold if the whole line fits, else None. `lower` is the same in lower case."""
        lower = lower or line.lower()
        if len(line) > MAX_LINE or not lower.startswith(self.head) or not lower.endswith(self.tail):
            return None
        if not all(literal in lower for literal in self.literals):
            return None
        found = self.pattern.fullmatch(line)
        return None if found is None else {name: value.strip() for name, value in found.groupdict("").items()}

    def begins_in(self, line: str) -> bool:
        """Tell whether the line may be the beginning of one that the game broke into several."""
        if self.begins is None or len(line) > MAX_LINE:
            return False
        lower = line.lower()
        return all(literal in lower for literal in self.opening) and self.begins.match(line) is not None


def compile_form(kind: str, line: str, verbs: Sequence[str] = VERBS, colour: str = "", me: str = "") -> Form:
    """Return the compiled form. Raises FormError."""
    parts = _parts(line)
    holes = {**_HOLES, "verb": "|".join(map(re.escape, sorted(verbs, key=len, reverse=True))), "me": re.escape(me)}
    seen: set[str] = set()
    pieces: list[str] = []
    for name, literal in parts:
        if literal:
            pieces.append(re.escape(literal).replace(r"\ ", " +"))
            continue
        if name not in holes:
            raise FormError(f"{{{name}}} is no hole: use {', '.join(f'{{{one}}}' for one in sorted(holes))}")
        if name in seen and name not in _TWICE:
            raise FormError(f"{{{name}}} stands twice: only {{who}}, {{me}} and {{any}} may")
        if name in {"any", "me"}:
            pieces.append(f"(?:{holes[name]})")
        else:
            pieces.append(f"(?P={name})" if name in seen else f"(?P<{name}>{holes[name]})")
        seen.add(name)
    if len([name for name, _ in parts if name in _WIDE]) > MOST_WIDE:
        raise FormError(f"at most {MOST_WIDE} of the holes of any length: {', '.join(sorted(_WIDE))}")
    literals = tuple(word for _, literal in parts for word in literal.lower().split())
    begins, opening = None, tuple[str, ...]()
    if "text" in seen:
        at = [name for name, _ in parts].index("text")
        opening = tuple(word for _, literal in parts[:at] for word in literal.lower().split())
        begins = re.compile("".join(pieces[: at + 1]), _FLAGS)
    head, tail = parts[0][1].lower().split(" ", 1)[0], parts[-1][1].lower().rsplit(" ", 1)[-1]
    acts = "{who} {text}" in line
    return Form(kind, re.compile("".join(pieces), _FLAGS), begins, literals, head, tail, colour, acts, opening)


def fill_line(template: str, **values: str) -> str:
    """Return the line to type, with the values in its holes."""
    return _PART.sub(lambda part: values.get(part[1], "") if part[1] else part[0], template).strip()


def holes_of(template: str) -> frozenset[str]:
    """Return the names of the holes of a line to be typed. Raises FormError."""
    return frozenset(name for name, literal in _parts(template) if not literal)


def match_any(forms: Iterable[Form], line: str) -> tuple[Form, dict[str, str]] | None:
    """Return the first form that the line fits, with what its holes hold; None for none."""
    lower = line.lower()
    for form in forms:
        if (found := form.match(line, lower)) is not None:
            return form, found
    return None


def match_spoken(forms: Iterable[Form], line: str) -> tuple[Form, dict[str, str]] | None:
    """Return the form that a line of the game fits, with what its holes hold; None for none.

    The forms of speech come before all others, and of these the ones with a verb before mere acts. Of those that fit,
    the one with the shortest name counts, since what stands behind the first verb are the words of whoever has that
    name. Otherwise the first counts.
    """
    fitting: list[tuple[Form, dict[str, str]]] = []
    lower = line.lower()
    for form in forms:
        if fitting and not form.is_speech:
            break
        if (found := form.match(line, lower)) is not None:
            fitting.append((form, found))
    return min(fitting, key=lambda one: (one[0].acts, len(one[1].get("who", ""))), default=None)


def _parts(line: str) -> list[tuple[str, str]]:
    """Return the holes and literals of a form, each as a pair of which one is empty. Raises FormError."""
    if not line.strip() or len(line) > MAX_FORM or "\n" in line:
        raise FormError(f"a form is one line of 1 to {MAX_FORM} characters")
    parts: list[tuple[str, str]] = []
    for hole, literal, stray in _PART.findall(line):
        if stray:
            raise FormError("a brace stands alone: write {who}, {text} or another hole")
        parts.append((hole, literal))
    for before, after in pairwise(parts):
        if before[0] and after[0]:
            raise FormError(f"{{{before[0]}}} and {{{after[0]}}} touch: something has to stand between two holes")
    return parts
