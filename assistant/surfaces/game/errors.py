"""The error that ends `mud-assistant game` early."""


class GameError(Exception):
    """The game cannot be made, started or stopped. The message says in one sentence why and what to do."""
