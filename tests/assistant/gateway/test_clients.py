"""The vendors' own clients, each before every kind of provider: they get the answer that was given."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_twisted

from mud_assistant.llm.testing import Call, Reply
from tests.assistant.gateway.standing import CLIENTS, FAKES, standing

WELL = Reply("The well lies north of the mill, past the old oak.", usage=(21, 12))
LOOKS = Reply("I look.", calls=(Call("look", {"place": "mill"}), Call("look", {"place": "oak"})), usage=(30, 9))
_ENDS = {"chat": "stop", "responses": "completed", "messages": "end_turn", "ollama": "stop"}
_CALLS = {"chat": "tool_calls", "responses": "completed", "messages": "tool_use", "ollama": "stop"}


@pytest.mark.parametrize("provider", FAKES)
@pytest.mark.parametrize("dialect", CLIENTS)
@pytest_twisted.ensureDeferred
async def test_a_client_gets_what_was_answered(tmp_path: Path, dialect: str, provider: str) -> None:
    ask = CLIENTS[dialect]
    async with standing(tmp_path, [WELL, WELL, LOOKS, LOOKS], provider=provider) as gateway:
        for streams in (True, False):
            got = await gateway.in_thread(lambda streams=streams: ask(gateway, streams=streams))  # type: ignore[misc]
            assert (got.text, got.finish, got.usage) == (WELL.text, _ENDS[dialect], (21, 12))
        for streams in (True, False):
            got = await gateway.in_thread(lambda streams=streams: ask(gateway, streams=streams, tools=True))  # type: ignore[misc]
            assert got.calls == (("look", {"place": "mill"}), ("look", {"place": "oak"}))
            assert (got.text, got.finish) == (LOOKS.text, _CALLS[dialect])
    assert {str(asked.body["model"]).removesuffix(":latest") for asked in gateway.fake.chats} == {"sage"}
