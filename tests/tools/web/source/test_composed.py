"""The decorators one in another, as the assistant wires them: allotment, filter, cache, chain, pace, provider."""

from __future__ import annotations

from random import Random

from twisted.internet.task import Clock

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.search.filtering import Domains, FilteredSearch
from mud_assistant.tools.web.source.answers import ErrorInfo, Hits, SearchSource, WebPage
from mud_assistant.tools.web.source.cached import Cached, page_cache, search_cache
from mud_assistant.tools.web.source.first_of import FirstOf
from mud_assistant.tools.web.source.paced import Allotted, HourlyQuota, Paced
from mud_assistant.tools.web.source.state import ProviderState, Rate
from tests.tools.web.scripted import HIT, QUERY, Heard, Scripted, ScriptedReader, error, paced, read_part

URL = "https://example.org/"


def test_two_assistants_share_one_search_and_each_pays_alone() -> None:
    clock, provider = Clock(), Scripted("a", (HIT, HIT))
    state = ProviderState(clock.seconds, Random(1), Rate(burst=1))  # noqa: S311  (jitter)
    cached = Cached(FirstOf([Paced(SearchSource(provider), state, clock)], clock), search_cache(clock))
    own = [HourlyQuota(2, clock.seconds, "searches") for _ in range(2)]
    searches = [Allotted(FilteredSearch(cached, Domains()), quota) for quota in own]
    for search in searches:
        found = Heard(search.ask(QUERY)).value
        assert isinstance(found, Hits)
        assert (list(found), found.served_by) == ([HIT], "a")
    assert len(provider.asked) == 1
    assert [quota.left for quota in own] == [1, 1]
    assert not clock.getDelayedCalls()


def test_a_page_is_paged_through_in_the_text_of_the_reader_that_had_it() -> None:
    clock = Clock()
    direct, jina = ScriptedReader("direct", error(ErrorKind.TIMEOUT, "slow")), ScriptedReader("jina", "abcdefghij")
    chain = FirstOf([paced(direct, clock), paced(jina, clock)], clock)
    allotted = Allotted(Cached(chain, page_cache(clock)), HourlyQuota(9, clock.seconds, "pages"))
    first = Heard(read_part(allotted, URL, max_length=4)).value
    direct.answer = "another text of it"
    clock.advance(1800)
    second = Heard(read_part(allotted, URL, offset=4, max_length=4)).value
    assert (first.content, second.content) == ("abcd", "efgh")
    for part in (first, second):
        assert isinstance(part, WebPage)
        assert (part.served_by, part.failed) == ("jina", (ErrorInfo(ErrorKind.TIMEOUT, "slow", "direct"),))
    assert len(jina.asked) == 1


def test_all_down_is_asked_again_after_half_a_minute() -> None:
    clock, provider = Clock(), Scripted("a", error(ErrorKind.SERVER, "a is in trouble"))
    cached = Cached(FirstOf([paced(provider, clock)], clock), search_cache(clock))
    for _ in range(3):
        assert Heard(cached.ask(QUERY)).error.message == "a is in trouble"
    assert len(provider.asked) == 1
    clock.advance(30)
    assert Heard(cached.ask(QUERY)).kind is ErrorKind.SERVER
    assert len(provider.asked) == 2


def test_a_reason_names_its_provider_once() -> None:
    assert str(ErrorInfo(ErrorKind.SERVER, "a is in trouble", "a")) == "a is in trouble"
    assert str(ErrorInfo(ErrorKind.SERVER, "in trouble", "a")) == "a: in trouble"
    assert str(ErrorInfo(ErrorKind.SERVER, "in trouble")) == "in trouble"


def test_a_chain_in_a_chain_tells_everything() -> None:
    clock = Clock()
    inner = FirstOf([paced(Scripted("b", error(ErrorKind.QUOTA)), clock), paced(Scripted("c"), clock)], clock)
    outer = FirstOf([paced(Scripted("a", error(ErrorKind.SERVER)), clock), paced(inner, clock)], clock)
    found = Heard(outer.ask(QUERY)).value
    assert found.served_by == "c"
    assert [trouble.provider for trouble in found.failed] == ["a", "b"]


def test_a_full_queue_of_ours_keeps_nobody_from_the_next_free_place() -> None:
    clock, provider = Clock(), Scripted("a")
    state = ProviderState(clock.seconds, Random(1), Rate(seconds=2.0, burst=1, queue=1))  # noqa: S311  (jitter)
    chain = FirstOf([Paced(SearchSource(provider), state, clock)], clock)
    heard = [Heard(chain.ask(QUERY)) for _ in range(3)]
    assert [one.done for one in heard] == [True, False, True]
    assert heard[2].kind is ErrorKind.RATE_LIMITED
    clock.advance(2)
    assert list(heard[1].value) == [HIT]
    late = Heard(chain.ask(QUERY))
    clock.advance(2)
    assert list(late.value) == [HIT]


def test_a_time_that_the_provider_named_ends_the_wait_and_the_turn_in_the_chain() -> None:
    clock = Clock()
    provider, other = Scripted("a", None, (HIT,)), Scripted("b")
    state = ProviderState(clock.seconds, Random(1), Rate(seconds=1.0, burst=1))  # noqa: S311  (jitter)
    chain = FirstOf([Paced(SearchSource(provider), state, clock), paced(other, clock)], clock)
    first, waiting = Heard(chain.ask(QUERY)), Heard(chain.ask(QUERY))
    provider.waiting[0].errback(error(ErrorKind.RATE_LIMITED, "slow down", retry_at=60.0))
    assert [one.value.served_by for one in (first, waiting, Heard(chain.ask(QUERY)))] == ["b", "b", "b"]
    assert len(provider.asked) == 1
    clock.advance(60)
    assert Heard(chain.ask(QUERY)).value.served_by == "a"
    assert not clock.getDelayedCalls()


def test_too_fast_without_a_time_is_waited_for_by_who_has_no_other_provider() -> None:
    clock, provider = Clock(), Scripted("a", error(ErrorKind.RATE_LIMITED), (HIT,))
    state = ProviderState(clock.seconds, Random(1), Rate(unsaid_seconds=4.0))  # noqa: S311  (jitter)
    chain = FirstOf([Paced(SearchSource(provider), state, clock)], clock)
    assert Heard(chain.ask(QUERY)).kind is ErrorKind.RATE_LIMITED
    again = Heard(chain.ask(QUERY))
    assert not again.done
    clock.advance(4)
    assert list(again.value) == [HIT]
