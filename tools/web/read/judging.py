"""Judges a page's URL before it is sent to a remote reader, and sets the limits of such a reader's answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mud_assistant.resilience import Limits
from mud_assistant.tools.web.source.protocol import USUAL_SECONDS, ReadProvider, ReadResult, seconds_of

#: Judges a page's URL by the safe-fetch policy before the URL leaves. Raises WebError of kind POLICY.
Judge = Callable[[str], Awaitable[object]]
#: The most seconds for looking up the host's name, before any request is sent.
JUDGING_SECONDS = 5.0
MAX_PAGE_BYTES = 8 * 1024 * 1024


def page_limits(seconds: float) -> Limits:
    """Return the limits of one answer: a whole page in JSON, and all the time there is until its first byte."""
    return Limits(
        first_byte_seconds=seconds, idle_seconds=seconds, max_body_bytes=MAX_PAGE_BYTES, progress_seconds=seconds
    )


class JudgedReader:
    """A reader that is given only URLs that passed, for services that do not judge URLs themselves (Tavily)."""

    def __init__(self, provider: ReadProvider, judge: Judge) -> None:
        self.name = provider.name
        self._provider = provider
        self._judge = judge
        self.total_seconds = JUDGING_SECONDS + (seconds_of(provider) or USUAL_SECONDS)

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        """Return the provider's page. Raises WebError, of kind POLICY when the URL must not leave. May be cancelled."""
        await self._judge(url)
        return await self._provider.read_url(url, offset=offset, max_length=max_length)
