"""The decorators one in another, as the assistant wires them: allotment, filter, cache, chain, pace, provider."""

from __future__ import annotations

from random import Random

from twisted.internet.task import Clock

from tests.tools.web.scripted import HIT, QUERY, Heard, Scripted, ScriptedReader, error
from tools.web.errors import ErrorKind
from tools.web.source.caching import CachedReader, CachedSearch, PageCache, SearchCache
from tools.web.source.chain import ReadChain, SearchChain
from tools.web.source.filtering import Domains, FilteredSearch
from tools.web.source.pacing import Pace, PacedReader, PacedSearch, Rate
from tools.web.source.quota import AllottedReader, AllottedSearch, HourlyQuota
from tools.web.source.served import ErrorInfo, Hits, Page

URL = "https://example.org/"


def test_two_assistants_share_one_search_and_each_pays_alone() -> None:
    clock, provider = Clock(), Scripted("a", (HIT, HIT))
    paced = PacedSearch(provider, Pace("a", clock, Rate(burst=1)))
    cached = CachedSearch(SearchChain([paced], clock, Random(1)), SearchCache(clock))  # noqa: S311
    own = [HourlyQuota(2, clock.seconds, "searches") for _ in range(2)]
    searches = [AllottedSearch(FilteredSearch(cached, Domains()), quota) for quota in own]
    for search in searches:
        found = Heard(search.search(QUERY)).value
        assert isinstance(found, Hits)
        assert (list(found), found.served_by) == ([HIT], "a")
    assert len(provider.asked) == 1
    assert [quota.left for quota in own] == [1, 1]
    assert not clock.getDelayedCalls()


def test_a_page_is_paged_through_in_the_text_of_the_reader_that_had_it() -> None:
    clock = Clock()
    direct, jina = ScriptedReader("direct", error(ErrorKind.TIMEOUT, "slow")), ScriptedReader("jina", "abcdefghij")
    readers = [PacedReader(reader, Pace(reader.name, clock)) for reader in (direct, jina)]
    chain = ReadChain(readers, clock, Random(1))  # noqa: S311
    allotted = AllottedReader(CachedReader(chain, PageCache(clock)), HourlyQuota(9, clock.seconds, "pages"))
    first = Heard(allotted.read_url(URL, max_length=4)).value
    direct.answer = "another text of it"
    clock.advance(1800)
    second = Heard(allotted.read_url(URL, offset=4, max_length=4)).value
    assert (first.content, second.content) == ("abcd", "efgh")
    for part in (first, second):
        assert isinstance(part, Page)
        assert (part.served_by, part.failed) == ("jina", (ErrorInfo(ErrorKind.TIMEOUT, "slow", "direct"),))
    assert len(jina.asked) == 1


def test_all_down_is_asked_again_after_half_a_minute() -> None:
    clock, provider = Clock(), Scripted("a", error(ErrorKind.SERVER, "a is in trouble"))
    cached = CachedSearch(SearchChain([provider], clock, Random(1)), SearchCache(clock))  # noqa: S311
    for _ in range(3):
        assert Heard(cached.search(QUERY)).error.message == "a is in trouble"
    assert len(provider.asked) == 1
    clock.advance(30)
    assert Heard(cached.search(QUERY)).kind is ErrorKind.SERVER
    assert len(provider.asked) == 2


def test_a_reason_names_its_provider_once() -> None:
    assert str(ErrorInfo(ErrorKind.SERVER, "a is in trouble", "a")) == "a is in trouble"
    assert str(ErrorInfo(ErrorKind.SERVER, "in trouble", "a")) == "a: in trouble"
    assert str(ErrorInfo(ErrorKind.SERVER, "in trouble")) == "in trouble"


def test_a_chain_in_a_chain_tells_everything() -> None:
    clock = Clock()
    inner = SearchChain([Scripted("b", error(ErrorKind.QUOTA)), Scripted("c")], clock, Random(1))  # noqa: S311
    outer = SearchChain([Scripted("a", error(ErrorKind.SERVER)), inner], clock, Random(1))  # noqa: S311
    found = Heard(outer.search(QUERY)).value
    assert found.served_by == "c"
    assert [trouble.provider for trouble in found.failed] == ["a", "b"]
