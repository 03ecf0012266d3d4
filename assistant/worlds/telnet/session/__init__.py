"""One connection to a game: logging in, its states, and coming back."""
