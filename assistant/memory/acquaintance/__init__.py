"""Whom a character has met, what they told of themselves, and what is told of them before an answer."""
