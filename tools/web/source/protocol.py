"""The two protocols of providers, searching and reading, the values they use, and the protocol of what may be asked.

A class may implement both protocols of providers. Each provider becomes a `WebSource`, so that a pace, a cache, a quota
and a chain are written once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

Query_contra = TypeVar("Query_contra", contravariant=True)
Found_co = TypeVar("Found_co", covariant=True)
#: The seconds a provider may take that does not say how long it needs.
USUAL_SECONDS = 20.0


class TimeRange(StrEnum):
    """How old a result may be."""

    DAY = "d"
    WEEK = "w"
    MONTH = "m"
    YEAR = "y"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query: at most `limit` results, and if there are `allowed_domains`, only from those and their subdomains."""

    text: str
    limit: int = 5
    allowed_domains: tuple[str, ...] = ()
    time_range: TimeRange = TimeRange.ALL


@dataclass(frozen=True, slots=True)
class SearchResult:
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
