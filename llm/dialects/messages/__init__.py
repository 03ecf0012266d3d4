"""Anthropic's Messages API, spoken as a server."""
