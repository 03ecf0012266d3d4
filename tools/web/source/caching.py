"""Caches of search results, of whole pages, and for a short while of errors.

All requests that ask the same thing share one key: the query with its white space normalized and every filter, or the
URL in its normal form; both with the provider's name. Letters keep their case in a query, because `OR` is not `or`.
Whole pages are kept and cut on the way out. Refusals by policy and of a key are not kept, because settings change
(`standing.py` keeps a refused key from being sent too often). A cancelled request leaves no entry.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from twisted.internet.interfaces import IReactorTime

from resilience.cache.cache import Cache, CacheStats
from resilience.cache.ttl_store import TtlStore
from tools.web.errors import ErrorKind, WebError
from tools.web.fetch.hosts import domain
from tools.web.fetch.url import normal_url
from tools.web.source.paging import part_of
from tools.web.source.protocol import ReadProvider, ReadResult, SearchProvider, SearchQuery, TimeRange
from tools.web.source.served import ErrorInfo, Hits, Page, hits, page
from tools.web.source.whole import read_whole

#: Openclaw, another agent, keeps search results this long. Pages are kept longer, because they change less.
SEARCH_SECONDS = 15 * 60.0
PAGE_SECONDS = 60 * 60.0
ERROR_SECONDS = 30.0
MAX_BYTES = 32 * 1024 * 1024
_ERROR_BYTES = 256 * 1024
#: Bytes an entry takes beside its text, and the most bytes one character may take in memory.
_ENTRY_BYTES, _CHARACTER_BYTES = 512, 4

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class SearchKey:
    """The fields that must be equal for two searches to share an answer."""

    provider: str
    text: str
    limit: int
    domains: frozenset[str]
    time_range: TimeRange


@dataclass(frozen=True, slots=True)
class PageKey:
    """The fields that must be equal for two reads to share a page."""

    reader: str
    url: str


class _Kept(Generic[K, V]):
    """A cache of answers, and of errors for a shorter time."""

    def __init__(self, clock: IReactorTime, max_bytes: int, ttl_seconds: float, size_of: Callable[[V], int]) -> None:
        self._clock = clock
        self._answers: Cache[K, V] = Cache(clock, max_bytes, ttl_seconds, size_of)
        self._errors: TtlStore[K, ErrorInfo] = TtlStore(clock.seconds, _ERROR_BYTES)

    @property
    def stats(self) -> CacheStats:
        """The statistics of the cached answers."""
        return self._answers.stats

    async def get(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """Return the cached answer to `key`, or make it. Calls for a key that is being made wait for that one answer.

        Raises WebError, a recent one again without another attempt.
        """
        known = self._errors.find(key)
        if known is not None:
            raise known.value.error()

        async def made() -> V:
            try:
                return await make()
            except WebError as error:
                self._note(key, ErrorInfo.of(error))
                raise

        return await self._answers.get(key, made)

    def forget_errors(self) -> None:
        """Forget all cached errors. Called when settings have changed."""
        self._errors.clear()

    def clear(self) -> None:
        """Forget everything and cancel what is under way."""
        self._errors.clear()
        self._answers.clear()

    def _note(self, key: K, trouble: ErrorInfo) -> None:
        if trouble.kind in {ErrorKind.POLICY, ErrorKind.AUTH}:
            return
        seconds = ERROR_SECONDS
        if trouble.retry_at is not None:
            seconds = min(seconds, trouble.retry_at - self._clock.seconds())
        self._errors.put(key, trouble, _ENTRY_BYTES + _CHARACTER_BYTES * len(trouble.message), seconds)


class SearchCache:
    """The cached hits of all providers and assistants of a process."""

    def __init__(self, clock: IReactorTime, max_bytes: int = MAX_BYTES, ttl_seconds: float = SEARCH_SECONDS) -> None:
        self.kept: _Kept[SearchKey, Hits] = _Kept(clock, max_bytes, ttl_seconds, _bytes_of_hits)

    def forget_errors(self) -> None:
        """Forget all cached errors. Called when settings have changed."""
        self.kept.forget_errors()

    def clear(self) -> None:
        """Forget everything. Callers that wait get CancelledError."""
        self.kept.clear()


class PageCache:
    """The cached whole pages of all readers and assistants of a process."""

    def __init__(self, clock: IReactorTime, max_bytes: int = MAX_BYTES, ttl_seconds: float = PAGE_SECONDS) -> None:
        self.kept: _Kept[PageKey, Page] = _Kept(clock, max_bytes, ttl_seconds, _bytes_of_page)

    def forget_errors(self) -> None:
        """Forget all cached errors. Called when settings have changed."""
        self.kept.forget_errors()

    def clear(self) -> None:
        """Forget everything. Callers that wait get CancelledError."""
        self.kept.clear()


class CachedSearch:
    """A search provider behind a cache: the same query is sent once in the cache's time."""

    def __init__(self, provider: SearchProvider, cache: SearchCache) -> None:
        self.name = provider.name
        self._provider = provider
        self._kept = cache.kept

    async def search(self, query: SearchQuery) -> Hits:
        """Return the provider's hits, new or from the cache. Raises WebError. May be cancelled."""

        async def make() -> Hits:
            return hits(await self._provider.search(query), self.name)

        return await self._kept.get(search_key(self.name, query), make)


class CachedReader:
    """A reader behind a cache: it fetches each page once and whole, in whatever parts the page is asked for."""

    def __init__(self, provider: ReadProvider, cache: PageCache) -> None:
        self.name = provider.name
        self._provider = provider
        self._kept = cache.kept

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        """Return a part of the page, which may be an hour old. Raises WebError. May be cancelled."""

        async def make() -> Page:
            return page(await read_whole(self._provider, url), self.name)

        whole = await self._kept.get(PageKey(self.name, normal_url(url)), make)
        return part_of(whole, offset, max_length)


def search_key(provider: str, query: SearchQuery) -> SearchKey:
    """Return the cache key of a search. The order of the domains and the kind of white space do not matter."""
    text = " ".join(unicodedata.normalize("NFC", query.text).split())
    domains = frozenset(domain(name) for name in query.allowed_domains)
    return SearchKey(provider, text, query.limit, domains, query.time_range)


def _bytes_of_hits(found: Hits) -> int:
    return _ENTRY_BYTES + sum(_bytes_of(hit.title, hit.url, hit.snippet) for hit in found)


def _bytes_of_page(read: Page) -> int:
    return _bytes_of(read.content, read.title, read.url)


def _bytes_of(*texts: str) -> int:
    return _ENTRY_BYTES + _CHARACTER_BYTES * sum(len(text) for text in texts)
