"""The tool `web_search`: hits of a search on the web, each with the number to cite it by."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from tools.clean import one_line
from tools.context import ToolContext
from tools.errors import ToolFailed
from tools.tool import Arguments, Category, Tool
from tools.trust import Source
from tools.web.advice import advice, found
from tools.web.citations import footer
from tools.web.errors import WebError
from tools.web.providers import SearchProvider, SearchQuery, TimeRange
from tools.web.results import SearchResultItem, WebSearchToolResult
from tools.web.turn import WebTurn

#: A chain of providers shares this, in seconds.
TIMEOUT_SECONDS = 30.0


class WebSearchArguments(Arguments):
    """What to look for."""

    query: str = Field(min_length=1, max_length=400, description="what to search for, a few words")
    limit: int = Field(default=5, ge=1, le=10, description="how many results")
    allowed_domains: list[str] = Field(
        default_factory=list, max_length=20, description="only these domains, for example: python.org"
    )
    time_range: TimeRange = Field(default=TimeRange.ALL, description="d, w, m or y: not older than that; all: any age")


def web_search_tool(provider: SearchProvider, now: Callable[[], float]) -> Tool:
    """The tool over this provider; `now` gives clock seconds."""

    async def web_search(arguments: WebSearchArguments, context: ToolContext) -> WebSearchToolResult:
        """The hits, or ToolFailed with what to do about it."""
        query = SearchQuery(
            one_line(arguments.query), arguments.limit, tuple(arguments.allowed_domains), arguments.time_range
        )
        try:
            hits = await provider.search(query)
        except WebError as error:
            raise ToolFailed(advice(error, now())) from error
        turn = context.web or WebTurn()
        items = []
        for hit in hits:
            turn.seen.add(hit.url)
            number = turn.citations.number(hit.url, hit.title)
            items.append(SearchResultItem(title=hit.title, url=hit.url, snippet=hit.snippet, citation_id=number))
        named = turn.citations.of(item.citation_id for item in items)
        return WebSearchToolResult(
            results=items, message=found(len(items)), sources=footer(named, most=len(items)).split("\n")[1:]
        )

    return Tool(
        name="web_search",
        description="Search the web. Use it for facts of the world outside the game that you do not know.",
        arguments=WebSearchArguments,
        category=Category.ASYNC_REQUIRED,
        execute=web_search,
        timeout_seconds=TIMEOUT_SECONDS,
        source=Source.WEB,
    )
