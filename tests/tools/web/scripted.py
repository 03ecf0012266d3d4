"""Providers that answer what a test tells them, when it says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.source.answers import PageSource, SearchSource, WebPage
from mud_assistant.tools.web.source.paced import Paced
from mud_assistant.tools.web.source.protocol import ReadResult, SearchQuery, SearchResult, WebSource, part_of
from mud_assistant.tools.web.source.state import CoolDown, ProviderState, Rate, kinds_of_reader

HIT = SearchResult("A title", "https://example.org/a", "words")
QUERY = SearchQuery("lanterns")


def error(kind: ErrorKind, message: str = "no", retry_at: float | None = None) -> WebError:
    return WebError(kind, message, retry_at=retry_at)


class Scripted:
    """A search provider; `answers` in order, the last one again and again. None waits until `waiting` is fired.

    It is a source too, of answers as they are scripted.
    """

    def __init__(
        self, name: str, *answers: Sequence[SearchResult] | WebError | None, total_seconds: float | None = None
    ) -> None:
        self.name = name
        self.total_seconds = total_seconds
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

    def ask(self, query: SearchQuery) -> Awaitable[Any]:
        return self.search(query)

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


class Asked:
    """A source of answers that each question brings along, as a function to call."""

    name = "a"

    def ask(self, query: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        return query()


async def read_part(pages: WebSource[str, WebPage], url: str, offset: int = 0, max_length: int = 15_000) -> WebPage:
    """Read a part of a page, as `open_page` does."""
    return part_of(await pages.ask(url), offset, max_length)


def paced(provider: Any, clock: Clock, random: Random | None = None, cool_down: CoolDown | None = None) -> Any:
    """A member of a chain, as fast as it likes."""
    random = random or Random(1)  # noqa: S311  (jitter)
    rate = Rate(seconds=0.0, unsaid_seconds=0.0)
    if hasattr(provider, "read_url"):
        cools = kinds_of_reader(provider.name)
        return Paced(PageSource(provider), ProviderState(clock.seconds, random, rate, cools, cool_down), clock)
    source = SearchSource(provider) if hasattr(provider, "search") else provider
    return Paced(source, ProviderState(clock.seconds, random, rate, cool_down=cool_down), clock)
