"""One assistant at work: built from its parts, woken, and settled with the others in its room."""
