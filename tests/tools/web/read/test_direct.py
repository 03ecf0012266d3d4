from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mud_assistant.tools.testing import now
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.extracting import Extracted, Extractor, Flag
from mud_assistant.tools.web.read.direct import DirectReadProvider
from mud_assistant.tools.web.source.protocol import ReadProvider, ReadResult


@dataclass(frozen=True)
class Fetched:
    """As the safe fetcher gives it."""

    url: str = "https://h.example/final"
    status: int = 200
    content_type: str = "text/html"
    charset: str = "utf-8"
    body: bytes = b"<p>words"


@dataclass
class Fetches:
    page: Fetched = field(default_factory=Fetched)
    asked: list[str] = field(default_factory=list)

    def fetch(self, url: str) -> Awaitable[Fetched]:
        self.asked.append(url)
        return succeed(self.page)


@dataclass
class Texts:
    found: Extracted = field(default_factory=lambda: Extracted("Title", "One two.\n\nThree four."))
    asked: list[tuple[bytes, str, str, str]] = field(default_factory=list)

    def extract(self, body: bytes, content_type: str, charset: str, url: str) -> Deferred[Extracted]:
        self.asked.append((body, content_type, charset, url))
        return succeed(self.found)


def read(reader: DirectReadProvider, **wishes: int) -> ReadResult:
    return now(Deferred.fromCoroutine(reader.read_url("https://h.example/", **wishes)))


def test_a_page_is_fetched_made_text_and_told_where_it_was_found() -> None:
    fetches, texts = Fetches(), Texts()
    reader: ReadProvider = DirectReadProvider(fetches, texts)
    assert isinstance(reader, DirectReadProvider)
    text = texts.found.markdown
    assert read(reader) == ReadResult("https://h.example/final", "Title", text, len(text), len(text))
    assert texts.asked == [(b"<p>words", "text/html", "utf-8", "https://h.example/final")]


def test_parts_of_the_page_are_cut_from_the_whole() -> None:
    reader = DirectReadProvider(Fetches(), Texts())
    part = read(reader, max_length=12)
    assert (part.content, part.content_length, part.original_length, part.truncated) == ("One two.\n\n", 10, 21, True)
    assert read(reader, offset=10, max_length=12).content == "Three four."


def test_who_keeps_the_whole_fetches_once() -> None:
    fetches = Fetches()
    reader = DirectReadProvider(fetches, Texts())
    page = now(Deferred.fromCoroutine(reader.read_whole("https://h.example/")))
    assert (page.content_length, page.original_length, page.truncated) == (21, 21, False)
    assert fetches.asked == ["https://h.example/"]
    assert read(reader, max_length=1_000_000_000) == page


def test_flags_become_notes_and_a_cut_page_is_truncated() -> None:
    texts = Texts(Extracted("T", "words", frozenset({Flag.WHOLE_BODY, Flag.CUT})))
    page = read(DirectReadProvider(Fetches(), texts))
    assert page.truncated
    assert [note.split()[0] for note in page.notes] == ["No", "The"]
    texts.found = Extracted("T", "words", frozenset({Flag.WHOLE_BODY}))
    assert not read(DirectReadProvider(Fetches(), texts)).truncated


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, ErrorKind.BAD_REQUEST),
        (410, ErrorKind.BAD_REQUEST),
        (401, ErrorKind.BLOCKED_OR_EMPTY),
        (403, ErrorKind.BLOCKED_OR_EMPTY),
        (451, ErrorKind.BLOCKED_OR_EMPTY),
        (429, ErrorKind.RATE_LIMITED),
        (500, ErrorKind.SERVER),
        (503, ErrorKind.SERVER),
    ],
)
def test_what_a_server_says_instead_of_a_page_is_an_error_with_its_status(status: int, kind: ErrorKind) -> None:
    texts = Texts()
    with pytest.raises(WebError, match=str(status)) as caught:
        read(DirectReadProvider(Fetches(Fetched(status=status)), texts))
    assert (caught.value.kind, caught.value.provider, texts.asked) == (kind, "direct", [])


def test_a_page_without_words_is_an_error() -> None:
    with pytest.raises(WebError, match="no text") as caught:
        read(DirectReadProvider(Fetches(), Texts(Extracted("T", " \n"))))
    assert caught.value.kind is ErrorKind.PARSE


def test_errors_of_both_parts_come_through() -> None:
    class Refuses:
        def fetch(self, url: str) -> Awaitable[Fetched]:
            return fail(WebError(ErrorKind.POLICY, "not there"))

    with pytest.raises(WebError, match="not there"):
        read(DirectReadProvider(Refuses(), Texts()))


def test_cancelling_cancels_what_is_under_way() -> None:
    waits: Deferred[Fetched] = Deferred()
    cancelled: list[Any] = []
    waits.addErrback(cancelled.append)

    class Waits:
        def fetch(self, url: str) -> Awaitable[Fetched]:
            return waits

    done = Deferred.fromCoroutine(DirectReadProvider(Waits(), Texts()).read_url("https://h/"))
    done.addErrback(lambda _: None)
    done.cancel()
    assert len(cancelled) == 1


async def test_with_the_real_extractor(reactor: Any) -> None:
    pytest.importorskip("trafilatura")
    extractor = Extractor(reactor, reactor)
    try:
        page = await DirectReadProvider(Fetches(), extractor).read_url("https://h.example/")
        assert (page.content, page.notes != ()) == ("words", True)
    finally:
        await extractor.stop()


@dataclass
class Follows(Fetches):
    """Knows where each page leads."""

    followed: list[str] = field(default_factory=list)

    def follow(self, page: Fetched, reference: str) -> Awaitable[Fetched]:
        self.followed.append(reference)
        return succeed(page if reference == "." else Fetched(url="https://h.example/next", body=b"next"))


@dataclass
class Sends(Texts):
    """Each text in turn."""

    texts: list[Extracted] = field(default_factory=list)

    def extract(self, body: bytes, content_type: str, charset: str, url: str) -> Deferred[Extracted]:
        self.asked.append((body, content_type, charset, url))
        return succeed(self.texts.pop(0))


def test_a_page_that_sends_its_readers_on_is_followed() -> None:
    fetches, texts = Follows(), Sends(texts=[Extracted("", "", refresh="/next"), Extracted("Next", "There.")])
    page = read(DirectReadProvider(fetches, texts))
    assert (page.url, page.title, page.content) == ("https://h.example/next", "Next", "There.")
    assert fetches.followed == ["/next"]
    same = Follows()
    stays = read(DirectReadProvider(same, Sends(texts=[Extracted("", "Here.", refresh=".")])))
    assert (stays.content, same.followed) == ("Here.", ["."])


def test_the_beginning_of_a_page_over_the_cap_has_a_note() -> None:
    @dataclass(frozen=True)
    class Cut(Fetched):
        is_cut: bool = True

    page = read(DirectReadProvider(Fetches(Cut()), Texts()))
    assert page.truncated
    assert page.notes == ("The page is longer than what is read of one; its end is missing.",)
