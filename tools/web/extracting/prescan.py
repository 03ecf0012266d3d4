"""Refuses markup that would keep a parser busy for long, before any parser sees it.

Pure, linear in the length, and no parser: when in doubt it refuses. A page passes only with at most 1,000 attributes
in a tag, 100,000 tags and 256 levels. With more, parsers take long or fail. Measured: one tag with 20,000 attributes
takes trafilatura 16 s, 160,000 small paragraphs take parsers 18 to 27 s, and markdownify raises RecursionError at
1,000 nested tags.
"""

from __future__ import annotations

import re
from collections import Counter

MAX_ATTRIBUTES = 1_000
MAX_TAGS = 100_000
MAX_DEPTH = 256
#: How many times the text's length may be scanned. A tag inside a quoted value is scanned on its own as well, since
#: parsers do not agree on what is quoted.
_MAX_PASSES = 4
_SHORT_CHARS = 10_000

_NAME_AND_VALUE = r"[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>\"'][^\s>]*+)?+)?+"
_ATTRIBUTE = re.compile(_NAME_AND_VALUE)
_TAG = re.compile(rf"<(/?)([a-zA-Z][^\s/>]*+)((?:[\s/=]++|{_NAME_AND_VALUE})*+)>?")
_START = re.compile(r"<(?:/?[a-zA-Z]|!--)")
#: Elements whose content is not markup.
_RAW_END = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "textarea", "title")}
#: A slash after an unquoted value belongs to the value.
_SELF_CLOSED = (" />", "\n/>", '"/>', "'/>")
#: Elements that usually have no end tag; they nest only with one of the others between.
_FLAT = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
    | {"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "option", "optgroup"}
    | {"rp", "rt", "html", "head", "body"}
)


class TooTangled(Exception):
    """Raised when a page is not worth a parser's time; the message says why, as the end of a sentence."""


def check(text: str) -> None:
    """Refuse markup that would cost a parser too much. Raises TooTangled."""
    tags = looked_at = 0
    levels = _Levels()
    for start in _START.finditer(text):
        at = start.start()
        if start[0] == "<!--":
            levels.comment(text, at)
            continue
        tag = _TAG.match(text, at)
        assert tag is not None, "the tag's beginning was found"
        tags += not tag[1]
        if tags > MAX_TAGS:
            raise TooTangled(f"it has over {MAX_TAGS:,} tags")
        looked_at += tag.end() - at
        if looked_at > _SHORT_CHARS + _MAX_PASSES * len(text):
            raise TooTangled("its tags lie inside each other")
        _check_attributes(text, tag)
        levels.tag(text, tag)


def _check_attributes(text: str, tag: re.Match[str]) -> None:
    start, end = tag.span(3)
    if end - start <= MAX_ATTRIBUTES:  # an attribute takes a character at least
        return
    for count, _ in enumerate(_ATTRIBUTE.finditer(text, start, end), 1):
        if count > MAX_ATTRIBUTES:
            raise TooTangled(f"a tag in it has over {MAX_ATTRIBUTES:,} attributes")


class _Levels:
    """Counts how deep the tags are nested, as far as that can be told without a parser."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._depth = 0
        #: Where the last tag, comment or raw text ends.
        self._beyond = 0

    def comment(self, text: str, at: int) -> None:
        if at >= self._beyond:
            end = text.find("-->", at + 2)
            self._beyond = len(text) if end < 0 else end

    def tag(self, text: str, tag: re.Match[str]) -> None:
        """Count a tag. Raises TooTangled."""
        if tag.start() < self._beyond:
            return
        self._beyond = tag.end()
        name = tag[2].lower()
        if name in _FLAT:
            return
        if tag[1]:
            step = -1 if self._open[name] else 0
        elif raw_end := _RAW_END.get(name):
            end = raw_end.search(text, tag.end())
            self._beyond = end.end() if end else len(text)
            return
        else:
            step = 0 if tag[3] == "/" or tag[0].endswith(_SELF_CLOSED) else 1
        self._open[name] += step
        self._depth += step
        if self._depth > MAX_DEPTH:
            raise TooTangled(f"its tags are nested over {MAX_DEPTH} deep")
