"""The web as an assistant may use it: searching and reading, through a fetcher that reaches no private address."""
