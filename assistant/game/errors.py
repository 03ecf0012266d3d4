"""What ends `mud-assistant game` before its time."""


class GameError(Exception):
    """The game cannot be made, started or stopped; the message says in one sentence why and what to do."""
