"""The two tools of the web: `web_search` gives hits, each with the number to cite it by, and `open_page` a page's text.

A wrong domain never costs the model its search: a name that is no domain, or that may not be searched, is left out, and
domains on which nothing is found are dropped. A note says so. Of a long page a part can be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace
from pydantic import Field, field_validator

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.tool import Arguments, Category, Tool
from mud_assistant.tools.trust import Source
from mud_assistant.tools.web.cite import WebTurn, footer, turn_of
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.hosts import is_domain, normal_domain
from mud_assistant.tools.web.fetch.url import MAX_URL_CHARS, UrlOrigin, UrlPolicy, parse
from mud_assistant.tools.web.results import (
    NOTHING_FOUND,
    OpenPageToolResult,
    SearchResultItem,
    WebSearchToolResult,
    advice,
    log_failure,
)
from mud_assistant.tools.web.search.filtering import focus
from mud_assistant.tools.web.source.answers import Hits, WebPage
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult, TimeRange, WebSource, part_of

#: The seconds a search gets when its providers do not say how long they may take.
SEARCH_TIMEOUT_SECONDS = 30.0
#: The seconds a page gets when its readers do not say how long they may take.
PAGE_TIMEOUT_SECONDS = 45.0
MAX_DOMAINS = 20
#: Other words that a model may use for a range of time.
_RANGES = {"day": "d", "week": "w", "month": "m", "year": "y", "any": "all", "": "all"}
#: Kinds of error that the domains may have caused.
_MAYBE_THE_DOMAINS = frozenset({ErrorKind.POLICY, ErrorKind.BLOCKED_OR_EMPTY})
_MAX_NAMED = 5


class WebSearchArguments(Arguments):
    """What to look for. No value stands in a description: a small model would copy it."""

    query: str = Field(min_length=1, max_length=400, description="what to search for, a few words")
    limit: int = Field(default=5, ge=1, le=10, description="how many results")
    allowed_domains: list[str] = Field(
        default_factory=list,
        description="leave empty to search everywhere; only when somebody asks for one web site: its domain",
    )
    time_range: TimeRange = Field(default=TimeRange.ALL, description="d, w, m or y: not older than that; all: any age")

    @field_validator("limit", mode="before")
    @classmethod
    def _within_bounds(cls, value: object) -> object:
        return max(1, min(value, 10)) if isinstance(value, int) and not isinstance(value, bool) else value or 5

    @field_validator("allowed_domains", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        """Return the names as a list: from a text with commas, one name, or null; leave out what is not text."""
        names = value.replace(",", " ").split() if isinstance(value, str) else value
        return [name for name in names if isinstance(name, str)] if isinstance(names, list | tuple) else []

    @field_validator("time_range", mode="before")
    @classmethod
    def _in_letters(cls, value: object) -> object:
        if value is None:
            return TimeRange.ALL
        word = value.strip().lower() if isinstance(value, str) else value
        return _RANGES.get(word, word) if isinstance(word, str) else value


def web_search_tool(
    source: WebSource[SearchQuery, Hits], now: Callable[[], float], timeout_seconds: float = SEARCH_TIMEOUT_SECONDS
) -> Tool:
    """Return the tool for this source; `now` gives clock seconds. The run that calls it may have less time left."""

    async def web_search(arguments: WebSearchArguments, context: ToolContext) -> WebSearchToolResult:
        """Return the hits, or raise ToolFailed with what to do about it."""
        domains, bad = _domains(arguments.allowed_domains)
        query = SearchQuery(one_line(arguments.query), arguments.limit, domains, arguments.time_range)
        try:
            hits, note = await _search(source, query)
        except WebError as error:
            log_failure("web_search", error)
            raise ToolFailed(advice(error, now())) from error
        left_out = [f"Left out, because they are no web sites: {_list_names(bad)}."] if bad else []
        notes = [*left_out, *([note] if note else []), *hits.notes]
        turn = turn_of(context)
        return _result_of(focus(hits, query.text) if turn.focused else hits, notes, turn)

    return Tool(
        name="web_search",
        description="Search the web. Use it for facts of the world outside the game.",
        arguments=WebSearchArguments,
        category=Category.ASYNC_REQUIRED,
        execute=web_search,
        timeout_seconds=timeout_seconds,
        source=Source.WEB,
    )


async def _search(source: WebSource[SearchQuery, Hits], query: SearchQuery) -> tuple[Hits, str]:
    """Return the hits, and a note on domains that were dropped to find any. Raises WebError."""
    why = "Nothing was found on"
    try:
        hits = await source.ask(query)
    except WebError as error:
        if error.kind not in _MAYBE_THE_DOMAINS or not query.allowed_domains:
            raise
        why = "It is not allowed to search" if error.kind is ErrorKind.POLICY else why
    else:
        if hits or not query.allowed_domains:
            return hits, ""
    hits = await source.ask(replace(query, allowed_domains=()))
    return hits, f"{why} {_list_names(query.allowed_domains)}; this is from other sites."


def _result_of(hits: Sequence[SearchResult], notes: Sequence[str], turn: WebTurn) -> WebSearchToolResult:
    """Return the result for the model, and note its addresses as shown."""
    items = []
    for hit in hits:
        turn.seen.add(hit.url)
        number = turn.citations.number(hit.url, hit.title)
        items.append(SearchResultItem(citation_id=number, title=hit.title, snippet=hit.snippet, url=hit.url))
    named = turn.citations.of(item.citation_id for item in items)
    message = " ".join([*notes, *([] if items else [NOTHING_FOUND])])
    return WebSearchToolResult(results=items, message=message, sources=footer(named, most=len(items)).split("\n")[1:])


def _domains(written: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the domains among the names, as hosts are compared, and the names that are no domains."""
    names = [name for name in written if name.strip()]
    good = {name: normal_domain(name) for name in names}
    bad = tuple(name for name in names if not is_domain(good[name]))
    domains = dict.fromkeys(good[name] for name in names if name not in bad)
    return tuple(domains)[:MAX_DOMAINS], bad


def _list_names(names: Sequence[str]) -> str:
    return one_line(", ".join(name[:80] for name in names[:_MAX_NAMED]), max_chars=200)


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
    timeout_seconds: float = PAGE_TIMEOUT_SECONDS,
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
