"""The readers of tool calls in text, one format a file."""
