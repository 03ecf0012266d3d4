"""Reads a journal from outside: shows it as a transcript, or runs it again without a network. Writes nothing to it."""
