"""Reads a journal from outside: shows it as a transcript, or runs it again without a network. Writes nothing to it."""

#: The runs that `replay` shows when it is not told how many.
LAST_RUNS = 20
