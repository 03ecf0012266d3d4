"""The ring of a real service: its file is read in a thread, its month from the journal on disk."""

from __future__ import annotations

import secrets
from datetime import date, timedelta
from pathlib import Path

import pytest

from mud_assistant.assistant.gateway.keys import KeyLimits, KeyStore, ring_of
from mud_assistant.llm.dialects.failures import FailureKind, RequestRefused
from mud_assistant.resilience import Allowance
from tests.assistant.gateway.keys.rings import HERE
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def test_keys_and_the_days_of_the_month_are_read_and_watched(tmp_path: Path) -> None:
    async with village(tmp_path) as here:
        service = here.service
        await service.parts.ready()
        store = KeyStore(tmp_path / "keys.json")
        day = service.parts.ledger.day
        today = date(1970, 1, 1) + timedelta(day)
        assert today.day > 1, "the village's day is one of those with a day before it in its month"
        spent = {"key:laptop": {"calls": 10, "tokens": 100, "money": 1.0}}
        await service.parts.journal.usage.save_usage({"day": day - 1, "spent": spent})
        wall = service.config.wall()
        full = store.add("laptop", KeyLimits(month=Allowance(calls=10)), wall, secrets.token_bytes)
        other = store.add("other", KeyLimits(month=Allowance(calls=10)), wall, secrets.token_bytes)
        ring = ring_of(service, store)
        await ring.refresh()
        assert ring.admit(other, "small", HERE).accounts[0].allowance == Allowance(calls=10)
        with pytest.raises(RequestRefused) as caught:
            ring.admit(full, "small", HERE)
        assert caught.value.failure.kind is FailureKind.BUDGET
        ring.start()
        store.revoke("other", wall)
        await ring.refresh()
        with pytest.raises(RequestRefused, match="was revoked"):
            ring.admit(other, "small", HERE)
        await ring.stop()
