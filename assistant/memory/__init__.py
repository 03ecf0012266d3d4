"""The memory of an assistant: the stream it has in mind, what it remembers of it, and how that is found again."""
