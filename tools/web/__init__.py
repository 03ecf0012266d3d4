"""The web as an assistant may use it: search and reading, over a fetcher that reaches no private address."""
