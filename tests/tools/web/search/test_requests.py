"""What each provider sends, field by field."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from mud_assistant.resilience import ConnectionLost
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.search.brave import BraveOptions, BraveSearchProvider
from mud_assistant.tools.web.search.perplexity import PerplexityOptions, PerplexitySearchProvider
from mud_assistant.tools.web.search.searxng import SearxngOptions, SearxngSearchProvider
from mud_assistant.tools.web.search.tavily import TavilyOptions, TavilyProvider
from mud_assistant.tools.web.source.protocol import SearchProvider, SearchQuery, TimeRange
from tests.tools.web.search.calling import KEY, SERVED, Canned, canned, done, failed, shared

SITES = ("Example.org", "wells.example.com", "example.org")
URL = "http://127.0.0.1:8888/base/"


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query, strict_parsing=True).items()}


def asked(provider: type, query: SearchQuery, url: str = "", **options: object) -> tuple[str, dict[str, str]]:
    """URL without its query, and the query, of a GET."""
    exchange = canned({"results": [], "web": {"results": []}})
    done(provider(shared(exchange), KEY, url, **options).search(query))
    (request,) = exchange.asked
    assert request.method == "GET"
    assert request.body == b""
    return request.url.split("?")[0], query_of(request.url)


def test_tavily_with_everything() -> None:
    exchange = canned()
    options = TavilyOptions(search_depth="advanced")
    query = SearchQuery(" village \n well ", 7, SITES, TimeRange.MONTH)
    done(TavilyProvider(shared(exchange), KEY, options=options).search(query))
    (request,), (record,) = exchange.asked, exchange.records
    assert (request.method, request.url) == ("POST", "https://api.tavily.com/search")
    assert request.headers.getRawHeaders("Authorization") == [f"Bearer {KEY}"]
    assert request.headers.getRawHeaders("Content-Type") == ["application/json"]
    assert not request.headers.hasHeader("X-Tavily-Access-Mode")
    assert record == {
        "query": "village well",
        "search_depth": "advanced",
        "max_results": 7,
        "include_domains": ["example.org", "wells.example.com"],
        "include_domains_mode": "restrict",
        "time_range": "month",
        "include_usage": True,
    }


def test_tavily_without_a_key_says_so_and_sends_no_nulls() -> None:
    exchange = canned()
    done(TavilyProvider(shared(exchange)).search(SearchQuery("well")))
    (request,), (record,) = exchange.asked, exchange.records
    assert request.headers.getRawHeaders("X-Tavily-Access-Mode") == ["keyless"]
    assert not request.headers.hasHeader("Authorization")
    assert record == {"query": "well", "search_depth": "basic", "max_results": 5}


def test_perplexity_with_everything() -> None:
    exchange = canned()
    options = PerplexityOptions(max_tokens_per_page=512)
    query = SearchQuery("village well", 7, SITES, TimeRange.DAY)
    done(PerplexitySearchProvider(shared(exchange), KEY, options=options).search(query))
    (request,), (record,) = exchange.asked, exchange.records
    assert (request.method, request.url) == ("POST", "https://api.perplexity.ai/search")
    assert request.headers.getRawHeaders("Authorization") == [f"Bearer {KEY}"]
    assert record == {
        "query": "village well",
        "max_results": 7,
        "max_tokens_per_page": 512,
        "search_context_size": "low",
        "search_domain_filter": ["example.org", "wells.example.com"],
        "search_recency_filter": "day",
    }


def test_perplexity_gets_twenty_domains_at_most_and_a_small_share_of_each_page() -> None:
    exchange = canned()
    many = tuple(f"d{number}.example.org" for number in range(30))
    done(PerplexitySearchProvider(shared(exchange), KEY).search(SearchQuery("well", allowed_domains=many)))
    (record,) = exchange.records
    assert record["search_domain_filter"] == list(many[:20])
    assert record["max_tokens_per_page"] <= 512
    assert "search_recency_filter" not in record


def test_searxng_with_everything() -> None:
    query = SearchQuery("village well", 7, SITES, TimeRange.YEAR)
    url, sent = asked(SearxngSearchProvider, query, URL, options=SearxngOptions(language="en"))
    assert url == "http://127.0.0.1:8888/base/search"
    assert sent == {
        "q": "village well (site:example.org OR site:wells.example.com)",
        "format": "json",
        "pageno": "1",
        "time_range": "year",
        "language": "en",
    }


def test_searxng_never_gets_a_time_range_it_does_not_know() -> None:
    _, sent = asked(SearxngSearchProvider, SearchQuery("well"), URL)
    assert sent == {"q": "well", "format": "json", "pageno": "1"}


def test_brave_with_everything() -> None:
    query = SearchQuery("village well", 7, SITES[:1], TimeRange.WEEK)
    url, sent = asked(BraveSearchProvider, query, options=BraveOptions(country="DE"))
    assert url == "https://api.search.brave.com/res/v1/web/search"
    assert sent == {
        "q": "village well site:example.org",
        "count": "7",
        "text_decorations": "false",
        "freshness": "pw",
        "country": "DE",
    }


def test_braves_key_is_in_its_own_header() -> None:
    exchange = canned({"type": "search"})
    done(BraveSearchProvider(shared(exchange), KEY).search(SearchQuery("well")))
    (request,) = exchange.asked
    assert request.headers.getRawHeaders("X-Subscription-Token") == [KEY]
    assert not request.headers.hasHeader("Authorization")
    assert "freshness" not in query_of(request.url)


@pytest.mark.parametrize(
    ("time_range", "word", "letters"),
    [("d", "day", "pd"), ("w", "week", "pw"), ("m", "month", "pm"), ("y", "year", "py"), ("all", None, None)],
)
def test_each_time_range_has_its_word(time_range: str, word: str | None, letters: str | None) -> None:
    query = SearchQuery("well", time_range=TimeRange(time_range))
    for provider, name in ((TavilyProvider, "time_range"), (PerplexitySearchProvider, "search_recency_filter")):
        exchange = canned()
        done(provider(shared(exchange), KEY).search(query))
        assert exchange.records[0].get(name) == word
    assert asked(SearxngSearchProvider, query, URL)[1].get("time_range") == word
    assert asked(BraveSearchProvider, query)[1].get("freshness") == letters


@pytest.mark.parametrize(("limit", "sent"), [(-3, 1), (0, 1), (20, 20), (500, 20)])
def test_limits_stay_within_what_the_services_take(limit: int, sent: int) -> None:
    query = SearchQuery("well", limit)
    for provider in (TavilyProvider, PerplexitySearchProvider):
        exchange = canned()
        done(provider(shared(exchange), KEY).search(query))
        assert exchange.records[0]["max_results"] == sent
    assert asked(BraveSearchProvider, query)[1]["count"] == str(sent)


@pytest.mark.parametrize(
    "domain",
    ["a.org) OR site:evil.org", "a b.org", "", "http://a.org", "a.org/path", "*", "a..org", "-a.org", "[::1]", "x:80"],
)
@pytest.mark.parametrize("name", sorted(SERVED))
def test_what_is_no_domain_is_refused_before_anything_is_sent(name: str, domain: str) -> None:
    exchange = canned()
    provider = made(name, exchange)
    assert failed(provider.search(SearchQuery("well", allowed_domains=(domain,)))).kind is ErrorKind.BAD_REQUEST
    assert failed(provider.search(SearchQuery(" \n "))).kind is ErrorKind.BAD_REQUEST
    assert exchange.asked == []


@pytest.mark.parametrize("name", sorted(SERVED))
def test_any_text_can_be_searched_for(name: str) -> None:
    exchange = canned({"results": [], "web": {"results": []}})
    done(made(name, exchange).search(SearchQuery('half a pair \ud800 & "quotes" äöü 井戸 %41?#')))
    (request,) = exchange.asked
    assert request.url.isascii()
    words = exchange.records[0]["query"] if request.body else query_of(request.url)["q"]
    assert words == 'half a pair ? & "quotes" äöü 井戸 %41?#'


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.org",
        "http://user:pass@a.org",
        "http://a.org?x=1",
        "http://a.org/#x",
        "http://a.org:99999",
        "http://a.org/\r\nX: y",
        "http:///path",
        "a.org",
        "http://ä.org",
        "",
    ],
)
def test_an_address_that_is_none_is_told_when_the_provider_is_made(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        SearxngSearchProvider(shared(canned()), "", url)


def test_a_key_that_would_break_out_of_its_header_is_refused_without_telling_it() -> None:
    with pytest.raises(ValueError, match="key") as caught:
        BraveSearchProvider(shared(canned()), "abc\r\nX-Evil: 1")
    assert "abc" not in str(caught.value)


def test_an_error_that_breaks_off_is_still_that_error() -> None:
    exchange = Canned(b'{"error": "slow down', 429, {"Retry-After": "3"}, ConnectionLost("cut"))
    error = failed(PerplexitySearchProvider(shared(exchange), KEY).search(SearchQuery("well")))
    assert (error.kind, error.retry_at) == (ErrorKind.RATE_LIMITED, 3)


def made(name: str, exchange: object) -> SearchProvider:
    make, _ = SERVED[name]
    return make(shared(exchange), KEY, URL)  # type: ignore[arg-type]  # a Canned
