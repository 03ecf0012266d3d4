"""Reads a journal from outside: as a transcript, or run again without a network. Writes nothing into it."""
