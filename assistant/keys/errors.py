"""Defines what goes wrong with a key."""

from __future__ import annotations


class KeyReferenceError(ValueError):
    """The reference leads to no key; the message says what to do and never holds a key."""
