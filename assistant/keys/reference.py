"""Resolves keys by reference: settings hold where a key is (env:NAME, file:PATH, keyring:NAME), never the key.

A key file is one that only its owner can read. The desktop's keyring is read through the optional package `keyring`.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import Struct, field

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.resilience import DeadlineExceeded
from mud_assistant.resilience.background import in_daemon_thread

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
#: How long reading a key may take, in seconds. A person may have to unlock it first.
KEY_SECONDS = 60.0
#: What to do after the environment was changed; surfaces with a better word for it replace this text.
ANEW = "start the program anew"
#: Does blocking work away from the reactor's thread. Raises DeadlineExceeded, and what the work raises.
InThread = Callable[[Callable[[], str]], Awaitable[str]]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
#: Begins the path of a key file that the service manager hands over, in a folder that is another for each process.
_CREDENTIALS = "$CREDENTIALS_DIRECTORY/"
_SCHEMES = ("env", "file", "keyring")


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


class KeySources(Struct, frozen=True):
    """Where keys may be, and who must know them to keep them out of sight."""

    environment: Mapping[str, str]
    in_thread: InThread
    #: The folder that a relative path of a key file starts from.
    folder: Path = Path()
    #: Learns every key that is resolved.
    secrets: Secrets = field(default_factory=Secrets)
    #: Returns the keyring. Raises ImportError when there is none. May block.
    open_keyring: Callable[[], Keyring] = import_keyring


def check_reference(reference: str) -> None:
    """Reject a value that is not a key reference. Raises KeyReferenceError, which never repeats it: it may be a key."""
    _split(reference)


def anchor(reference: str, folder: Path) -> str:
    """Return the reference with a relative path of a key file made to start from `folder`."""
    scheme, _, name = reference.partition(":")
    if scheme != "file" or not name or name.startswith(("~", _CREDENTIALS)):
        return reference
    return f"file:{folder / name}"


# Any: the reactor as clock, and for calls from other threads.
def key_sources(reactor: Any, environment: Mapping[str, str], folder: Path, secrets: Secrets) -> KeySources:
    """Return the sources of keys. Keys are read outside the reactor's thread, and are then known to `secrets`."""
    return KeySources(environment, partial(in_daemon_thread, reactor, KEY_SECONDS), folder, secrets)


async def resolve_key(reference: str, sources: KeySources) -> str:
    """Return the key behind a reference, empty for an empty one. The key is added to the secrets.

    Raises KeyReferenceError. Files and keyrings are read in another thread. Cancelling leaves that thread to end by
    itself.
    """
    if not reference:
        return ""
    scheme, name = _split(reference)
    read = _reading(scheme, name, sources)
    return _checked(reference, read() if scheme == "env" else await _read(scheme, name, sources, read), sources)


def read_key(reference: str, sources: KeySources) -> str:
    """Return the key behind a reference as `resolve_key` does, read in the calling thread. Blocks."""
    return _checked(reference, _reading(*_split(reference), sources)(), sources) if reference else ""


def _checked(reference: str, key: str, sources: KeySources) -> str:
    """Return the key, which the secrets learn. Raises KeyReferenceError when it cannot be one."""
    if not (key.isascii() and key.isprintable()):
        raise KeyReferenceError(f"what {reference} leads to is no key: it must be one line of plain characters")
    sources.secrets.add(key)
    return key


def _reading(scheme: str, name: str, sources: KeySources) -> Callable[[], str]:
    """Return what reads the key. All but a variable blocks."""
    if scheme == "env":
        return partial(_variable, name, sources.environment)
    if scheme == "file":
        return partial(read_key_file, sources.folder, _credential(name, sources.environment))
    return partial(read_keyring, name, sources.open_keyring)


async def _read(scheme: str, name: str, sources: KeySources, reading: Callable[[], str]) -> str:
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


def _credential(name: str, environment: Mapping[str, str]) -> str:
    """Return the path with the folder of credentials in place of its variable. Raises KeyReferenceError without one."""
    if not name.startswith(_CREDENTIALS):
        return name
    if not (folder := environment.get("CREDENTIALS_DIRECTORY", "")):
        raise KeyReferenceError(
            f"the environment has no CREDENTIALS_DIRECTORY for file:{name}: start the program from a systemd unit with "
            "LoadCredential=, or set the variable to the folder that holds the file"
        )
    return f"{folder}/{name.removeprefix(_CREDENTIALS)}"


def _path(folder: Path, name: str) -> Path:
    if not hasattr(os, "geteuid"):
        raise KeyReferenceError("this system cannot tell who may read a file: use env:NAME or keyring:NAME for the key")
    try:
        return folder / Path(name).expanduser()
    except RuntimeError as error:
        raise KeyReferenceError(f"there is no home folder for {name}: write the whole path of the key file") from error


def _judge(path: Path, status: os.stat_result) -> None:
    """Check that this is a regular file of this user, closed to all others. Raises KeyReferenceError.

    A file of root may be open for a group to read: so systemd hands over a credential, and an orchestrator a secret.
    """
    for is_kind, kind in _KINDS:
        if is_kind(status.st_mode):
            raise KeyReferenceError(f"{path} is no file but {kind}: put the key into a file")
    if not stat.S_ISREG(status.st_mode):
        raise KeyReferenceError(f"{path} is no file: put the key into a file")
    me = os.geteuid()
    if me and not status.st_uid and not status.st_mode & (stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO):
        return
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
