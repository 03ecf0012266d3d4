"""A household over loopback in the embedded world, for tests: real journal file, real client, a fake model server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from tests.assistant.living import ANN, SAGE, Witness, reactor
from tests.virtual import VirtualReactor


@dataclass
class Village:
    """A household, the world it lives in, and Ann, who listens."""

    service: AssistantService
    world: EmbeddedWorld
    ann: EmbeddedBody
    home: EmbeddedBody
    witness: Witness
    #: Whether Sage's body is here, as far as the game was told.
    is_embodied: bool = False

    def start(self, settings: Mapping[str, Any], entered: str = "") -> AssistantRunner:
        """Sage, started with these settings."""

        def told(*, is_embodied: bool) -> None:
            self.is_embodied = is_embodied

        body = Embodiment(
            SAGE, self.home, enter=lambda _: told(is_embodied=True), leave=lambda _: told(is_embodied=False)
        )
        return self.service.start(body, merged(settings), entered)

    def says(self, runner: AssistantRunner, text: str) -> None:
        """Ann says something to Sage."""
        runner.hear(lambda id_, at: Said(id=id_, at=at, who=ANN, text=text, alone=True))


@asynccontextmanager
async def village(
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    on: Any = reactor,
    process: str = "",
) -> AsyncIterator[Village]:
    """A village whose journal is in `folder`; the household, which lives `on` a reactor, is closed at the end.

    `process` is what others call it where the journal is shared.
    """
    made = ServiceConfig(
        merged(settings or {}),
        folder,
        environment or {},
        lambda: 1_000_000.0,
        Secrets(),
        folder / "journal",
        process=process,
    )
    service = AssistantService(on, made, Random(1))  # noqa: S311  (jitter)
    world, witness = EmbeddedWorld(), Witness()
    home = world.add(SAGE)
    ann = world.add(ANN, listener=witness)
    service.open()
    if isinstance(on, VirtualReactor):
        journal = service.parts.journal
        on.threads += [journal.count_pending, lambda: journal.recall.run(id)]
    try:
        yield Village(service, world, ann, home, witness)
    finally:
        await service.close()
