"""Entries that strangers wrote, into results: nothing hostile gets through, and nothing raises but a WebError."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import WebError
from mud_assistant.tools.web.fetch.url import web_url
from mud_assistant.tools.web.search.translate import MAX_SNIPPET_CHARS, MAX_TITLE_CHARS, parse_results, without_markup
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult
from tests.effort import times
from tests.tools.web.search.calling import KEY, SERVED, Canned, done, shared

WELL = {"title": "Well", "url": "https://a.example.org/", "content": "deep"}
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["title", "url", "content", "snippet", "description", "href", "body"])
ENTRIES = st.lists(st.dictionaries(FIELDS, JSON_VALUES | st.just("https://a.org/%zz ü"), max_size=7) | JSON_VALUES)


@pytest.mark.parametrize("entry", [None, 3, "x", [], [WELL], {}, {"title": "t"}, {"url": "https://a.org"}])
def test_what_is_no_result_is_skipped(entry: object) -> None:
    assert parse_results([entry, WELL], 5) == [SearchResult("Well", "https://a.example.org/", "deep")]


@pytest.mark.parametrize("value", [None, 3, True, [], {}, "", " \n ", "\u202e\u200b\x07"])
def test_a_title_or_an_address_that_is_none_is_skipped_and_a_snippet_is_empty(value: object) -> None:
    assert parse_results([WELL | {"title": value}], 5) == []
    assert parse_results([WELL | {"url": value}], 5) == []
    assert [result.snippet for result in parse_results([WELL | {"content": value}], 5)] == [""]


@pytest.mark.parametrize("entries", [None, 3, "x", {}, {"results": [WELL]}])
def test_what_is_no_list_holds_nothing(entries: object) -> None:
    assert parse_results(entries, 5) == []


def test_titles_and_snippets_are_cleaned_and_cut() -> None:
    hostile = "\x1b[31mred\x07\u202e\n\n  line two" + "x" * 50_000
    (result,) = parse_results([WELL | {"title": hostile, "content": hostile}], 5)
    assert result.title.startswith("red line two")
    assert result.title.isprintable()
    assert len(result.title) <= MAX_TITLE_CHARS
    assert len(result.snippet) <= MAX_SNIPPET_CHARS


def test_angle_brackets_that_are_no_markup_stay() -> None:
    assert parse_results([WELL | {"title": "List<T> and a < b"}], 5)[0].title == "List<T> and a < b"
    assert without_markup("<b class='x'>a</b> &lt; b <!-- c --> 3 < 4 &amp;amp;") == "a < b  3 < 4 &amp;"


def test_the_same_address_counts_once_and_the_limit_holds() -> None:
    entries = [WELL, WELL | {"title": "again"}, *({"title": "t", "url": f"https://a.org/{n}"} for n in range(9))]
    results = parse_results(entries, 4)
    assert results[0].title == "Well"
    assert [result.url for result in results] == [
        "https://a.example.org/",
        "https://a.org/0",
        "https://a.org/1",
        "https://a.org/2",
    ]


@pytest.mark.parametrize(
    ("given_", "quoted"),
    [
        ("https://a.org/b c", "https://a.org/b%20c"),
        ("https://a.org/ä?q=井戸#ü", "https://a.org/%C3%A4?q=%E4%BA%95%E6%88%B8#%C3%BC"),
        ("https://a.org/%C3%A4?q=a%20b+c&d=e%2Ff", "https://a.org/%C3%A4?q=a%20b+c&d=e%2Ff"),
        ("https://a.org/100%", "https://a.org/100%25"),
        ("https://a.org/%zz", "https://a.org/%25zz"),
        ('https://a.org/"<>{}|^`', "https://a.org/%22%3C%3E%7B%7D%7C%5E%60"),
        ("https://a.org/(x)!$&'*;,=:@", "https://a.org/(x)!$&'*;,=:@"),
        ("HTTPS://A.org/X", "https://A.org/X"),
        (" http://a.org ", "http://a.org"),
    ],
)
def test_addresses_are_quoted_again(given_: str, quoted: str) -> None:
    assert web_url(given_) == quoted
    assert web_url(quoted) == quoted


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "ftp://a.org/",
        "//a.org/",
        "https://",
        "https:///path",
        "https://user@a.org/",
        "https://a.org:99999/",
        "https://a.org:x/",
        "https://[::1/",
        "https://a b.org/",
        "https://a\\b.org/",
        "https://a.org/\r\nHost: b",
        "ht\ttps://a.org/",
        "https://a.org/" + "x" * 3000,
        "https://a.org/" + "ü" * 1500,
    ],
)
def test_what_is_no_web_address_is_dropped(url: str) -> None:
    assert web_url(url) == ""


@given(st.text())
def test_an_address_is_quoted_once_whatever_it_is(text: str) -> None:
    once = web_url(f"https://a.org/{text}")
    assert web_url(once) == once
    assert once.isascii()


@settings(max_examples=times(80))
@given(
    name=st.sampled_from(sorted(SERVED)),  # pytest-twisted wraps a property once more for each parameter
    entries=ENTRIES,
    extra=st.dictionaries(st.text(), JSON_VALUES, max_size=3),
)
def test_any_json_gives_results_or_an_error_of_ours(name: str, entries: Any, extra: dict[str, Any]) -> None:
    record = {
        **extra,
        "results": entries,
        "web": {"results": entries},
        "usage": entries,
        "unresponsive_engines": entries,
    }
    for status in (200, 429, 500):
        for body in (record, entries, {"error": entries, "detail": extra}):
            exchange = Canned(orjson.dumps(body), status)
            make, _ = SERVED[name]
            provider = make(shared(exchange), KEY, "http://127.0.0.1:1")
            try:
                results = done(provider.search(SearchQuery("well")))
            except WebError as error:
                assert one_line(error.message, max_chars=1000) == error.message  # noqa: PT017  (either is right)
            else:
                assert len(results) <= 5
                assert all(result.title.strip() and result.url.isascii() for result in results)
