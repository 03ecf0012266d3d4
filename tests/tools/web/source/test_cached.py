"""Asked once, kept whole, cut on the way out."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.source.answers import PageSource, SearchSource
from mud_assistant.tools.web.source.cached import (
    ERROR_SECONDS,
    PAGE_SECONDS,
    SEARCH_SECONDS,
    Cached,
    page_cache,
    search_cache,
    search_key,
)
from mud_assistant.tools.web.source.protocol import WHOLE, SearchQuery, TimeRange
from tests.effort import times
from tests.tools.web.scripted import HIT, QUERY, Heard, Scripted, ScriptedReader, error, read_part

URL = "https://example.org/long"


class CachedSearch:
    """A search provider before a cache."""

    def __init__(self, *answers: object) -> None:
        self.clock = Clock()
        self.provider = Scripted("a", *answers)  # type: ignore[arg-type]  # a test's answers
        self.cache = search_cache(self.clock)
        self.search = Cached(SearchSource(self.provider), self.cache)

    def ask(self, query: SearchQuery = QUERY) -> Heard:
        return Heard(self.search.ask(query))


def test_the_same_question_is_asked_once_for_a_quarter_of_an_hour() -> None:
    cached = CachedSearch()
    cached.ask()
    cached.clock.advance(SEARCH_SECONDS - 1)
    assert list(cached.ask().value) == [HIT]
    assert len(cached.provider.asked) == 1
    cached.clock.advance(2)
    cached.ask()
    assert len(cached.provider.asked) == 2


def test_two_who_ask_at_once_share_one_question() -> None:
    cached = CachedSearch(None)
    one, other = cached.ask(), cached.ask()
    assert len(cached.provider.waiting) == 1
    cached.provider.waiting[0].callback((HIT,))
    assert list(one.value) == list(other.value) == [HIT]


def test_cancelling_leaves_it_to_the_other_and_then_nothing() -> None:
    cached = CachedSearch(None)
    one, other = cached.ask(), cached.ask()
    one.cancel()
    assert isinstance(one.error, CancelledError)
    assert cached.provider.cancelled == 0
    other.cancel()
    assert cached.provider.cancelled == 1
    cached.ask()
    assert len(cached.provider.asked) == 2


def test_an_error_is_kept_for_half_a_minute() -> None:
    cached = CachedSearch(error(ErrorKind.SERVER, "down"), (HIT,))
    first, second = cached.ask(), cached.ask()
    assert first.kind is second.kind is ErrorKind.SERVER
    assert first.error is not second.error
    assert len(cached.provider.asked) == 1
    cached.clock.advance(ERROR_SECONDS)
    assert list(cached.ask().value) == [HIT]


def test_an_error_is_not_kept_longer_than_it_asked_for() -> None:
    cached = CachedSearch(error(ErrorKind.RATE_LIMITED, retry_at=5.0), (HIT,))
    cached.ask()
    cached.clock.advance(4.5)
    assert cached.ask().kind is ErrorKind.RATE_LIMITED
    cached.clock.advance(0.5)
    assert list(cached.ask().value) == [HIT]


def test_a_refusal_by_policy_is_not_kept() -> None:
    cached = CachedSearch(error(ErrorKind.POLICY), (HIT,))
    assert cached.ask().kind is ErrorKind.POLICY
    assert list(cached.ask().value) == [HIT]


def test_new_settings_forget_errors_and_no_answers() -> None:
    cached = CachedSearch(error(ErrorKind.AUTH), (HIT,), error(ErrorKind.AUTH))
    cached.ask()
    cached.cache.forget_errors()
    assert list(cached.ask().value) == [HIT]
    cached.cache.forget_errors()
    assert list(cached.ask().value) == [HIT]


def test_clearing_cancels_what_is_under_way() -> None:
    cached = CachedSearch(None)
    heard = cached.ask()
    cached.cache.clear()
    assert isinstance(heard.error, CancelledError)


@pytest.mark.parametrize(
    "other",
    [
        SearchQuery("lantern"),
        SearchQuery("Lanterns"),
        SearchQuery("lanterns", limit=4),
        SearchQuery("lanterns", allowed_domains=("a.org",)),
        SearchQuery("lanterns", time_range=TimeRange.DAY),
    ],
)
def test_another_question_has_another_key(other: SearchQuery) -> None:
    assert search_key(other) != search_key(QUERY)


def test_two_providers_answers_are_two() -> None:
    cache = search_cache(Clock())
    one, other = Scripted("a"), Scripted("b", ())
    assert list(Heard(Cached(SearchSource(one), cache).ask(QUERY)).value) == [HIT]
    assert list(Heard(Cached(SearchSource(other), cache).ask(QUERY)).value) == []


def test_the_same_question_written_otherwise_has_the_same_key() -> None:
    one = SearchQuery("  caf\u00e9  opens ", allowed_domains=("B.org", "a.org"))
    other = SearchQuery("cafe\u0301 opens", allowed_domains=("*.a.org", "b.org", "b.org"))
    assert search_key(one) == search_key(other)


def test_paging_fetches_once() -> None:
    clock = Clock()
    text = "".join(chr(97 + n % 26) for n in range(1000))
    reader = ScriptedReader("direct", text)
    cached = Cached(PageSource(reader), page_cache(clock))
    parts = [Heard(read_part(cached, URL, offset=at, max_length=300)).value for at in range(0, 1000, 300)]
    assert "".join(part.content for part in parts) == text
    assert [part.truncated for part in parts] == [True, True, True, True]
    assert {part.original_length for part in parts} == {1000}
    assert [part.content_length for part in parts] == [300, 300, 300, 100]
    assert reader.asked == [(URL, 0, WHOLE)]
    assert Heard(read_part(cached, "HTTPS://Example.org:443/long#part")).value.truncated is False
    assert len(reader.asked) == 1
    clock.advance(PAGE_SECONDS + 1)
    Heard(read_part(cached, URL))
    assert len(reader.asked) == 2


def test_the_parts_of_a_page_cut_at_words_are_all_of_it() -> None:
    text = " ".join(f"word{n}" for n in range(300))
    cached = Cached(PageSource(ScriptedReader("r", text)), page_cache(Clock()))
    parts: list[str] = []
    while len("".join(parts)) < len(text):
        parts.append(Heard(read_part(cached, URL, offset=len("".join(parts)), max_length=100)).value.content)
    assert "".join(parts) == text
    assert all(part.endswith(" ") for part in parts[:-1])


def test_two_readers_texts_are_two_pages() -> None:
    cache = page_cache(Clock())
    one, other = (Cached(PageSource(ScriptedReader(name, name)), cache) for name in ("a", "b"))
    assert Heard(read_part(one, URL)).value.content == "a"
    assert Heard(read_part(other, URL)).value.content == "b"


def test_the_oldest_page_goes_when_there_is_no_room() -> None:
    readers = ScriptedReader("r", "x" * 1000)
    cached = Cached(PageSource(readers), page_cache(Clock(), max_bytes=3 * 4700))
    for n in (1, 2, 3, 1, 4, 1, 2):
        Heard(read_part(cached, f"https://e.org/{n}"))
    assert [url[-1] for url, _, _ in readers.asked] == ["1", "2", "3", "4", "2"]


class CacheModel(RuleBasedStateMachine):
    """Pages that change under a cache: whatever is read is of one fetch within the hour, and every part fits."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.reader = ScriptedReader("r", "0")
        self.cached = Cached(PageSource(self.reader), page_cache(self.clock))
        self.kept: dict[str, tuple[str, float]] = {}
        self.failed: dict[str, float] = {}

    @rule(text=st.text("abc", max_size=40))
    def change(self, text: str) -> None:
        self.reader.answer = text

    @rule(kind=st.sampled_from([ErrorKind.SERVER, ErrorKind.POLICY]))
    def break_down(self, kind: ErrorKind) -> None:
        self.reader.answer = error(kind)

    @rule(seconds=st.sampled_from([10.0, 31.0, 1000.0, 3601.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(path=st.sampled_from("pq"), offset=st.integers(-2, 50), length=st.integers(-1, 50))
    def read(self, path: str, offset: int, length: int) -> None:
        now, asked = self.clock.seconds(), len(self.reader.asked)
        heard = Heard(read_part(self.cached, f"https://e.org/{path}", offset=offset, max_length=length))
        text, until = self.kept.get(path, ("", -1.0))
        if now < until:
            assert len(self.reader.asked) == asked
        elif now < self.failed.get(path, -1.0):
            assert (heard.kind, len(self.reader.asked)) == (ErrorKind.SERVER, asked)
            return
        else:
            assert len(self.reader.asked) == asked + 1
            if not isinstance(self.reader.answer, str):
                assert heard.kind is self.reader.answer.kind
                if heard.kind is ErrorKind.SERVER:
                    self.failed[path] = now + ERROR_SECONDS
                return
            text = self.reader.answer
            self.kept[path] = (text, now + PAGE_SECONDS)
        start = max(0, offset)
        expected = text[start : start + max(0, length)]
        page = heard.value
        assert (page.content, page.content_length, page.original_length) == (expected, len(expected), len(text))
        assert page.truncated == (expected != text)

    @invariant()
    def nothing_is_left(self) -> None:
        assert not self.clock.getDelayedCalls()


TestCacheModel = CacheModel.TestCase
TestCacheModel.settings = settings(max_examples=times(24), stateful_step_count=30, deadline=None)
