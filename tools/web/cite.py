"""Sources of an answer: numbers per conversation turn, checked citation marks, and a footer. Pure.

A mark is `[2]`, `[1, 3]` or `[1-3]`; OpenAI's models also write their own full-width brackets, which are read as well.
A mark is a citation when it stands after some text: not at the beginning of a line (a list), not in code, not in a
link (`[1](...)`, `[1]: ...`), not in a sum (`[4] + [2]`), not after an open bracket. In a turn without sources no mark
is a citation, and the text is left alone. A lone unknown number in a sentence about dice is left alone as well. A
known number counts wherever it may be a citation: a source named for nothing does less harm than one left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.fetch.seen import SeenUrls

MAX_TITLE_CHARS = 80
MAX_SHOWN_URL_CHARS = 160
MAX_SHOWN = 8
#: A range of more numbers than this is no citation.
_MAX_RANGE = 20
#: Marks nested deeper than this are not real citations, and each level costs a walk.
_MAX_WALKS = 8
#: Characters of the sentence that are looked at on either side of a mark.
_SENTENCE_CHARS = 200

_NUMBERS = r"[1-9][0-9]{0,2}"
_MARK = rf"\[{_NUMBERS}(?: ?(?:[,;]|[-\u2013]) ?{_NUMBERS})*\]"  # an en dash for ranges
_RUN = re.compile(rf"(?P<open>\(?)(?P<marks>{_MARK}(?:[ \t]*{_MARK})*)(?P<close>\)?)")
_ONE = re.compile(_MARK)
_PART = re.compile(rf"({_NUMBERS})(?: ?[-\u2013] ?({_NUMBERS}))?")
_WIDE = re.compile(rf"\u3010({_NUMBERS})(?:\u2020[^\u3010\u3011\n]{{0,80}})?\u3011")  # a dagger and where it was read
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_DICE = re.compile(r"\b\d*[dw]\d+\b|\b(?:dice|dies?|roll|rolls|rolled|rolling)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?](?=\s)|\n")
_IN_SUMS = "+*=/<>"
_BLANKS = " \t"
#: Text after a mark that shows it is part of code or of a link.
_CODE_AFTER = re.compile(r"\(|:[ \t]*\S*//|\]|\[(?!\d)|\.\w|\w|[ \t]*(?:[+*/<>]|[-=][ \t>=\w\[])")


class NumberedSource(Struct, frozen=True):
    """One source and its number."""

    number: int
    url: str
    title: str = ""


class Citations:
    """The sources of one conversation turn. A URL has one number, whether it was found or opened."""

    def __init__(self) -> None:
        self._by_url: dict[str, NumberedSource] = {}

    def number(self, url: str, title: str = "") -> int:
        """Return the number of this source, a new one for a new URL. The first title is kept."""
        # Where the web is used, this is loaded since the start; without the web nothing is cited.
        from mud_assistant.tools.web.fetch.url import normal_url  # noqa: PLC0415  (two parsers and the table of addresses)

        key = normal_url(url)
        known = self._by_url.get(key)
        if known is None:
            known = NumberedSource(len(self._by_url) + 1, url, title)
        elif title and not known.title:
            known = NumberedSource(known.number, known.url, title)
        self._by_url[key] = known
        return known.number

    def __len__(self) -> int:
        """Return how many sources there are."""
        return len(self._by_url)

    @property
    def known(self) -> tuple[NumberedSource, ...]:
        """All sources, by number."""
        return tuple(self._by_url.values())

    def of(self, numbers: Iterable[int]) -> tuple[NumberedSource, ...]:
        """Return the sources with these numbers, in the order given; unknown numbers are left out."""
        known = self.known
        return tuple(known[number - 1] for number in numbers if 0 < number <= len(known))


class CheckedText(Struct, frozen=True):
    """A text without marks of unknown sources, and the numbers it uses in the order of first use."""

    text: str
    used: tuple[int, ...]


def check_marks(text: str, citations: Citations) -> CheckedText:
    """Return `text` without marks of unknown sources. Checking the result again changes nothing."""
    count = len(citations)
    if not count:
        return CheckedText(text, ())
    once = _walk(text, count)
    for _ in range(_MAX_WALKS):  # removing a mark may have joined the parts of another
        before, once = once, _walk(once.text, count)
        if once.text == before.text:
            break
    return once


def _walk(text: str, count: int) -> CheckedText:
    """Return `text` after one walk."""
    check = _Check(count)
    pieces = enumerate(_CODE.split(text))  # the odd pieces are code
    whole = "".join(piece if place % 2 else check.plain(piece, starts=place == 0) for place, piece in pieces)
    return CheckedText(whole, tuple(check.used))


def _plain_line(source: NumberedSource) -> str:
    """Return `[1] Title (host)`, which any world can show."""
    from mud_assistant.tools.web.fetch.url import host_of  # noqa: PLC0415  (as above)

    title = one_line(source.title[: 8 * MAX_TITLE_CHARS], max_chars=MAX_TITLE_CHARS).translate(_NO_BRACKETS)
    url = source.url if len(source.url) <= MAX_SHOWN_URL_CHARS else host_of(source.url)
    place = one_line(url, max_chars=MAX_SHOWN_URL_CHARS)
    return f"[{source.number}] {title} ({place})" if title else f"[{source.number}] {place}"


#: Brackets in a title could look like another source's number.
_NO_BRACKETS = str.maketrans("[]\u3010\u3011", "()()")


def footer(
    sources: Iterable[NumberedSource], line: Callable[[NumberedSource], str] = _plain_line, *, most: int = MAX_SHOWN
) -> str:
    """Return the sources, one a line under "Sources:"; empty when there are none.

    `line` formats one source: a world that has links passes its own. The lines are clean text; a world's markup must
    still be escaped where all text is.
    """
    chosen = tuple(sources)
    if not chosen:
        return ""
    lines = [line(source) for source in chosen[:most]]
    if len(chosen) > most:
        lines.append(f"and {len(chosen) - most} more")
    return "\n".join(["Sources:", *lines])


class WebTurn(Struct, frozen=True):
    """The state of one turn of one assistant; `seen` outlives it.

    In a `focused` turn only the hits that fit the question best are shown, for models too small to choose among many.
    """

    seen: SeenUrls = field(default_factory=SeenUrls)
    citations: Citations = field(default_factory=Citations)
    focused: bool = False

    def add_sources(self, words: str) -> str:
        """Return the words without marks of unknown sources, followed by the sources that they name."""
        found = check_marks(words, self.citations)
        if not found.used:
            return found.text
        return f"{found.text}\n{footer(self.citations.of(found.used))}"


class _Check:
    """One walk through a text. `used` are the known numbers, in the order they came."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.used: dict[int, None] = {}

    def plain(self, text: str, *, starts: bool) -> str:
        """Return a piece without code, checked. `starts`: no text stands before it."""
        text = _WIDE.sub(lambda match: f"[{match[1]}]", text)
        pieces: list[str] = []
        at = 0
        for match in _RUN.finditer(text):
            begin = match.start()
            while begin > at and text[begin - 1] in _BLANKS:
                begin -= 1
            pieces += text[at:begin], self._run(match, begin, starts=starts)
            at = match.end()
        return "".join([*pieces, text[at:]])

    def _run(self, match: re.Match[str], begin: int, *, starts: bool) -> str:
        """Return neighbouring marks, checked, with the blanks before them, which begin at `begin`."""
        text, before = match.string, match.string[begin : match.start()]
        whole = before + match[0]
        if not _is_place(text, begin, match.start(), match.end(), starts=starts):
            return whole
        marks = _ONE.findall(match["marks"])
        kept = [shown for mark in marks if (shown := self._mark(mark))]
        if kept == marks or (not kept and _is_about_dice(text, begin, match.end())):
            return whole
        if not kept and match["open"] and match["close"]:
            return ""
        return (before if kept or match["open"] else "") + match["open"] + "".join(kept) + match["close"]

    def _mark(self, mark: str) -> str:
        """Return the mark with only its known numbers; empty when none is known."""
        numbers = [number for part in _PART.finditer(mark) for number in _range(part)]
        known = [number for number in numbers if number <= self._count]
        self.used.update(dict.fromkeys(known))
        if len(known) == len(numbers):
            return mark
        return f"[{', '.join(str(number) for number in known)}]" if known else ""


