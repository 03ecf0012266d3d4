"""Providers by name from their settings, and the page that shows how to add one."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.resilience import HttpExchange
from mud_assistant.tools import web
from mud_assistant.tools.testing import now
from mud_assistant.tools.web.registry import (
    READ_PROVIDERS,
    SEARCH_PROVIDERS,
    Providers,
    ProviderSettings,
    ProviderSpec,
    make_provider,
)
from mud_assistant.tools.web.search.api import Shared
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult, TimeRange
from tests.tools.web.search.calling import Canned, canned, shared

PAGE = Path(__file__).parents[3] / "docs" / "adding-a-search-provider.md"
NEEDS = ProviderSettings(key="k", url="http://127.0.0.1:1")


def providers(reactor: Any = None, **settings: ProviderSettings) -> Providers:
    return Providers(Shared(Canned() if reactor is None else HttpExchange(reactor), reactor or Clock()), settings)


@pytest.mark.parametrize("name", sorted(SEARCH_PROVIDERS))
def test_each_name_makes_the_provider_of_that_name_once(name: str, reactor: Any) -> None:
    made_once = providers(reactor, **({} if name == "duckduckgo" else {name: NEEDS}))
    provider = made_once.search(name)
    assert provider.name == name
    assert type(provider).__name__.endswith("Provider")
    assert made_once.search(name) is provider
    made_once.close()


def test_settings_are_checked_against_the_names_there_are() -> None:
    assert tuple(SEARCH_PROVIDERS) == web.SEARCH_PROVIDERS
    assert set(READ_PROVIDERS) == set(web.READ_PROVIDERS) - {"direct", "jina", "crawl4ai"}


def test_one_that_reads_too_is_the_same() -> None:
    both = providers()
    search: object = both.search("tavily")
    assert both.read("tavily") is search


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("gopher", ProviderSettings(), "search_provider 'gopher' is unknown; there are brave, duckduckgo, perplexity"),
        ("brave", ProviderSettings(), "brave needs a key"),
        ("perplexity", ProviderSettings(), "perplexity needs a key"),
        ("searxng", ProviderSettings(), "searxng needs the address"),
        ("duckduckgo", ProviderSettings(key="planted"), "duckduckgo takes neither"),
        ("brave", ProviderSettings("k", options={"colour": "secret"}), "no option 'colour'; there are country, search"),
        ("perplexity", ProviderSettings("k", options={"max_tokens_per_page": 9**9}), "'max_tokens_per_page'"),
        ("brave", ProviderSettings("planted\n"), "brave: its key"),
    ],
)
def test_wrong_settings_are_told_without_their_secrets(name: str, settings: ProviderSettings, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        providers(**{name: settings}).search(name)
    assert "planted" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "planted" not in repr(settings)


def test_the_provider_on_the_page_works_as_it_stands() -> None:
    file, line = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = types.ModuleType("example")
    exec(file, module.__dict__)  # noqa: S102  (the page's own example)
    names = module.__dict__ | {"ProviderSpec": ProviderSpec}
    specs: dict[str, ProviderSpec] = eval(f"{{{line}}}", names)  # noqa: S307  (the same)
    exchange = canned({"hits": [{"title": "Well", "link": "https://a.org/1", "text": "deep"}, {"title": None}]})
    settings = ProviderSettings("k", options={"safe": False})
    provider = make_provider("example", specs["example"], settings, shared(exchange))
    query = SearchQuery("well", 3, ("a.org",), TimeRange.WEEK)
    assert now(Deferred.fromCoroutine(provider.search(query))) == [SearchResult("Well", "https://a.org/1", "deep")]
    (request,) = exchange.asked
    assert request.url.startswith("https://api.example.org/v1/find?")
    sent = parse_qs(urlsplit(request.url).query)
    assert sent == {"q": ["well site:a.org"], "n": ["3"], "safe": ["false"], "since": ["week"]}
    assert request.headers.getRawHeaders("Authorization") == ["Bearer k"]


def test_the_page_names_files_that_exist() -> None:
    root = PAGE.parents[1]
    files = set(re.findall(r"\b((?:assistant|tools|llm|resilience|tests)/[\w/]+\.py)\b", PAGE.read_text()))
    assert {name for name in files if not (root / name).exists()} == {"tools/web/search/example.py"}
