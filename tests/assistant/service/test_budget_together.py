"""Two services with one journal in PostgreSQL: what one of them spends, the other has no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.loop.spending import TOTAL
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.llm.testing import Call, FakeOllama, Reply, serve
from mud_assistant.tools import Principal
from tests.assistant.living import reactor
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def test_two_services_spend_one_budget(tmp_path: Path, postgres_url: str) -> None:
    fake = FakeOllama(reactor, lambda _: Reply(calls=(Call("say", {"text": "Hello."}),)))
    shared = {"journal": {"url": postgres_url}, "budget": {"total": {"calls": 2}}}
    async with serve(fake, reactor) as url:
        model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False}
        settings = {**shared, "model": model}
        async with village(tmp_path, settings=shared) as here, village(tmp_path, settings=shared) as there:
            sage = here.start(settings)
            other = there.service.start(Embodiment(Principal("33", "Sybil"), there.home), merged(settings))
            for home, runner in ((here, sage), (there, other), (here, sage), (there, other)):
                home.says(runner, "Hello, you there.")
                await runner.settled()
            assert len(fake.chats) == 2
            for home in (here, there):
                assert home.service.parts.ledger.spent(TOTAL).calls == 2
                assert {row.account: row.calls for row in await home.service.usage(1)}[TOTAL] == 2
        async with village(tmp_path, settings=shared) as later:
            await later.service.parts.ready()
            assert later.service.parts.ledger.spent(TOTAL).calls == 2