def _range(part: re.Match[str]) -> Iterable[int]:
    """Return the numbers of `3` or `1-3`; only both ends when the range is too long or runs backwards."""
    first = int(part[1])
    last = int(part[2]) if part[2] else first
    return range(first, last + 1) if 0 <= last - first < _MAX_RANGE else (first, last)


def _is_place(text: str, begin: int, marks: int, end: int, *, starts: bool) -> bool:
    """Tell whether a citation may stand from `begin` to `end`. `begin` is before the blanks, `marks` after them."""
    if begin == 0:
        if starts:
            return False
    elif text[begin - 1] in "\n[(-:#_" or text[begin - 1] in _IN_SUMS:
        return False
    if begin == marks and begin > 0 and text[marks] == "(" and text[begin - 1].isalnum():
        return False
    return not _CODE_AFTER.match(text, end)


def _is_about_dice(text: str, begin: int, end: int) -> bool:
    """Tell whether the sentence round a mark speaks of dice."""
    first, last = max(0, begin - _SENTENCE_CHARS), min(len(text), end + _SENTENCE_CHARS)
    starts = [match.end() for match in _SENTENCE.finditer(text, first, begin)]
    after = _SENTENCE.search(text, end, last)
    return bool(_DICE.search(text[starts[-1] if starts else first : after.start() if after else last]))


def turn_of(context: ToolContext) -> WebTurn:
    """Return what the context's turn knows of the web; a turn without any knowledge of it where there is none."""
    return context.web if isinstance(context.web, WebTurn) else WebTurn()
