"""What an admin types after a key or a model was refused is heeded at once, though nothing was restarted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.llm.testing import HttpError, RecordedRequest, Step, serve
from tests.evennia.office import HELLO, office, ollama, reactor

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


@pytest.mark.parametrize(
    "line",
    [
        "assistant/set Sage/max_steps = 3",
        "assistant/key Sage = env:MY_KEY force",
        "assistant/model Sage = sage",
        "assistant/persona Sage = You are old.",
        "assistant/reload",
    ],
)
@pytest.mark.parametrize("refusal", [HttpError(401, "not paid"), HttpError(404, "model 'sage' not found")])
async def test_it_asks_again_with_the_same_key(tmp_path: Path, line: str, refusal: HttpError) -> None:
    is_mended: list[bool] = []

    def brain(_: RecordedRequest) -> Step:
        return HELLO if is_mended else refusal

    fake = ollama(brain)
    async with office(tmp_path, environment={"MY_KEY": "planted-key-1"}) as here, serve(fake, reactor) as url:
        sage = await here.sage(url)
        ann = here.player("Ann")
        for _ in range(2):
            await here.says(ann, sage, "Sage, hello")
        assert len(fake.chats) == 1
        assert "Sage says" not in "\n".join(ann.heard())
        is_mended.append(True)
        await here.orders(line)
        (character,) = creation.assistants()
        runner = server.runner_of(character)
        assert runner is not None
        await runner.settled()
        assert "Hello there." in "\n".join(ann.heard())
