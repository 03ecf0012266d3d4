"""The file of virtual keys. Commands, pages and servers change it at the same time: each change is made under a lock.

Everything here blocks, but briefly. A change is seen by other processes when they read the file again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from msgspec import DecodeError, Meta, Struct, convert, json
from msgspec.structs import astuple

from mud_assistant.assistant.config.gateway import GatewayConfig
from mud_assistant.assistant.durable import locked, write_whole
from mud_assistant.assistant.gateway.keys.virtual_key import (
    DIGEST_BYTES,
    SALT_BYTES,
    GatewayKeyError,
    KeyLimits,
    VirtualKey,
    check_limits,
    check_name,
    make_key,
)

#: The most bytes of the file: about 40,000 keys.
MAX_BYTES = 16 * 1024 * 1024
_MODE = 0o600

#: What tells two states of a file apart: when it was written, its size, its number. None for no file.
FileState = tuple[int, int, int] | None


def key_store(config: GatewayConfig, folder: Path) -> KeyStore:
    """Return the file of the keys; a relative path starts from the folder of the settings."""
    return KeyStore(folder / Path(config.keys).expanduser())


class StoredKeys(Struct, frozen=True):
    """The keys of a file, those that were revoked too, and the state of the file in which they were read."""

    keys: tuple[VirtualKey, ...] = ()
    state: FileState = None

    def named(self, name: str) -> VirtualKey:
        """Return the key of this name. Raises GatewayKeyError."""
        for key in self.keys:
            if key.name == name:
                return key
        raise GatewayKeyError(f"there is no key {name}" if self.keys else f"there is no key {name}, and no other")


class KeyStore:
    """The file of keys at `path`. Its methods raise GatewayKeyError with a sentence. They block."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def state(self) -> FileState:
        """Return what changes when the file does."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error) from error
        return found.st_mtime_ns, found.st_size, found.st_ino

    def load(self) -> StoredKeys:
        """Return all keys; none when there is no file."""
        state = self.state()  # before the file is read: a change meanwhile is then noticed at the next look
        if state is None:
            return StoredKeys()
        if state[1] > MAX_BYTES:
            raise GatewayKeyError(f"{self.path}: a file of keys has at most {MAX_BYTES} bytes")
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            keys = tuple(one.key() for one in json.decode(data, type=_StoredFile).keys)
        except GatewayKeyError as error:
            raise GatewayKeyError(f"{self.path} is not a file of keys ({error})") from None
        except (DecodeError, ValueError) as error:  # its words may show what stands there
            where = str(error).partition(" - at ")[2]
            raise GatewayKeyError(f"{self.path} is not a file of keys{f' (at {where})' if where else ''}") from None
        if len({key.name for key in keys}) < len(keys) or len({key.id for key in keys}) < len(keys):
            raise GatewayKeyError(f"{self.path} has two keys of one name")
        return StoredKeys(keys, state)

    def add(self, name: str, limits: KeyLimits, wall: float, random_bytes: Callable[[int], bytes]) -> str:
        """Make a key, keep it and return its secret, which is kept nowhere. `wall` is in seconds since 1970."""
        key, secret = make_key(name, limits, wall, random_bytes)

        def with_it(keys: tuple[VirtualKey, ...]) -> tuple[VirtualKey, ...]:
            if any(one.name == name for one in keys):
                raise GatewayKeyError(f"there is a key {name} already, or was one: choose another name")
            return (*keys, key)

        self._change(with_it)
        return secret

    def revoke(self, name: str, wall: float) -> bool:
        """Let a key not be taken any more. Return False when it was revoked before.

        It stays in the file, so that what it used keeps its name and the gateway stays closed.
        """
        was_open = False

        def without_it(keys: tuple[VirtualKey, ...]) -> tuple[VirtualKey, ...]:
            nonlocal was_open
            key = StoredKeys(keys).named(name)
            was_open = key.revoked is None
            return tuple(replace(one, revoked=wall) if one is key and was_open else one for one in keys)

        self._change(without_it)
        return was_open

    def _change(self, change: Callable[[tuple[VirtualKey, ...]], tuple[VirtualKey, ...]]) -> None:
        """Read the keys, change them and write them down, while nobody else does."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.path.with_name(f".{self.path.name}.lock")):
                before = self.load().keys
                after = change(before)
                if after != before:
                    data = json.encode(_StoredFile(keys=tuple(map(_StoredKey.of, after))))
                    write_whole(self.path, json.format(data, indent=1), _MODE)
        except OSError as error:
            raise GatewayKeyError(f"{self.path} cannot be written: {error.strerror}") from error

    def _unreadable(self, error: OSError) -> GatewayKeyError:
        return GatewayKeyError(f"{self.path} cannot be read: {error.strerror}")


class _StoredKey(KeyLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a key stands in the file: beside its limits. Salt and digest are written in base64."""

    name: str
    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{12}\Z")]
    salt: bytes
    digest: bytes
    created: float
    revoked: float | None = None

    @staticmethod
    def of(key: VirtualKey) -> _StoredKey:
        """Return a key in the form of the file."""
        return _StoredKey(
            *astuple(key.limits), name=key.name, id=key.id, salt=key.salt, digest=key.digest, created=key.created,
            revoked=key.revoked,
        )  # fmt: skip

    def key(self) -> VirtualKey:
        """Return the key. Raises GatewayKeyError for what cannot be one."""
        check_name(self.name)
        if (len(self.salt), len(self.digest)) != (SALT_BYTES, DIGEST_BYTES):
            raise GatewayKeyError(f"the hash of {self.name} is damaged")
        limits = convert(self, KeyLimits, from_attributes=True)
        check_limits(limits)
        return VirtualKey(self.name, self.id, self.salt, self.digest, limits, self.created, self.revoked)


class _StoredFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    version: Literal[1] = 1
    keys: tuple[_StoredKey, ...]
