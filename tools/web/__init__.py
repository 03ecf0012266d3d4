"""The web as an assistant may use it: searching and reading, through a fetcher that reaches no private address.

The names of the providers stand here, because settings are checked against them in processes that need no provider.
"""

#: In the order in which an owner reads them, those that need no key first. `registry.SEARCH_PROVIDERS` has the same.
SEARCH_PROVIDERS = ("duckduckgo", "tavily", "searxng", "perplexity", "brave")
#: The names in `registry.READ_PROVIDERS`, and three that need more than it gives (`assistant/web/web.py`).
READ_PROVIDERS = ("direct", "jina", "tavily", "crawl4ai")
