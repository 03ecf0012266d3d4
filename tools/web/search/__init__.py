"""Search providers, one file for each service (docs/adding-a-search-provider.md)."""
