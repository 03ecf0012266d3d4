"""READ FIRST: what a virtual key is. Its secret is shown once; what is kept is a salted hash of it."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import blake2b
from hmac import compare_digest

import msgspec

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.resilience import Allowance

#: The name of whoever asks while no key exists. No key may have it.
ANYONE = "anyone"
#: Requests of one key at the same time, and messages in a second, unless said otherwise.
IN_FLIGHT, PER_SECOND = 64, 100
#: The most characters of a note and of the name of a model, and the most models of one key.
_MAX_NOTE, _MAX_MODEL, _MAX_MODELS = 200, 200, 100
_SECRET_BYTES, _ID_BYTES, SALT_BYTES, DIGEST_BYTES = 32, 6, 16, 32
_NAME = re.compile(r"[\w-]{1,40}")
_SECRET = re.compile(r"mak_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


class GatewayKeyError(AssistantError):
    """A virtual key cannot be made, changed or read; the message says why and holds no secret."""


class KeyLimits(msgspec.Struct, frozen=True):
    """What a key may do. Without `models` it may use all; `expires` is the last day, in UTC, on which it is taken."""

    models: tuple[str, ...] = ()
    day: Allowance = msgspec.field(default_factory=Allowance)
    month: Allowance = msgspec.field(default_factory=Allowance)
    in_flight: int = IN_FLIGHT
    per_second: int = PER_SECOND
    expires: date | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class VirtualKey:
    """A key without its secret. `id` is the part of the secret by which it is found.

    `created` and `revoked` are in seconds since 1970.
    """

    name: str
    id: str
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    limits: KeyLimits
    created: float
    revoked: float | None = None

    def is_of(self, secret: str) -> bool:
        """Tell whether this secret is the key's. Takes as long for a wrong one as for the right one."""
        return compare_digest(hash_secret(secret, self.salt), self.digest)

    def trouble(self, wall: float) -> str:
        """Return why the key is not taken at `wall`, in seconds since 1970; empty when it is."""
        if self.revoked is not None:
            return f"the key {self.name} was revoked"
        if self.limits.expires is not None and datetime.fromtimestamp(wall, UTC).date() > self.limits.expires:
            return f"the key {self.name} expired on {self.limits.expires.isoformat()}"
        return ""

    def may_use(self, model: str) -> bool:
        """Tell whether the key may use the model that clients know by this name."""
        return not self.limits.models or model in self.limits.models


def make_key(name: str, limits: KeyLimits, wall: float, random_bytes: Callable[[int], bytes]) -> tuple[VirtualKey, str]:
    """Return a new key and its secret. `random_bytes` must be fit for secrets. Raises GatewayKeyError."""
    check_name(name)
    check_limits(limits)
    id_ = random_bytes(_ID_BYTES).hex()
    secret = f"mak_{id_}_{urlsafe_b64encode(random_bytes(_SECRET_BYTES)).rstrip(b'=').decode()}"
    salt = random_bytes(SALT_BYTES)
    return VirtualKey(name, id_, salt, hash_secret(secret, salt), limits, wall), secret


def hash_secret(secret: str, salt: bytes) -> bytes:
    """Return what is kept of a secret."""
    return blake2b(secret.encode("utf-8", "surrogatepass"), salt=salt, digest_size=DIGEST_BYTES).digest()


def id_in(secret: str) -> str:
    """Return the part by which a key is found; empty when this cannot be the secret of a key."""
    found = _SECRET.fullmatch(secret)
    return found.group(1) if found else ""


def check_name(name: str) -> None:
    """Raise GatewayKeyError when no key can have this name."""
    if _NAME.fullmatch(name) is None:
        raise GatewayKeyError("the name of a key has 1 to 40 letters, digits, _ and -")
    if name.casefold() == ANYONE:
        raise GatewayKeyError(f"{ANYONE} is the name of whoever asks without a key: choose another")


def check_limits(limits: KeyLimits) -> None:
    """Raise GatewayKeyError for limits that no key can have."""
    _check_models(limits.models)
    if len(limits.note) > _MAX_NOTE or not limits.note.isprintable():
        raise GatewayKeyError(f"a note is one line of at most {_MAX_NOTE} characters")
    if limits.in_flight < 1 or limits.per_second < 1:
        raise GatewayKeyError("a key may make at least one request at a time and in a second")


def _check_models(models: Sequence[str]) -> None:
    if len(models) > _MAX_MODELS or not all(0 < len(one) <= _MAX_MODEL and one.isprintable() for one in models):
        raise GatewayKeyError(f"give at most {_MAX_MODELS} names of models, each of 1 to {_MAX_MODEL} characters")
