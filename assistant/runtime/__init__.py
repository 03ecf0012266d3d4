"""One assistant at work: put together, woken, and settled with the others in its room."""
