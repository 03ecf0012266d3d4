"""A character of the game as the body of an assistant: it sees, speaks and acts."""
