"""A reader before its fake service on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mud_assistant.resilience import HttpExchange
from mud_assistant.resilience.testing.fault_server import serve
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.search.api import Shared
from mud_assistant.tools.web.source.protocol import ReadProvider
from tests.tools.web.read.fake_readers import FakePage, FakeReader

URL = "https://example.org/page?a=b&c=d%2Fe"
PAGES = {
    URL: FakePage("A page", "# A page\n\nSome words."),
    "https://example.org/app#/route": FakePage("A route", "By a script."),
    "https://example.org/gone": FakePage("Not found", "Unknown.", 404),
    "https://example.org/members": FakePage("No", "Members only.", 403),
    "https://example.org/empty": FakePage("Nothing", " \n"),
}


class Judge:
    """Refuses what it is told to, and remembers what it was asked before."""

    def __init__(self, fake: FakeReader) -> None:
        self._fake = fake
        self.judged: list[tuple[str, int]] = []

    async def __call__(self, url: str) -> None:
        self.judged.append((url, len(self._fake.requests)))
        if "10.0.0.1" in url:
            raise WebError(ErrorKind.POLICY, "a private address")


@asynccontextmanager
async def reading(
    fake: FakeReader, reactor: Any, make: Callable[[Shared, Judge, str], ReadProvider]
) -> AsyncIterator[tuple[ReadProvider, Judge]]:
    exchange, judge = HttpExchange(reactor), Judge(fake)
    try:
        async with serve(fake, reactor) as url:
            yield make(Shared(exchange, reactor), judge, url), judge
    finally:
        await exchange.close()


async def refusal(reader: ReadProvider, url: str = URL) -> WebError:
    try:
        await reader.read_url(url)
    except WebError as error:
        return error
    raise AssertionError("it was read")
