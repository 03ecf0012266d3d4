"""A line that calls another character, who is not there, is neither answered nor promised in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import Kind, Principal
from tests.assistant.living import reactor
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
ODA = Principal("assistant:2", "Oda", Kind.ASSISTANT)
AWAY = "Sage: Oda is not here."


def answer(request: RecordedRequest) -> Step:
    return Reply(calls=(Call("noop") if request.messages[-1]["role"] == "tool" else Call("say", {"text": "Well."}),))


@pytest.mark.parametrize(
    ("line", "is_away"),
    [
        ("Oda, would you mind the stew every evening?", True),
        ("Hello Oda!", True),
        ("what is for supper, oda?", True),
        ("Mother, is supper ready?", True),
        ("Oda bakes good bread.", False),
        ("Sage, is Oda kind?", False),
        ("Sage, where is Oda?", False),
        ("Is she kind?", False),
    ],
)
async def test_who_is_called_and_not_there_is_told_of(tmp_path: Path, line: str, is_away: bool) -> None:
    model = FakeOllama(reactor, answer)
    async with serve(model, reactor) as url, village(tmp_path) as there:
        settings: dict[str, Any] = {"model": {"provider": "ollama", "url": url, "model": "sage"}}
        sage = there.start({**settings, "assistant": {"join_seconds": 0, "may_repeat": True}})
        body = Embodiment(ODA, there.world.add(ODA, "inn"))
        oda = there.service.start(body, merged({**settings, "assistant": {"aliases": ["Mother"]}}))
        await sage.first_attempt()
        await oda.first_attempt()
        there.says(sage, line)
        await sage.settled()
        assert (there.witness.heard == [AWAY]) is is_away
        assert bool(model.chats) is not is_away
        assert sage.assistant is not None
        assert not sage.assistant.context.memory.goals.all()
        await there.service.stop(ODA.id)
        there.says(sage, line)
        await sage.settled()
        assert there.witness.heard.count(AWAY) == is_away  # nobody is known by that name any more
