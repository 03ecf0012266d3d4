"""One of the processes that share a journal. Pure."""

from __future__ import annotations

import secrets

from msgspec import Struct, field


class JournalProcess(Struct, frozen=True):
    """One process as the others see it. `name` is the same when it is started again, `id` is not."""

    name: str
    address: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    lock_key: int = field(default_factory=lambda: secrets.randbits(62))
