"""Providers that answer what a test tells them, when it says so."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from tools.web.errors import ErrorKind, WebError
from tools.web.source.paging import part_of
from tools.web.source.protocol import ReadResult, SearchQuery, SearchResult

HIT = SearchResult("A title", "https://example.org/a", "words")
QUERY = SearchQuery("lanterns")


def error(kind: ErrorKind, message: str = "no", retry_at: float | None = None) -> WebError:
    return WebError(kind, message, retry_at=retry_at)


class Scripted:
    """A search provider; `answers` in order, the last one again and again. None waits until `waiting` is fired."""

    def __init__(self, name: str, *answers: Sequence[SearchResult] | WebError | None) -> None:
        self.name = name
        self.answers = list(answers) or [(HIT,)]
        self.asked: list[SearchQuery] = []
        self.waiting: list[Deferred[Sequence[SearchResult]]] = []
        self.cancelled = 0

    def search(self, query: SearchQuery) -> Awaitable[Sequence[SearchResult]]:
        self.asked.append(query)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            waiting: Deferred[Sequence[SearchResult]] = Deferred(self._gone)
            self.waiting.append(waiting)
            return waiting
        return fail(answer) if isinstance(answer, WebError) else succeed(answer)

    def _gone(self, _: object) -> None:
        self.cancelled += 1


class ScriptedReader:
    """A reader of one text, or one that fails; counts what it is asked."""

    def __init__(self, name: str, answer: str | WebError = "text") -> None:
        self.name = name
        self.answer = answer
        self.asked: list[tuple[str, int, int]] = []

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        self.asked.append((url, offset, max_length))
        if isinstance(self.answer, WebError):
            raise self.answer
        return part_of(ReadResult(url, "A page", self.answer, len(self.answer)), offset, max_length)


class Heard:
    """What came of some work: nothing yet, a value, or an error."""

    def __init__(self, work: Any) -> None:
        self.deferred: Deferred[Any] = work if isinstance(work, Deferred) else Deferred.fromCoroutine(work)
        self.value: Any = None
        self.error: Any = None
        self.done = False
        self.deferred.addCallbacks(self._good, self._bad)

    def _good(self, value: Any) -> None:
        self.value, self.done = value, True

    def _bad(self, failure: Failure) -> None:
        self.error, self.done = failure.value, True

    def cancel(self) -> None:
        self.deferred.cancel()

    @property
    def kind(self) -> ErrorKind:
        assert isinstance(self.error, WebError), self.error
        return self.error.kind
