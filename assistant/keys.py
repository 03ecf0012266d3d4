"""Keys by reference: settings hold where a key is, never the key."""

from __future__ import annotations

from collections.abc import Mapping


class KeyReferenceError(ValueError):
    """The reference leads to no key; the message says what to do and never holds a key."""


def resolve_key(reference: str, environment: Mapping[str, str]) -> str:
    """The key behind `env:NAME`, empty for an empty reference. Raises KeyReferenceError."""
    if not reference:
        return ""
    scheme, _, name = reference.partition(":")
    if scheme != "env" or not name:
        raise KeyReferenceError("a key is given by reference, as env:NAME, never written out")
    if not (key := environment.get(name, "").strip()):
        raise KeyReferenceError(f"the environment has no {name}; set it, for example with: export {name}=...")
    return key
