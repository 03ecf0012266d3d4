"""The names of the providers. Settings are checked against them in processes that need no provider itself."""

from __future__ import annotations

#: In the order in which an owner reads them, those that need no key first. `registry.SEARCH_PROVIDERS` has the same.
SEARCH_PROVIDERS = ("duckduckgo", "tavily", "searxng", "perplexity", "brave")
#: The names in `registry.READ_PROVIDERS`, and three that need more than it gives (`assistant/web/web.py`).
READ_PROVIDERS = ("direct", "jina", "tavily", "crawl4ai")
