"""Reads a key from a file that only its owner can read."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from pathlib import Path

from assistant.errors import KeyReferenceError

#: The largest key file in bytes; a larger file holds something else.
MAX_BYTES = 8 * 1024

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
        told = _CAUSES.get(error.errno or 0, "the file {path} cannot be read: {why}")
        raise KeyReferenceError(told.format(path=path, why=error.strerror)) from error


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
