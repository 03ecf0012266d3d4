"""Caches of search results, of whole pages, and for a short while of errors.

All requests that ask the same thing share one key: the query with its white space normalized and every filter, or the
URL in its normal form; both with the provider's name. Letters keep their case in a query, because `OR` is not `or`.
Refusals by policy and of a key are not kept, because settings change
(`state.py` keeps a refused key from being sent too often). A cancelled request leaves no entry.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.internet.interfaces import IReactorTime

from mud_assistant.resilience.cache import Cache, TtlStore
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.hosts import normal_domains
from mud_assistant.tools.web.fetch.url import normal_url
from mud_assistant.tools.web.source.answers import ErrorInfo, Hits, WebPage
from mud_assistant.tools.web.source.protocol import SearchQuery, WebSource

#: Openclaw, another agent, keeps search results this long. Pages are kept longer, because they change less.
SEARCH_SECONDS = 15 * 60.0
PAGE_SECONDS = 60 * 60.0
ERROR_SECONDS = 30.0
MAX_BYTES = 32 * 1024 * 1024
_ERROR_BYTES = 256 * 1024
#: Bytes an entry takes beside its text, and the most bytes one character may take in memory.
_ENTRY_BYTES, _CHARACTER_BYTES = 512, 4

Q = TypeVar("Q")
A = TypeVar("A")
#: The query in the form in which it is compared with others.
Key = tuple[object, ...]


class AnswerCache(Generic[Q, A]):
    """The cached answers of all providers and assistants of a process, and their errors for a shorter time.

    `key_of` returns the key of a query, `size_of` the bytes of an answer.
    """

    def __init__(
        self,
        clock: IReactorTime,
        key_of: Callable[[Q], Key],
        size_of: Callable[[A], int],
        max_bytes: int,
        ttl_seconds: float,
    ) -> None:
        self._clock = clock
        self._key_of = key_of
        self._answers: Cache[Key, A] = Cache(clock, max_bytes, ttl_seconds, size_of)
        self._errors: TtlStore[Key, ErrorInfo] = TtlStore(clock.seconds, _ERROR_BYTES)

    async def get(self, source: WebSource[Q, A], query: Q) -> A:
        """Return the cached answer, or ask for it. Calls for one that is on its way wait for it.

        Raises WebError, a recent one again without another attempt.
        """
        key = (source.name, *self._key_of(query))
        known = self._errors.find(key)
        if known is not None:
            raise known.value.error()

        async def make() -> A:
            try:
                return await source.ask(query)
            except WebError as error:
                self._keep_error(key, ErrorInfo.of(error))
                raise

        return await self._answers.get(key, make)

    def forget_errors(self) -> None:
        """Forget all cached errors. Called when settings have changed."""
        self._errors.clear()

    def clear(self) -> None:
        """Forget everything and cancel what is under way. Callers that wait get CancelledError."""
        self._errors.clear()
        self._answers.clear()

    def _keep_error(self, key: Key, error: ErrorInfo) -> None:
        if error.kind in {ErrorKind.POLICY, ErrorKind.AUTH}:
            return
        seconds = ERROR_SECONDS
        if error.retry_at is not None:
            seconds = min(seconds, error.retry_at - self._clock.seconds())
        self._errors.put(key, error, _ENTRY_BYTES + _CHARACTER_BYTES * len(error.message), seconds)


class Cached(Generic[Q, A]):
    """A source behind a cache: the same query is sent once in the cache's time."""

    def __init__(self, source: WebSource[Q, A], cache: AnswerCache[Q, A]) -> None:
        self.name = source.name
        self._source = source
        self._cache = cache

    async def ask(self, query: Q) -> A:
        """Return the answer, new or from the cache. Raises WebError. May be cancelled."""
        return await self._cache.get(self._source, query)


def search_cache(
    clock: IReactorTime, max_bytes: int = MAX_BYTES, ttl_seconds: float = SEARCH_SECONDS
) -> AnswerCache[SearchQuery, Hits]:
    """Return a cache of hits."""
    return AnswerCache(clock, search_key, _bytes_of_hits, max_bytes, ttl_seconds)


def page_cache(
    clock: IReactorTime, max_bytes: int = MAX_BYTES, ttl_seconds: float = PAGE_SECONDS
) -> AnswerCache[str, WebPage]:
    """Return a cache of whole pages."""
    return AnswerCache(clock, lambda url: (normal_url(url),), _bytes_of_page, max_bytes, ttl_seconds)


def search_key(query: SearchQuery) -> Key:
    """Return the cache key of a search. The order of the domains and the kind of white space do not matter."""
    text = " ".join(unicodedata.normalize("NFC", query.text).split())
    return text, query.limit, frozenset(normal_domains(query.allowed_domains)), query.time_range


def _bytes_of_hits(found: Hits) -> int:
    return _ENTRY_BYTES + sum(_bytes_of(hit.title, hit.url, hit.snippet) for hit in found)


def _bytes_of_page(read: WebPage) -> int:
    return _bytes_of(read.content, read.title, read.url)


def _bytes_of(*texts: str) -> int:
    return _ENTRY_BYTES + _CHARACTER_BYTES * sum(len(text) for text in texts)
