"""What the tool `web_search` makes of what models write, and what it tells them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from mud_assistant.tools.testing import now
from mud_assistant.tools.web.cite import WebTurn
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.url import UrlPolicy
from mud_assistant.tools.web.results import OpenPageToolResult, SearchResultItem, WebSearchToolResult
from mud_assistant.tools.web.search.filtering import Domains, FilteredSearch, focus
from mud_assistant.tools.web.source.answers import PageSource, SearchSource
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult, TimeRange
from mud_assistant.tools.web.tools import WebSearchArguments, open_page_tool, web_search_tool
from tests.tools.web.scripted import HIT, Heard, Scripted, ScriptedReader

ADDRESS = "http://127.0.0.1:8888/search is not there, see /etc/searxng/settings.yml; pip install 'mud-assistant[web]'"


async def answer(tool: Any, arguments: dict[str, object], turn: WebTurn | None = None) -> Any:
    class Context:
        web = turn or WebTurn()

    return await tool.execute(tool.arguments.model_validate(arguments), Context())


def told(tool: Any, arguments: dict[str, object], turn: WebTurn | None = None) -> dict[str, Any]:
    """The JSON that the model reads."""
    read: dict[str, Any] = json.loads(now(Deferred.fromCoroutine(answer(tool, arguments, turn))).model_dump_json())
    return read


def test_results_are_told_once_and_hold_no_instruction() -> None:
    result = told(web_search_tool(SearchSource(Scripted("a")), lambda: 0.0), {"query": "lanterns"})
    assert result == {
        "results": [{"citation_id": 1, "title": "A title", "url": "https://example.org/a", "snippet": "words"}]
    }
    whole = now(
        Deferred.fromCoroutine(answer(web_search_tool(SearchSource(Scripted("a")), lambda: 0.0), {"query": "x"}))
    )
    assert whole.model_dump()["sources"] == ["[1] A title (https://example.org/a)"]


def test_the_schema_holds_no_value_to_copy() -> None:
    spec = json.dumps(web_search_tool(SearchSource(Scripted("a")), lambda: 0.0).spec.parameters)
    assert "example" not in spec
    assert ".org" not in spec
    assert ".com" not in spec


@pytest.mark.parametrize(
    ("written", "asked", "bad"),
    [
        (
            ["wikipedia", "a.org", "site:b.org OR x", "", "*.C.org"],
            ("a.org", "c.org"),
            ["wikipedia", "site:b.org OR x"],
        ),
        (["https://docs.a.org/x"], ("docs.a.org",), []),
        (["domain"], (), ["domain"]),
        ("a.org, b.org", ("a.org", "b.org"), []),
        (None, (), []),
        ("", (), []),
        ([None, 3, "a.org"], ("a.org",), []),
        ([f"a{n}.org" for n in range(30)], tuple(f"a{n}.org" for n in range(20)), []),
    ],
)
def test_bad_domains_are_left_out_with_a_note(written: object, asked: tuple[str, ...], bad: list[str]) -> None:
    provider = Scripted("a")
    result = told(web_search_tool(SearchSource(provider), lambda: 0.0), {"query": "x", "allowed_domains": written})
    assert provider.asked[0].allowed_domains == asked
    assert len(result["results"]) == 1
    message = result.get("message", "")
    assert bool(bad) is ("Left out" in message)
    assert all(name in message for name in bad)


@pytest.mark.parametrize("first", [(), WebError(ErrorKind.BLOCKED_OR_EMPTY, "gave nothing")])
def test_domains_on_which_nothing_is_found_are_given_up(first: Any) -> None:
    provider = Scripted("a", first, (HIT,))
    result = told(
        web_search_tool(SearchSource(provider), lambda: 0.0), {"query": "x", "allowed_domains": ["made-up.org"]}
    )
    assert [query.allowed_domains for query in provider.asked] == [("made-up.org",), ()]
    assert len(result["results"]) == 1
    assert result["message"] == "Nothing was found on made-up.org; this is from other sites."


def test_domains_that_the_owner_does_not_allow_are_left_out_with_a_note() -> None:
    hits = (SearchResult("t", "https://a.org/", "s"), SearchResult("t", "https://b.org/", "s"))
    search = FilteredSearch(SearchSource(Scripted("a", hits)), Domains(allowed=("a.org",)))
    tool = web_search_tool(search, lambda: 0.0)
    result = told(tool, {"query": "x", "allowed_domains": ["b.org"]})
    assert [one["url"] for one in result["results"]] == ["https://a.org/"]
    assert "not allowed to search b.org" in result["message"]
    partly = told(tool, {"query": "x", "allowed_domains": ["b.org", "a.org"]})
    assert "not allowed to search b.org" in partly["message"]
    assert "a.org." not in partly["message"]


@pytest.mark.parametrize(
    ("given", "limit", "time_range"),
    [
        ({"limit": 50}, 10, TimeRange.ALL),
        ({"limit": 0, "time_range": "week"}, 1, TimeRange.WEEK),
        ({"limit": None, "time_range": None}, 5, TimeRange.ALL),
        ({"time_range": "any"}, 5, TimeRange.ALL),
        ({"time_range": "M"}, 5, TimeRange.MONTH),
    ],
)
def test_what_is_meant_is_taken(given: dict[str, object], limit: int, time_range: TimeRange) -> None:
    arguments = WebSearchArguments.model_validate({"query": "x", **given})
    assert (arguments.limit, arguments.time_range) == (limit, time_range)


@pytest.mark.parametrize("kind", sorted(ErrorKind))
@pytest.mark.parametrize("blocks", [1, 2])
def test_a_failure_is_told_by_kind_and_provider_and_logged_whole(kind: ErrorKind, blocks: int) -> None:
    error = WebError(kind, f"searxng could not: {ADDRESS}", provider="searxng")
    provider = Scripted("searxng", *[error] * blocks)
    with capturedLogs() as logs:
        failed = Heard(answer(web_search_tool(SearchSource(provider), lambda: 0.0), {"query": "x"})).error
        page_tool = open_page_tool(PageSource(ScriptedReader("jina", error)), UrlPolicy(), 900, lambda: 0.0)
        page = told(page_tool, {"url": "https://example.org/"})
    assert page["status"] == "error"
    for text in (str(failed), page["error"]):
        assert kind is ErrorKind.POLICY or "searxng" in text
        for word in ("127.0.0.1", "http:", "/etc", ".yml", "pip", "8888"):
            assert word not in text
    causes = [event["cause"] for event in logs if event.get("log_event") == "web_failed"]
    assert causes == [] if kind is ErrorKind.POLICY else all(ADDRESS in cause for cause in causes) and len(causes) == 2


def test_empty_fields_of_a_page_are_not_told() -> None:
    assert json.loads(OpenPageToolResult(url="u", content="c", content_length=1).model_dump_json()) == {
        "url": "u",
        "content": "c",
        "content_length": 1,
        "truncated": False,
        "status": "success",
    }
    item = SearchResultItem(citation_id=1, title="t", url="u", snippet="")
    assert json.loads(WebSearchToolResult(results=[item]).model_dump_json()) == {
        "results": [{"citation_id": 1, "title": "t", "url": "u"}]
    }


HITS = (
    SearchResult("Rivers", "https://a.org/1", "The Ouse is 84 kilometres long."),
    SearchResult("Population of Tarn Abbey", "https://a.org/2", "It has 4,310 people. Its mayor is Odo Fennimore."),
    SearchResult("Leeks", "https://a.org/3", "Cook them."),
)


def test_a_focused_turn_shows_what_fits_the_question_best() -> None:
    tool = web_search_tool(SearchSource(Scripted("a", HITS)), lambda: 0.0)
    result = told(tool, {"query": "Who is the mayor of Tarn Abbey?"}, WebTurn(focused=True))
    assert [one["snippet"] for one in result["results"]] == ["Its mayor is Odo Fennimore. It has 4,310 people."]
    assert len(told(tool, {"query": "Who is the mayor of Tarn Abbey?"})["results"]) == 3
    assert focus(HITS, "zebra") == HITS
    velmora = SearchResult("Velmora", "u", "Its capital is Quillhaven, and its currency is the florrin.")
    (velmora,) = focus([velmora], "currency of Velmora")
    assert velmora.snippet == "its currency is the florrin. Its capital is Quillhaven."
    assert focus((), "zebra") == ()


def hits(*hosts: str) -> tuple[SearchResult, ...]:
    return tuple(SearchResult("t", f"https://{host}/{place}", "s") for place, host in enumerate(hosts))


class Ranked(Scripted):
    """Finds as many of its hits as are asked for."""

    def search(self, query: SearchQuery) -> Any:
        return self._cut(query, super().search(query))

    async def _cut(self, query: SearchQuery, found: Any) -> Any:
        return (await found)[: query.limit]


@pytest.mark.parametrize(("blocked", "asks"), [(2, [10]), (8, [10, 20]), (17, [10, 20]), (0, [10])])
def test_the_block_list_does_not_starve_the_answer(blocked: int, asks: list[int]) -> None:
    provider = Ranked("a", hits(*["bad.org"] * blocked, *[f"good{n}.org" for n in range(30 - blocked)]))
    found = Heard(FilteredSearch(SearchSource(provider), Domains(blocked=("bad.org",))).ask(SearchQuery("x"))).value
    assert len(found) == min(5, 20 - blocked)
    assert [query.limit for query in provider.asked] == asks


def test_without_a_filter_no_more_is_asked_for_than_is_shown() -> None:
    provider = Ranked("a", hits(*["good.org"] * 30))
    assert len(Heard(FilteredSearch(SearchSource(provider)).ask(SearchQuery("x"))).value) == 5
    assert [query.limit for query in provider.asked] == [5]


def test_what_was_found_is_shown_when_more_cannot_be_had() -> None:
    provider = Scripted("a", hits("good.org", *["bad.org"] * 9), WebError(ErrorKind.RATE_LIMITED, "too fast"))
    found = Heard(FilteredSearch(SearchSource(provider), Domains(blocked=("bad.org",))).ask(SearchQuery("x"))).value
    assert len(found) == 1
