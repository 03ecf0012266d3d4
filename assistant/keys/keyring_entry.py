"""Reads a key from the keyring of the user's desktop, through the optional package `keyring`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol, cast

from assistant.errors import KeyReferenceError

SERVICE = "mud-assistant"


class Keyring(Protocol):
    """The part of the module `keyring` that is used."""

    def get_password(self, service_name: str, username: str, /) -> str | None:
        """Return the password of a user of a service, None when there is none.

        May block for as long as the owner takes to unlock the keyring.
        """
        ...


def import_keyring() -> Keyring:
    """Return the module. Raises ImportError. Blocks: it looks for what this system has."""
    return cast("Keyring", import_module("keyring"))


def read_keyring(name: str, open_keyring: Callable[[], Keyring]) -> str:
    """Return the key of an entry. Raises KeyReferenceError. Blocks."""
    key, failed = _asked(name, open_keyring)
    if failed:  # raised here and not where it was caught, so that it carries no error that may hold the key
        raise KeyReferenceError(failed)
    if not (key := key.strip()):
        raise KeyReferenceError(f"the keyring has no entry {name}: make it with: keyring set {SERVICE} {name}")
    return key


def _asked(name: str, open_keyring: Callable[[], Keyring]) -> tuple[str, str]:
    """Return what the keyring has, empty for nothing, and why it could not be asked."""
    try:
        return open_keyring().get_password(SERVICE, name) or "", ""
    except ImportError:
        return "", (
            "keyring:NAME needs a package that is not here: pip install 'mud-assistant[keyring]', "
            "or use env:NAME or file:PATH"
        )
    except Exception as error:  # noqa: BLE001  (each system's keyring has errors of its own)
        return "", (
            f"the keyring cannot be read ({type(error).__name__}): it needs a desktop session that is unlocked; "
            "on a server use env:NAME or file:PATH"
        )
