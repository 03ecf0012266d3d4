"""Resolves keys by reference: settings hold where a key is, never the key."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from assistant.keys.redaction import Secrets
from assistant.keys.sources import KeyReferenceError, Keyring, import_keyring, read_key_file, read_keyring
from resilience import DeadlineExceeded
from resilience.background import in_daemon_thread

#: How long reading a key may take, in seconds. A person may have to unlock it first.
KEY_SECONDS = 60.0

__all__ = ["InThread", "KeyReferenceError", "KeySources", "anchor", "check_reference", "resolve_key"]

#: Does blocking work away from the reactor's thread. Raises DeadlineExceeded, and what the work raises.
InThread = Callable[[Callable[[], str]], Awaitable[str]]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SCHEMES = ("env", "file", "keyring")


@dataclass(frozen=True, slots=True)
class KeySources:
    """Where keys may be, and who must know them to keep them out of sight."""

    environment: Mapping[str, str]
    in_thread: InThread
    #: The folder that a relative path of a key file starts from.
    folder: Path = Path()
    #: Learns every key that is resolved.
    secrets: Secrets = field(default_factory=Secrets)
    #: Returns the keyring. Raises ImportError when there is none. May block.
    open_keyring: Callable[[], Keyring] = import_keyring


#: What to do after the environment was changed; surfaces with a better word for it replace this text.
ANEW = "start the program anew"


def check_reference(reference: str) -> None:
    """Reject a value that is not a key reference. Raises KeyReferenceError, which never repeats it: it may be a key."""
    _split(reference)


def anchor(reference: str, folder: Path) -> str:
    """Return the reference with a relative path of a key file made to start from `folder`."""
    scheme, _, name = reference.partition(":")
    if scheme != "file" or not name or name.startswith("~"):
        return reference
    return f"file:{folder / name}"


async def resolve_key(reference: str, sources: KeySources) -> str:
    """Return the key behind a reference, empty for an empty one. The key is added to the secrets.

    Raises KeyReferenceError. Files and keyrings are read in another thread. Cancelling leaves that thread to end by
    itself.
    """
    if not reference:
        return ""
    scheme, name = _split(reference)
    if scheme == "env":
        key = _variable(name, sources.environment)
    else:
        key = await _read(scheme, name, sources)
    if not (key.isascii() and key.isprintable()):
        raise KeyReferenceError(f"what {reference} leads to is no key: it must be one line of plain characters")
    sources.secrets.add(key)
    return key


async def _read(scheme: str, name: str, sources: KeySources) -> str:
    reading = (
        partial(read_key_file, sources.folder, name)
        if scheme == "file"
        else partial(read_keyring, name, sources.open_keyring)
    )
    try:
        return await sources.in_thread(reading)
    except DeadlineExceeded as error:
        what = "file" if scheme == "file" else "keyring"
        raise KeyReferenceError(
            f"the {what} of {scheme}:{name} did not answer within {error.seconds:g} s; "
            "see whether it waits to be unlocked, or use another way: env:NAME, file:PATH"
        ) from error


def _variable(name: str, environment: Mapping[str, str]) -> str:
    if not (key := environment.get(name, "").strip()):
        raise KeyReferenceError(
            f"the environment has no {name}: the program was started without it; type export {name}=THE_KEY in the "
            f"shell it is started from, and {ANEW}"
        )
    return key


def _split(reference: str) -> tuple[str, str]:
    """Return the scheme and name of a reference. Raises KeyReferenceError."""
    scheme, _, name = reference.partition(":")
    if scheme not in _SCHEMES:
        raise KeyReferenceError(
            "a key is given by reference (env:NAME, file:PATH or keyring:NAME) and never written out: "
            "settings and command lines are seen by others"
        )
    if scheme == "env" and not _VARIABLE.fullmatch(name):
        raise KeyReferenceError("what follows env: must be the name of an environment variable, as in env:MY_KEY")
    if not name.strip() or not name.isprintable():
        what = "the path of a file" if scheme == "file" else "the name of an entry"
        raise KeyReferenceError(f"what follows {scheme}: must be {what}")
    return scheme, name


# Any: the reactor as clock, and for calls from other threads.
def key_sources(reactor: Any, environment: Mapping[str, str], folder: Path, secrets: Secrets) -> KeySources:
    """Return the sources of keys. Keys are read outside the reactor's thread, and are then known to `secrets`."""
    return KeySources(environment, partial(in_daemon_thread, reactor, KEY_SECONDS), folder, secrets)
