"""Reads pages without a third party: the safe fetcher fetches them, the extraction process turns them into text."""

from __future__ import annotations

from collections.abc import Awaitable
from http import HTTPStatus
from typing import Any, Protocol, runtime_checkable

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.extracting.extracted import SENTENCES, Extracted, Flag
from mud_assistant.tools.web.source.protocol import ReadResult, part_of

#: The fetcher's 20 s and the most that extraction takes: 30 s of waiting, 20 s to start, 5 s of work (`ExtractLimits`).
TOTAL_SECONDS = 75.0


class FetchedPage(Protocol):
    """A page from the fetcher. It may have `is_cut`: its body is only the beginning, up to the cap."""

    @property
    def url(self) -> str:
        """The page's address after all redirects."""
        ...

    @property
    def status(self) -> int:
        """The answer's status."""
        ...

    @property
    def content_type(self) -> str:
        """The page's media type."""
        ...

    @property
    def charset(self) -> str:
        """The character set as the server names it; empty when it names none."""
        ...

    @property
    def body(self) -> bytes:
        """The bytes, unpacked."""
        ...


class Fetcher(Protocol):
    """Fetches pages, from public addresses only."""

    def fetch(self, url: str) -> Awaitable[FetchedPage]:
        """Return the page. Raises WebError. May be cancelled."""
        ...


@runtime_checkable
class Follows(Protocol):
    """A fetcher that can go where a page sends its readers by itself."""

    def follow(self, page: Any, reference: str) -> Awaitable[FetchedPage]:  # Any: a page of its own
        """Return the page there, or `page` itself when it leads nowhere else. Raises WebError. May be cancelled."""
        ...


class TextMaker(Protocol):
    """Turns a page into text; `Extractor` is one."""

    def extract(self, body: bytes, content_type: str, charset: str, url: str) -> Awaitable[Extracted]:
        """Return the page's text. Raises WebError. May be cancelled."""
        ...


class DirectReadProvider:
    """The reader that needs no key and no third party."""

    name = "direct"

    def __init__(self, fetcher: Fetcher, extractor: TextMaker, seconds: float = TOTAL_SECONDS) -> None:
        self._fetcher = fetcher
        self._extractor = extractor
        #: Includes fetching, and the wait for a worker that must start and is shared with others.
        self.total_seconds = seconds

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        """Return the page's text from character `offset`, at most `max_length` characters.

        The text is cut after a paragraph where possible. Each call fetches the page; a caller that pages through it
        asks once for the whole (`read_whole`) and cuts it with `part_of`. Raises WebError.
        """
        return part_of(await self.read_whole(url), offset, max_length)

    async def read_whole(self, url: str) -> ReadResult:
        """Return the page's whole text, up to the extraction's own cap. Raises WebError."""
        page = await self._fetcher.fetch(url)
        found = await self._text_of(page)
        while found.refresh and isinstance(self._fetcher, Follows):
            there = await self._fetcher.follow(page, found.refresh)
            if there is page:
                break
            page, found = there, await self._text_of(there)
        if not found.markdown.strip():
            said = "the page holds no text; perhaps scripts make it"
            raise WebError(ErrorKind.PARSE, said, provider=self.name, told=said)
        flags = found.flags | ({Flag.CUT} if getattr(page, "is_cut", False) else frozenset())
        notes = tuple(SENTENCES[flag] for flag in Flag if flag in flags)
        length = len(found.markdown)
        is_cut = bool(flags & {Flag.CUT, Flag.PAGES_LEFT_OUT})
        return ReadResult(page.url, found.title, found.markdown, length, length, is_cut, notes)

    async def _text_of(self, page: FetchedPage) -> Extracted:
        _check_status(page.status)
        return await self._extractor.extract(page.body, page.content_type, page.charset, page.url)


def _check_status(status: int) -> None:
    """Accept the status of a page. Raises WebError for any other."""
    if status < HTTPStatus.BAD_REQUEST:
        return
    kind = ErrorKind.BAD_REQUEST
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        kind = ErrorKind.SERVER
    elif status == HTTPStatus.TOO_MANY_REQUESTS:
        kind = ErrorKind.RATE_LIMITED
    elif status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN, 451}:
        kind = ErrorKind.BLOCKED_OR_EMPTY
    said = f"the page answered with status {status}"
    raise WebError(kind, said, provider=DirectReadProvider.name, told=said)
