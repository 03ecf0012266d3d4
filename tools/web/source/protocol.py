"""The two protocols of providers, searching and reading, the values they use, and the protocol of what may be asked.

A class may implement both protocols of providers. Each provider becomes a `WebSource`, so that a pace, a cache, a quota
and a chain are written once. The part of a page that was asked for is cut out here, where a reader would stop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeVar

from msgspec import Struct

Query_contra = TypeVar("Query_contra", contravariant=True)
Found_co = TypeVar("Found_co", covariant=True)
#: The seconds a provider may take that does not say how long it needs.
USUAL_SECONDS = 20.0
#: More characters than any reader gives: a reader that is asked for so many gives all it has.
WHOLE = 1_000_000_000
#: A cut goes back to the end of a paragraph, else of a line, of a sentence or of a word, when that keeps at least this
#: share of the length that was asked for.
KEEP_SHARE = 0.6
_BORDERS = ("\n\n", "\n", ". ", " ")


class TimeRange(StrEnum):
    """How old a result may be."""

    DAY = "d"
    WEEK = "w"
    MONTH = "m"
    YEAR = "y"
    ALL = "all"


class SearchQuery(Struct, frozen=True):
    """A query: at most `limit` results, and if there are `allowed_domains`, only from those and their subdomains."""

    text: str
    limit: int = 5
    allowed_domains: tuple[str, ...] = ()
    time_range: TimeRange = TimeRange.ALL


class SearchResult(Struct, frozen=True):
    """One hit. All of it was written by strangers."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One page as text (Markdown where it had structure).

    `content` is the part of it that was kept, and `content_length` its characters. `original_length` is the characters
    of the whole page, when known. `truncated` tells that `content` is not all of it. `notes` are our own sentences
    about the text, such as that no main text was found.
    """

    url: str
    title: str
    content: str
    content_length: int
    original_length: int | None = None
    truncated: bool = False
    notes: tuple[str, ...] = ()


P = TypeVar("P", bound=ReadResult)


class SearchProvider(Protocol):
    """Searches the web. It may have `total_seconds`, the most that one answer takes."""

    #: What the provider is called in settings and messages.
    name: str

    def search(self, query: SearchQuery) -> Awaitable[Sequence[SearchResult]]:
        """Return at most `query.limit` hits, best first; none when nothing was found.

        Raises WebError. May be cancelled.
        """
        ...


class ReadProvider(Protocol):
    """Reads a page of the web. It may have `total_seconds`, the most that one answer takes."""

    name: str

    def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> Awaitable[ReadResult]:
        """Return the page's text from character `offset`, at most `max_length` characters.

        Raises WebError. May be cancelled.
        """
        ...


class WebSource(Protocol[Query_contra, Found_co]):
    """Answers queries: hits for a `SearchQuery`, a whole page for a URL. It may have `total_seconds`, as a provider."""

    @property
    def name(self) -> str:
        """The name of the provider, or of several with commas between."""
        ...

    def ask(self, query: Query_contra) -> Awaitable[Found_co]:
        """Return the answer. Raises WebError. May be cancelled."""
        ...


def seconds_of(provider: object) -> float | None:
    """Return the most seconds one answer takes, the `total_seconds` of a provider or source; None when it has none."""
    seconds: float | None = getattr(provider, "total_seconds", None)
    return seconds


def part_of(whole: P, offset: int, max_length: int) -> P:
    """Return the page's text from character `offset`, at most `max_length` characters of it.

    `offset + content_length` is where the next part begins; nothing is lost between two parts. A negative number counts
    as 0. `original_length` is the whole page's; `truncated` tells whether any of it is missing, before or after.
    """
    text = whole.content
    start = max(0, offset)
    content = text[start : cut_at(text, start, max(0, max_length))]
    length = max(len(text), whole.original_length or 0)
    is_part = whole.truncated or len(content) < length
    return replace(whole, content=content, content_length=len(content), original_length=length, truncated=is_part)


def cut_at(text: str, start: int, most: int) -> int:
    """Return where a part that begins at `start` ends, at most `most` characters later."""
    end = start + most
    if end >= len(text):
        return len(text)
    least = start + int(most * KEEP_SHARE)
    for border in _BORDERS:
        found = text.rfind(border, least, end)
        if found >= 0:
            return found + len(border)
    return end
