"""The readers of tool calls in text, one family of formats a file."""
