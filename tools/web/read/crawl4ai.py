"""Reads pages through the operator's Crawl4AI server, which renders them in a browser (its `md` endpoint, port 11235).

    200, markdown                 the page; an empty one is asked for once more without the filter for main content
    401, 403                      AUTH: the token, unless a 403 speaks of the page or comes from a bot filter
    400, 422                      BAD_REQUEST
    429                           RATE_LIMITED (slowapi, which gives no time)
    500 with a browser's error    BLOCKED_OR_EMPTY (`net::ERR_...`, a failed navigation): the page, not the server
    other 5xx                     SERVER

The server fetches by its own rules, so the page's URL is judged here first. The server's own address is the operator's
and may be on this machine.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from msgspec import Struct
from pydantic import Field

from mud_assistant.llm.messages import JSON
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.read.judging import JUDGING_SECONDS, Judge, page_limits
from mud_assistant.tools.web.search.api import Api, ApiReply, ProviderOptions, Shared
from mud_assistant.tools.web.search.refusals import Refusal, clean_message, refusal, refusal_of
from mud_assistant.tools.web.source.protocol import ReadResult, part_of

_HEADING = re.compile(r"^#{1,2}[ \t]+(\S.*)$", re.MULTILINE)
_OF_THE_PAGE = re.compile(r"net::ERR_|navigat|goto|Timeout \d+ ?ms", re.IGNORECASE)


class Crawl4AISettings(Struct, frozen=True):
    """The operator's settings. `main_content` asks for the filtered text first; `total_seconds` is for one answer."""

    base_url: str = "http://127.0.0.1:11235"
    main_content: bool = True
    total_seconds: float = 45.0


class Crawl4AIOptions(ProviderOptions):
    """What an owner may set, as in `Crawl4AISettings`."""

    main_content: bool = True
    total_seconds: float = Field(default=45.0, ge=1, le=240)


class Crawl4AIReadProvider:
    """Reads pages through a Crawl4AI server."""

    name = "crawl4ai"

    def __init__(self, shared: Shared, judge: Judge, token: str = "", settings: Crawl4AISettings | None = None) -> None:
        self._settings = settings or Crawl4AISettings()
        self._judge = judge
        answers = 2 if self._settings.main_content else 1  # a page without main content is asked for once more
        self.total_seconds = JUDGING_SECONDS + answers * self._settings.total_seconds
        self._api = Api(
            shared,
            self.name,
            self._settings.base_url,
            {"Authorization": f"Bearer {token}"} if token else {},
            secrets=(token,),
            explain=_explain,
            seconds=self._settings.total_seconds,
            limits=page_limits(self._settings.total_seconds),
        )

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        """Return the page's text as the browser shows it. Raises WebError. May be cancelled."""
        await self._judge(url)
        content = await self._markdown(url, "fit") if self._settings.main_content else ""
        content = content or await self._markdown(url, "raw")
        if not content:
            raise self._api.error(ErrorKind.BLOCKED_OR_EMPTY, "got no text from the page")
        heading = _HEADING.search(content)
        title = one_line(heading[1]) if heading else ""
        return part_of(ReadResult(url, title, content, len(content), len(content)), offset, max_length)

    async def _markdown(self, url: str, how: str) -> str:
        """Return the text with this filter, empty when the filter leaves nothing. Raises WebError."""
        reply = await self._api.post("md", {"url": url, "f": how, "q": None, "c": "0"})
        markdown = reply.record.get("markdown")
        if reply.record.get("success") is not True or not isinstance(markdown, str | None):
            raise self._api.error(ErrorKind.PARSE, "answered as no Crawl4AI server does")
        return (markdown or "").strip()


def _explain(reply: ApiReply) -> Refusal:
    """Explain an error in FastAPI's words. A browser's failure with a page is the page's, not the server's."""
    record = reply.record
    message = clean_message(_detail(record.get("detail")) or _detail(record.get("error")))
    if reply.status == HTTPStatus.INTERNAL_SERVER_ERROR and _OF_THE_PAGE.search(message):
        return refusal(reply, f"the page could not be read: {message}", kind=ErrorKind.BLOCKED_OR_EMPTY)
    usual = refusal_of(reply)
    return refusal(reply, message, usual.retry_at) if message else usual


def _detail(detail: JSON) -> str:
    """Return the sentence, or the first of a list of things wrong with the request."""
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        detail = detail[0].get("msg")
    return detail if isinstance(detail, str) else ""
