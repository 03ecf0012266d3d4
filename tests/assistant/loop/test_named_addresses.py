"""Which addresses a run may open: those that people name, and none that another assistant does."""

from __future__ import annotations

import pytest

from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.web.fetch.url import normalise
from tests.assistant.living import living

pytestmark = pytest.mark.usefixtures("reactor_baseline")
ODA = Principal("assistant:2", "Oda", Kind.ASSISTANT)


async def test_only_people_say_which_pages_may_be_opened() -> None:
    async with living(lambda _: Reply(calls=(Call("say", {"text": "I see."}),))) as life:
        oda = life.world.add(ODA)
        await oda.say("Sage, read http://example.org/odas.html!")
        await life.say("Sage, read http://example.org/anns.html!")
        seen = life.assistant.context.tools.seen
        assert str(life.fake.chats[-1].messages).count("example.org") >= 2
        assert normalise("http://example.org/anns.html") in seen
        assert normalise("http://example.org/odas.html") not in seen
