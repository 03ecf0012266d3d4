"""Reads a key from where it is kept: a file that only its owner can read, or an entry of the desktop's keyring.

The keyring is read through the optional package `keyring`.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from assistant.errors import KeyReferenceError

#: The largest key file in bytes; a larger file holds something else.
MAX_BYTES = 8 * 1024

#: The service that our entries of the keyring belong to.
SERVICE = "mud-assistant"

_CAUSES = {
    errno.ENOENT: "there is no file {path}: make it, with the key as its only line",
    errno.ENOTDIR: "there is no file {path}: a part of its path is no folder",
    errno.EACCES: "the file {path} cannot be read by this user: see its owner and its folders",
    errno.ELOOP: "the file {path} is a symbolic link that leads back to itself",
    errno.ENXIO: "{path} is no file but a socket: put the key into a file",
}
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_key_file(folder: Path, name: str) -> str:
    """Return the one line of a file; a relative name starts from `folder`. Raises KeyReferenceError. Blocks.

    The opened file is checked, not its name, so that nobody can put another file in its place in between. A symbolic
    link may lead to it.
    """
    path = _path(folder, name)
    try:
        # Not blocking: a pipe without a writer would keep `open` waiting for ever.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            _judge(path, os.fstat(opened))
            with open(opened, "rb", closefd=False) as file:
                return _line(path, file.read(MAX_BYTES + 1))
        finally:
            os.close(opened)
    except OSError as error:
        cause = _CAUSES.get(error.errno or 0, "the file {path} cannot be read: {why}")
        raise KeyReferenceError(cause.format(path=path, why=error.strerror)) from error


def _path(folder: Path, name: str) -> Path:
    if not hasattr(os, "geteuid"):
        raise KeyReferenceError("this system cannot tell who may read a file: use env:NAME or keyring:NAME for the key")
    try:
        return folder / Path(name).expanduser()
    except RuntimeError as error:
        raise KeyReferenceError(f"there is no home folder for {name}: write the whole path of the key file") from error


def _judge(path: Path, status: os.stat_result) -> None:
    """Check that this is a regular file of this user, closed to all others. Raises KeyReferenceError."""
    for is_kind, kind in _KINDS:
        if is_kind(status.st_mode):
            raise KeyReferenceError(f"{path} is no file but {kind}: put the key into a file")
    if not stat.S_ISREG(status.st_mode):
        raise KeyReferenceError(f"{path} is no file: put the key into a file")
    me = os.geteuid()
    if status.st_uid != me:
        raise KeyReferenceError(
            f"the file {path} belongs to user {status.st_uid} and not to the user of this program, {me}: "
            f"change its owner, for example with: chown {me} {shlex.quote(str(path))}"
        )
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyReferenceError(
            f"the file {path} is open to other users of this machine: close it with: chmod 600 {shlex.quote(str(path))}"
        )


def _line(path: Path, data: bytes) -> str:
    """Return the one line of the data. Raises KeyReferenceError."""
    if len(data) > MAX_BYTES:
        raise KeyReferenceError(f"the file {path} is too large for a key: over {MAX_BYTES // 1024} KiB")
    if not data.isascii():  # checked first, because a decoding error would carry the key with it
        raise KeyReferenceError(
            f"the file {path} is no plain text: it must hold the key and nothing else, without a byte order mark"
        )
    text = data.decode().strip()
    if not text:
        raise KeyReferenceError(f"the file {path} is empty: put the key into it, as its only line")
    if len(text.splitlines()) > 1:
        raise KeyReferenceError(f"the file {path} has more than one line: it must hold the key and nothing else")
    return text


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
    key, failed = _ask_keyring(name, open_keyring)
    if failed:  # raised here and not where it was caught, so that it carries no error that may hold the key
        raise KeyReferenceError(failed)
    if not (key := key.strip()):
        raise KeyReferenceError(f"the keyring has no entry {name}: make it with: keyring set {SERVICE} {name}")
    return key


def _ask_keyring(name: str, open_keyring: Callable[[], Keyring]) -> tuple[str, str]:
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
