"""The providers by name: what settings are checked against in processes that need none of them."""

from __future__ import annotations

#: In the order in which an owner reads them: what needs nothing first. `registry.SEARCH_PROVIDERS` has the same.
SEARCH_PROVIDERS = ("duckduckgo", "tavily", "searxng", "perplexity", "brave")
#: Those of `registry.READ_PROVIDERS`, and the three that need more than it gives (`assistant/web.py`).
READ_PROVIDERS = ("direct", "jina", "tavily", "crawl4ai")
