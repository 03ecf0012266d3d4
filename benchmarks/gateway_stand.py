"""A whole gateway of ours in this process, before the stub: two models, a key without a narrow limit, no journal."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.canned import MODEL
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.gateway.keys import key_store
from mud_assistant.assistant.gateway.keys.virtual_key import KeyLimits
from mud_assistant.assistant.gateway.running import RunningGateway
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.service.host import ServiceConfig
from mud_assistant.assistant.service.service import AssistantService

#: More than any section asks for.
_WIDE = KeyLimits(in_flight=2000, per_second=100_000)


@dataclass(frozen=True, slots=True)
class Standing:
    """An open gateway: what it is made of, its port, and the secret of its key."""

    service: AssistantService
    gateway: RunningGateway
    port: int
    key: str


def model(url: str, **more: Any) -> dict[str, Any]:
    """The settings of one model of Chat Completions at this address."""
    return {"provider": "local", "model": MODEL, "url": url, "warm": False, **more}


@asynccontextmanager
async def standing(reactor: Any, models: Mapping[str, Mapping[str, Any]], **settings: Any) -> AsyncIterator[Standing]:
    """Open a gateway with these models, and close all of it again. `settings` are those of `[gateway]`."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        config = Config.model_validate({"gateway": {"port": 0, "models": models, **settings}})
        inputs = ServiceConfig(config, folder, {}, time.time, Secrets(), None)  # noqa: TID251  (composition root)
        service = AssistantService(reactor, inputs, Random(1))  # noqa: S311  (jitter)
        service.open()
        key = key_store(config.gateway, folder).add("bench", _WIDE, 0.0, secrets.token_bytes)
        gateway = RunningGateway(service, config.gateway)
        try:
            address = await gateway.open()
            yield Standing(service, gateway, int(address.rpartition(":")[2]), key)
        finally:
            await gateway.close()
            await service.finish()
