"""Perplexity Search: raw results instead of its answers; it needs a key."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mud_assistant.llm.messages import JSON
from mud_assistant.tools.web.search.api import CALL_SECONDS, Api, ProviderOptions, Shared
from mud_assistant.tools.web.search.translate import domains_of, parse_results, range_word, text_of
from mud_assistant.tools.web.source.protocol import SearchQuery, SearchResult

URL = "https://api.perplexity.ai"
MAX_RESULTS = 20
MAX_DOMAINS = 20


class PerplexityOptions(ProviderOptions):
    """How much of each page is sent and paid for. The service's own defaults are 4,096 tokens a page and `high`."""

    max_tokens_per_page: int = Field(default=256, ge=16, le=4096)
    search_context_size: Literal["low", "medium", "high"] = "low"


class PerplexitySearchProvider:
    """Searches with Perplexity."""

    def __init__(self, shared: Shared, key: str, url: str = "", options: PerplexityOptions | None = None) -> None:
        self.name = "perplexity"
        self.total_seconds = CALL_SECONDS + 1.0
        self._options = options or PerplexityOptions()
        self._api = Api(shared, self.name, url or URL, {"Authorization": f"Bearer {key}"}, (key,))

    async def search(self, query: SearchQuery) -> list[SearchResult]:
        """Return at most `query.limit` results, 20 at most. Raises WebError.

        Only the first 20 of the allowed domains are searched.
        """
        record: dict[str, JSON] = {
            "query": text_of(query, self.name),
            "max_results": max(1, min(query.limit, MAX_RESULTS)),
            "max_tokens_per_page": self._options.max_tokens_per_page,
            "search_context_size": self._options.search_context_size,
        }
        if domains := domains_of(query, self.name):
            record["search_domain_filter"] = [*domains[:MAX_DOMAINS]]
        if word := range_word(query.time_range):
            record["search_recency_filter"] = word
        reply = await self._api.post("search", record)
        return parse_results(self._api.list_of(reply, "results"), query.limit, snippet="snippet")
