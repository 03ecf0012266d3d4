"""What a provider's trouble is called, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.checks.finding import Problem
from mud_assistant.assistant.checks.web import PAGE, explain, reads, searches
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.source.protocol import ReadResult, SearchQuery, SearchResult

REMEDIES = {
    ErrorKind.POLICY: "--page URL",
    ErrorKind.BAD_REQUEST: "web.providers.brave.url",
    ErrorKind.AUTH: "web.providers.brave.key",
    ErrorKind.QUOTA: "buy more",
    ErrorKind.RATE_LIMITED: "web.providers.brave.per_minute",
    ErrorKind.TIMEOUT: "firewall",
    ErrorKind.NETWORK: "proxy",
    ErrorKind.SERVER: "the provider's own trouble",
    ErrorKind.PARSE: "something else",
    ErrorKind.BLOCKED_OR_EMPTY: "may block this machine",
}


@dataclass
class Scripted:
    """A provider of both kinds that gives what it was made with, or raises it."""

    gives: Sequence[SearchResult] | ReadResult | WebError
    name: str = "brave"

    async def search(self, query: SearchQuery) -> Sequence[SearchResult]:
        if isinstance(self.gives, WebError):
            raise self.gives
        assert not isinstance(self.gives, ReadResult)
        return self.gives

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        if isinstance(self.gives, WebError):
            raise self.gives
        assert isinstance(self.gives, ReadResult)
        return self.gives


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_of_trouble_has_a_remedy_in_the_same_sentence(kind: ErrorKind) -> None:
    told = explain(WebError(kind, "brave said so."), "brave", 0.0)
    assert told.startswith("brave said so; ")
    assert REMEDIES[kind] in told
    assert "\n" not in told
    assert ". " not in told


@pytest.mark.parametrize(
    ("retry_at", "told"), [(1000.4, "wait 1 s, or "), (1042.0, "wait 42 s, or "), (1600.0, "wait 10 minutes, or ")]
)
def test_when_to_come_back_is_told(retry_at: float, told: str) -> None:
    error = WebError(ErrorKind.QUOTA, "brave has no quota left", retry_at=retry_at)
    assert explain(error, "brave", 1000.0) == (
        f"brave has no quota left; {told}buy more there, or put another provider before it"
    )


@pytest.mark.parametrize("message", ["needs it: pip install 'mud-assistant[web]'", "add json in settings.yml"])
def test_what_names_its_remedy_gets_no_other(message: str) -> None:
    assert explain(WebError(ErrorKind.AUTH, message), "searxng", 0.0) == message


async def test_a_search_that_finds_something_is_well() -> None:
    found = [SearchResult("Wikipedia", "https://example.org", "")]
    told = await searches(Scripted(found), Clock())
    assert told == "brave answers: 1 results for 'Wikipedia encyclopedia'"


async def test_a_search_that_finds_nothing_is_not() -> None:
    with pytest.raises(Problem, match="finds nothing"):
        await searches(Scripted([]), Clock())


async def test_a_page_is_read() -> None:
    told = await reads(Scripted(ReadResult(PAGE, "Example", "An example.", 11)), PAGE, Clock())
    assert told == f"brave reads {PAGE}: 11 characters"


async def test_a_page_without_text_is_trouble() -> None:
    with pytest.raises(Problem, match="no text"):
        await reads(Scripted(ReadResult(PAGE, "", " \n", 2)), PAGE, Clock())


@pytest.mark.parametrize("work", [lambda p: searches(p, Clock()), lambda p: reads(p, PAGE, Clock())])
async def test_an_error_is_told(work: object) -> None:
    assert callable(work)
    with pytest.raises(Problem, match=r"^brave refused the key; see web\.providers\.brave\.key"):
        await work(Scripted(WebError(ErrorKind.AUTH, "brave refused the key")))
