"""What is left of hits, and what is asked for at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.fetch.hosts import is_within, normal_domain
from mud_assistant.tools.web.fetch.url import host_of, normal_url, try_normalise
from mud_assistant.tools.web.search.filtering import (
    MAX_SNIPPET_CHARS,
    MAX_TITLE_CHARS,
    Domains,
    FilteredSearch,
    narrow,
    sift,
)
from mud_assistant.tools.web.source.answers import Hits
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult
from tests.tools.web.scripted import Heard, Scripted


def hit(url: str, title: str = "t", snippet: str = "s") -> SearchResult:
    return SearchResult(title, url, snippet)


@pytest.mark.parametrize(
    ("url", "stays"),
    [
        ("https://example.org/", True),
        ("https://docs.example.org/", True),
        ("https://EXAMPLE.org./", True),
        ("https://notexample.org/", False),
        ("https://example.org.evil.net/", False),
        ("https://evil.net/?example.org", False),
        ("https://example.org@evil.net/", False),
        ("https://evil.net\\@example.org/", False),
        ("https://evil.net#@example.org/", False),
        ("ftp://example.org/", False),
        ("javascript:alert(1)//example.org", False),
        ("//example.org/", False),
        ("https://exam\tple.org/", False),
        ("https://bad.example.org/", False),
        ("https://x.bad.example.org/", False),
        ("https://example.org:99999/", False),
        ("https://[::1/", False),
        ("https:///example.org", False),
        ("", False),
    ],
)
def test_only_the_hosts_asked_for_and_not_blocked(url: str, stays: bool) -> None:
    query = SearchQuery("x", allowed_domains=("example.org",))
    assert bool(sift([hit(url)], query, ["bad.example.org"])) is stays


def test_one_page_is_shown_once_and_only_as_many_as_asked_for() -> None:
    found = [hit("https://a.org/x", "first"), hit("HTTPS://A.org:443/x#part", "second"), hit("https://a.org/X")]
    assert [one.title for one in sift(found, SearchQuery("x"))] == ["first", "t"]
    assert len(sift([hit(f"https://a.org/{n}") for n in range(9)], SearchQuery("x", limit=4))) == 4


def test_texts_are_clean_and_short() -> None:
    (one,) = sift([hit("https://a.org/", "a\n\x1b[31mb" + "c" * 900, "x\u202ey " * 900)], SearchQuery("x"))
    assert one.title.startswith("a bcc")
    assert len(one.title) <= MAX_TITLE_CHARS
    assert len(one.snippet) <= MAX_SNIPPET_CHARS
    assert "\u202e" not in one.snippet
    assert sift([hit("https://a.org/", "\n")], SearchQuery("x"))[0].title == "a.org"


@pytest.mark.parametrize(
    ("asked", "allowed", "blocked", "sent"),
    [
        ((), (), (), ()),
        (("*.A.org", "a.org"), (), (), ("a.org",)),
        ((), ("a.org",), (), ("a.org",)),
        (("docs.a.org", "b.org"), ("a.org",), (), ("docs.a.org",)),
        (("org",), ("a.org",), (), ("a.org",)),
        (("a.org", "x.b.org"), (), ("b.org",), ("a.org",)),
        (("b\u00fccher.example",), (), (), ("xn--bcher-kva.example",)),
    ],
)
def test_the_operators_lists_narrow_what_is_asked(
    asked: tuple[str, ...], allowed: tuple[str, ...], blocked: tuple[str, ...], sent: tuple[str, ...]
) -> None:
    query = narrow(SearchQuery("x", allowed_domains=asked), Domains(allowed, blocked))
    assert query.allowed_domains == sent


@pytest.mark.parametrize("domains", [Domains(allowed=("a.org",)), Domains(blocked=("b.org",))])
def test_nothing_left_to_search_is_a_refusal(domains: Domains) -> None:
    provider = Scripted("a")
    refused = Heard(FilteredSearch(provider, domains).ask(SearchQuery("x", allowed_domains=("b.org",))))
    assert refused.kind is ErrorKind.POLICY
    assert not provider.asked


def test_who_served_stays_known() -> None:
    provider = Scripted("a", Hits((hit("https://a.org/"), hit("nothing")), "b"))
    found = Heard(FilteredSearch(provider).ask(SearchQuery("x"))).value
    assert (len(found), found.served_by) == (1, "b")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://e.org", "http://E.ORG:80/"),
        ("https://e.org/%7euser", "https://e.org/~user"),
        ("https://e.org/a%2fb", "https://e.org/a%2Fb"),
        ("https://e.org/x#top", "https://e.org/x"),
        ("https://b\u00fccher.example/", "https://xn--bcher-kva.example/"),
    ],
)
def test_two_ways_to_write_one_url(one: str, other: str) -> None:
    assert normal_url(one) == normal_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://e.org/", "https://e.org/"),
        ("https://e.org/a", "https://e.org/A"),
        ("https://e.org/a/b", "https://e.org/a%2Fb"),
        ("https://e.org/?a", "https://e.org/?b"),
        ("https://e.org/#!/a", "https://e.org/#!/b"),
        ("https://e.org:8443/", "https://e.org/"),
        ("https://a@e.org/", "https://e.org/"),
    ],
)
def test_two_urls(one: str, other: str) -> None:
    assert normal_url(one) != normal_url(other)


URLS = st.builds("{}{}".format, st.sampled_from(["http://", "https://e.org/", "", "https://e.org:80/%"]), st.text())


@given(URLS)
def test_any_text_has_a_normal_form(url: str) -> None:
    assert normal_url(normal_url(url)) == normal_url(url)
    assert try_normalise(url) is None or host_of(url) == host_of(normal_url(url))


@given(st.text(), st.text())
def test_a_host_is_within_a_domain_or_not(name: str, other: str) -> None:
    host = normal_domain(name)
    assert is_within(host, [host]) is bool(host)
    if host and normal_domain(other):
        assert is_within(f"{other}.{host}", [host])
