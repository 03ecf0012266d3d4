"""A model that writes without end is heard as far as that goes, and does not fill the window for good."""

from __future__ import annotations

import pytest

from mud_assistant.llm.testing import Call, Reply
from tests.assistant.living import living

pytestmark = pytest.mark.usefixtures("reactor_baseline")
FLOOD = "I know a word. " + "blah " * 200_000
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))


@pytest.mark.parametrize("provider", ["ollama", "local"])
@pytest.mark.parametrize(
    "flood",
    [
        Reply(FLOOD, chunk_size=65_536),
        Reply(calls=(Call("say", {"text": FLOOD}),), chunk_size=65_536),
        Reply(reasoning=FLOOD, calls=HELLO.calls, chunk_size=65_536),
    ],
    ids=["text", "call", "thought"],
)
async def test_a_megabyte_is_cut_and_the_next_answer_comes(flood: Reply, provider: str) -> None:
    async with living([*[flood] * 4, *[HELLO] * 4], {"may_repeat": True}, provider=provider) as life:
        for _ in range(4):
            await life.say("Sage, tell me all you know")
        await life.say("Sage, hello")
        assert life.witness.failures == []
        assert life.witness.heard[-1] == "Sage: Hello, Ann."
        assert sum(map(len, life.witness.heard)) < 4 * 2 * 1300
        assert len(life.fake.chats[-1].raw) < 100_000
