"""Adds to hits and pages which provider served them, and which failed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import overload

from tools.web.errors import ErrorKind, WebError
from tools.web.source.protocol import ReadResult, SearchResult


@dataclass(frozen=True, slots=True)
class ErrorInfo:
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
class Page(ReadResult):
    """A page, who read it, and what went wrong before."""

    served_by: str = ""
    failed: tuple[ErrorInfo, ...] = ()


def hits(found: Sequence[SearchResult], served_by: str, failed: tuple[ErrorInfo, ...] = ()) -> Hits:
    """Return the results with these facts. The facts of an inner chain are kept."""
    if isinstance(found, Hits):
        return Hits(found.results, found.served_by or served_by, failed + found.failed, found.notes)
    return Hits(tuple(found), served_by, failed)


def page(read: ReadResult, served_by: str, failed: tuple[ErrorInfo, ...] = ()) -> Page:
    """Return the page with these facts. The facts of an inner chain are kept."""
    if isinstance(read, Page):
        served_by, failed = read.served_by or served_by, failed + read.failed
    plain = {field.name: getattr(read, field.name) for field in fields(ReadResult)}
    return Page(**plain, served_by=served_by, failed=failed)
