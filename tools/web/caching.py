"""Asked once: search results, whole pages, and for a short while what went wrong.

One key for all that is the same question: the query with its white space made even and every filter, or the URL in its
normal form; both with the provider's name. Letters keep their case in a query, where `OR` is not `or`. Whole pages are
kept and cut on the way out. Refusals by policy, and of a key, are asked again, because settings change (`standing.py`
keeps a refused key from being shown too often); a cancelled question leaves nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from twisted.internet.interfaces import IReactorTime

from resilience.cache import Cache, CacheStats
from resilience.shelf import Shelf
from tools.web.errors import Kind, WebError
from tools.web.hosts import domain
from tools.web.providers import ReadProvider, ReadResult, SearchProvider, SearchQuery, TimeRange
from tools.web.readers.paging import part_of
from tools.web.served import Hits, Page, Trouble, hits, page
from tools.web.urls import normal_url
from tools.web.whole import read_whole

#: Openclaw keeps results this long; pages change less than what is found (reference/web-tools.md section 5).
SEARCH_SECONDS = 15 * 60.0
PAGE_SECONDS = 60 * 60.0
ERROR_SECONDS = 30.0
MAX_BYTES = 32 * 1024 * 1024
_ERROR_BYTES = 256 * 1024
#: What an entry takes beside its text, and what one character may take in memory.
_ENTRY_BYTES, _CHARACTER_BYTES = 512, 4

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class SearchKey:
    """What makes two searches one."""

    provider: str
    text: str
    limit: int
    domains: frozenset[str]
    time_range: TimeRange


@dataclass(frozen=True, slots=True)
class PageKey:
    """What makes two pages one."""

    reader: str
    url: str


class _Kept(Generic[K, V]):
    """Answers, and errors for a shorter while."""

    def __init__(self, clock: IReactorTime, max_bytes: int, ttl_seconds: float, size_of: Callable[[V], int]) -> None:
        self._clock = clock
        self._answers: Cache[K, V] = Cache(clock, max_bytes, ttl_seconds, size_of)
        self._errors: Shelf[K, Trouble] = Shelf(clock.seconds, _ERROR_BYTES)

    @property
    def stats(self) -> CacheStats:
        """What is kept of answers."""
        return self._answers.stats

    async def get(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """The answer to `key`, made at most once at a time."""
        known = self._errors.find(key)
        if known is not None:
            raise known.value.error()

        async def made() -> V:
            try:
                return await make()
            except WebError as error:
                self._note(key, Trouble.of(error))
                raise

        return await self._answers.get(key, made)

    def forget_errors(self) -> None:
        """Forget what went wrong: settings have changed."""
        self._errors.clear()

    def clear(self) -> None:
        """Forget everything and cancel what is under way."""
        self._errors.clear()
        self._answers.clear()

    def _note(self, key: K, trouble: Trouble) -> None:
        if trouble.kind in {Kind.POLICY, Kind.AUTH}:
            return
        seconds = ERROR_SECONDS
        if trouble.retry_at is not None:
            seconds = min(seconds, trouble.retry_at - self._clock.seconds())
        self._errors.put(key, trouble, _ENTRY_BYTES + _CHARACTER_BYTES * len(trouble.message), seconds)


class SearchCache:
    """What was found, for all providers and assistants of a process."""

    def __init__(self, clock: IReactorTime, max_bytes: int = MAX_BYTES, ttl_seconds: float = SEARCH_SECONDS) -> None:
        self.kept: _Kept[SearchKey, Hits] = _Kept(clock, max_bytes, ttl_seconds, _bytes_of_hits)

    def forget_errors(self) -> None:
        """Forget what went wrong: settings have changed."""
        self.kept.forget_errors()

    def clear(self) -> None:
        """Forget everything; who waits gets CancelledError."""
        self.kept.clear()


class PageCache:
    """Whole pages, for all readers and assistants of a process."""

    def __init__(self, clock: IReactorTime, max_bytes: int = MAX_BYTES, ttl_seconds: float = PAGE_SECONDS) -> None:
        self.kept: _Kept[PageKey, Page] = _Kept(clock, max_bytes, ttl_seconds, _bytes_of_page)

    def forget_errors(self) -> None:
        """Forget what went wrong: settings have changed."""
        self.kept.forget_errors()

    def clear(self) -> None:
        """Forget everything; who waits gets CancelledError."""
        self.kept.clear()


class CachedSearch:
    """A search provider that is asked each thing once."""

    def __init__(self, provider: SearchProvider, cache: SearchCache) -> None:
        self.name = provider.name
        self._provider = provider
        self._kept = cache.kept

    async def search(self, query: SearchQuery) -> Hits:
        """The provider's hits, of now or of a little while ago. Raises WebError. May be cancelled."""

        async def make() -> Hits:
            return hits(await self._provider.search(query), self.name)

        return await self._kept.get(search_key(self.name, query), make)


class CachedReader:
    """A reader that fetches each page once, whole, however it is paged through."""

    def __init__(self, provider: ReadProvider, cache: PageCache) -> None:
        self.name = provider.name
        self._provider = provider
        self._kept = cache.kept

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        """The part of the page, which may be an hour old. Raises WebError. May be cancelled."""

        async def make() -> Page:
            return page(await read_whole(self._provider, url), self.name)

        whole = await self._kept.get(PageKey(self.name, normal_url(url)), make)
        return part_of(whole, offset, max_length)


def search_key(provider: str, query: SearchQuery) -> SearchKey:
    """The key of a search: the order of domains, and how white space is written, make no other question."""
    text = " ".join(unicodedata.normalize("NFC", query.text).split())
    domains = frozenset(domain(name) for name in query.allowed_domains)
    return SearchKey(provider, text, query.limit, domains, query.time_range)


def _bytes_of_hits(found: Hits) -> int:
    return _ENTRY_BYTES + sum(_bytes_of(hit.title, hit.url, hit.snippet) for hit in found)


def _bytes_of_page(read: Page) -> int:
    return _bytes_of(read.content, read.title, read.url)


def _bytes_of(*texts: str) -> int:
    return _ENTRY_BYTES + _CHARACTER_BYTES * sum(len(text) for text in texts)
