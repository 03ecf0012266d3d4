"""The error that says why a page has no text."""

from __future__ import annotations


class Unreadable(Exception):
    """Raised when a page cannot be read; the message is the end of "the page cannot be read: "."""
