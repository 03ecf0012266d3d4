"""The answers of providers, with who served them and what failed before; and providers of either kind as sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, Protocol, overload

from msgspec import Struct

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.source.protocol import (
    USUAL_SECONDS,
    WHOLE,
    ReadProvider,
    ReadResult,
    SearchProvider,
    SearchQuery,
    SearchResult,
    seconds_of,
)


class ErrorInfo(Struct, frozen=True):
    """A WebError as a value: no traceback, so it may be kept and raised again. `retry_at` in clock seconds."""

    kind: ErrorKind
    message: str
    provider: str = ""
    retry_at: float | None = None
    told: str = ""

    @classmethod
    def of(cls, error: WebError, provider: str = "") -> ErrorInfo:
        """Return the error as a value; `provider` is used where the error names none."""
        return cls(error.kind, error.message, error.provider or provider, error.retry_at, error.told)

    def error(self) -> WebError:
        """Return a new error with these facts."""
        return WebError(self.kind, self.message, provider=self.provider, retry_at=self.retry_at, told=self.told)

    def __str__(self) -> str:
        """Return the reason, with the provider's name, for a list of reasons."""
        is_named = self.message.startswith(self.provider)
        return self.message if is_named else f"{self.provider}: {self.message}"


class ProviderAnswer(Protocol):
    """Hits or a page: a data class that says what went wrong before."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def failed(self) -> tuple[ErrorInfo, ...]:
        """The errors of the providers that were asked before, or were not asked because of an earlier one."""
        ...


@dataclass(frozen=True, slots=True)
class Hits(Sequence[SearchResult]):
    """Results of a search, who gave them, and what went wrong before. `notes` are our own sentences about them."""

    results: tuple[SearchResult, ...]
    served_by: str = ""
    failed: tuple[ErrorInfo, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return how many results there are."""
        return len(self.results)

    @overload
    def __getitem__(self, index: int) -> SearchResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SearchResult, ...]: ...
    def __getitem__(self, index: int | slice) -> SearchResult | tuple[SearchResult, ...]:
        """Return one result, or a slice."""
        return self.results[index]


@dataclass(frozen=True, slots=True)
class WebPage(ReadResult):
    """A page, who read it, and what went wrong before."""

    served_by: str = ""
    failed: tuple[ErrorInfo, ...] = ()


class SearchSource:
    """A search provider as a source of hits."""

    def __init__(self, provider: SearchProvider) -> None:
        self.name = provider.name
        self.total_seconds = seconds_of(provider) or USUAL_SECONDS
        self._provider = provider

    async def ask(self, query: SearchQuery) -> Hits:
        """Return the provider's hits. Raises WebError. May be cancelled."""
        return Hits(tuple(await self._provider.search(query)), self.name)


class PageSource:
    """A reader as a source of whole pages by their URL. What is wanted of one is cut out later (`part_of`).

    So paging through a page fetches it once, where it is kept, and all parts are of one reader's text.
    """

    def __init__(self, provider: ReadProvider) -> None:
        self.name = provider.name
        self.total_seconds = seconds_of(provider) or USUAL_SECONDS
        self._provider = provider

    async def ask(self, query: str) -> WebPage:
        """Return all that the reader has of the page. Raises WebError. May be cancelled."""
        read = await self._provider.read_url(query, offset=0, max_length=WHOLE)
        plain = {field.name: getattr(read, field.name) for field in fields(ReadResult)}
        return WebPage(**plain, served_by=self.name)
