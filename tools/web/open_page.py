"""The tool `open_page`: the text of a page of the web, or a part of a long one."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from tools.context import ToolContext
from tools.text.clean import clean_heard, one_line
from tools.tool import Arguments, Category, Tool
from tools.trust import Source
from tools.web.advice import advice, log_failure
from tools.web.cite import WebTurn, turn_of
from tools.web.errors import ErrorKind, WebError
from tools.web.fetch.url import MAX_URL_CHARS, UrlOrigin, UrlPolicy, parse
from tools.web.results import OpenPageToolResult
from tools.web.source.answers import WebPage
from tools.web.source.protocol import WebSource, part_of

#: The seconds a page gets when its readers do not say how long they may take.
TIMEOUT_SECONDS = 45.0


class OpenPageArguments(Arguments):
    """Which page, and which part of it."""

    url: str = Field(
        min_length=1,
        max_length=MAX_URL_CHARS,
        description="the address, exactly as a search result or a person gave it",
    )
    max_length: int | None = Field(default=None, ge=100, le=200_000, description="most characters to read")
    offset: int = Field(
        default=0, ge=0, le=10_000_000, description="where to go on in a long page: a number of characters"
    )


def open_page_tool(
    pages: WebSource[str, WebPage],
    policy: UrlPolicy,
    max_page_length: int,
    now: Callable[[], float],
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Tool:
    """Return the tool that opens `pages`; `now` gives clock seconds. The run that calls it may have less time left."""

    async def open_page(arguments: OpenPageArguments, context: ToolContext) -> OpenPageToolResult:
        """Return the page, or a result that says what is wrong and what to do."""
        turn = turn_of(context)
        try:
            url = _parse_allowed(arguments.url, policy, turn)
            length = min(arguments.max_length or max_page_length, max_page_length)
            page = part_of(await pages.ask(url), arguments.offset, length)
        except WebError as error:
            log_failure("open_page", error)
            shown = one_line(arguments.url, max_chars=200)
            return OpenPageToolResult(url=shown, status="error", error=advice(error, now()))
        number = turn.citations.number(page.url, page.title)
        return OpenPageToolResult(
            citation_id=number,
            url=page.url,
            title=one_line(page.title),
            content=clean_heard(page.content, max_page_length, keep_newlines=True),
            content_length=page.content_length,
            original_length=page.original_length,
            truncated=page.truncated,
            notes=list(page.notes),
        )

    return Tool(
        name="open_page",
        description="Read a page of the web. Only addresses that a search found or a person wrote can be opened.",
        arguments=OpenPageArguments,
        category=Category.ASYNC_REQUIRED,
        execute=open_page,
        timeout_seconds=timeout_seconds,
        source=Source.WEB,
    )


def _parse_allowed(url: str, policy: UrlPolicy, turn: WebTurn) -> str:
    """Return the address in its normal form. Raises WebError when it may not be opened."""
    safe = parse(url.strip(), policy)
    if policy.url_origin is UrlOrigin.SEEN and safe not in turn.seen:
        said = "this address was in no search result and in nobody's words"
        raise WebError(ErrorKind.POLICY, said, told=said)
    return str(safe)
