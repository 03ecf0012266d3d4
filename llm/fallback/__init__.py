"""Finds tool calls in plain text, for models and servers without native calls."""
