"""Executes tool calls: every call gets a result, in order."""
