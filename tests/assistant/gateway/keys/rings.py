"""A ring over a file in a folder, with clocks that a test moves."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.gateway.keys import KeyLimits, KeyRing, KeyStore, StoredKeys
from mud_assistant.assistant.gateway.keys.ring import changed_keys
from mud_assistant.assistant.gateway.keys.spending import KeySpending
from mud_assistant.assistant.service.usage_store import UsageRow
from mud_assistant.llm.dialects.failures import Failure, RequestRefused
from mud_assistant.resilience import Ledger
from tests.assistant.page.desk import run_now

HERE, ELSEWHERE = "127.0.0.1", "192.0.2.7"
NOON = 1_795_348_800.0  # 2026-11-22 12:00 UTC


@dataclass
class Ringing:
    """The ring, its file, its ledger, and what is stored of earlier days."""

    folder: Path
    wall: Clock = field(default_factory=Clock)
    stored: list[UsageRow] = field(default_factory=list)
    trouble: AssistantError | None = None

    def __post_init__(self) -> None:
        self.wall.advance(NOON)
        self.store = KeyStore(self.folder / "keys.json")
        self.ledger = Ledger(self.wall.seconds, self.wall.seconds)
        spending = KeySpending(self.ledger, self.wall.seconds, self._usage)
        self.ring = KeyRing(self._read, spending, self.wall, self.wall.seconds)

    async def _read(self, known: StoredKeys | None) -> StoredKeys | None:
        return changed_keys(self.store, known)

    async def _usage(self, days: int) -> Sequence[UsageRow]:
        if self.trouble is not None:
            raise self.trouble
        return self.stored

    def key(self, name: str = "laptop", limits: KeyLimits | None = None) -> str:
        """Make a key, known to the ring; return its secret."""
        secret = self.store.add(name, limits or KeyLimits(), self.wall.seconds(), secrets.token_bytes)
        self.refresh()
        return secret

    def refresh(self) -> None:
        run_now(self.ring.refresh())

    def refused(self, credential: str = "", model: str = "small", address: str = HERE) -> Failure:
        """Why this is not admitted."""
        with pytest.raises(RequestRefused) as caught:
            self.ring.admit(credential, model, address)
        return caught.value.failure
