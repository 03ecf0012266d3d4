"""Why there is no text."""

from __future__ import annotations


class Unreadable(Exception):
    """The page cannot be read; the message is the end of "the page cannot be read: "."""
