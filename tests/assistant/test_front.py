"""The front of the prompt: what a provider keeps cached, and what must never change."""

from __future__ import annotations

import json
from collections import deque

import pytest

from mud_assistant.assistant.characters import preview_card
from mud_assistant.assistant.config.playing import with_character
from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.llm.testing import Call, Reply
from tests.assistant.living import living
from tests.effort import times

RUNS = times(200)
CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Sage",
        "description": "{{char}} wears a {{random:red,green,blue}} coat and has {{roll:d20}} keys.",
        "mes_example": "<START>\n{{user}}: Who are you?\n{{char}}: {{pick:A keeper,A reader}} of books.",
        "character_book": {
            "entries": [
                {"keys": ["vault"], "content": "The vault opens at {{random:dusk,dawn}}.", "enabled": True},
                {"keys": [], "content": "It is year {{roll:d100}}.", "constant": True, "enabled": True},
            ]
        },
    },
}
LINES = (
    "The vault is cold, my brother Piet says, number {number}.",
    "My dog number {number} is called Biscuit.",
    "What do you know of the vault, and of Piet?",
    "What is the name of my dog?",
)


@pytest.mark.slow  # hundreds of runs over a real connection
async def test_hundreds_of_runs_with_lore_and_memories_have_the_same_front() -> None:
    card = json.dumps(CARD).encode()
    character = preview_card(card, assistant="Sage").character
    assert character == preview_card(card, assistant="Sage").character
    part = with_character(AssistantConfig(), character)
    settings = {"persona": part.persona, "voice": part.voice, "may_repeat": True}
    saying = Reply(calls=(Call("say", {"text": "So it is."}),))
    async with living(lambda _: saying, settings, lore=character.lore) as life:
        context = life.assistant.context
        size, fronts, later = (
            len(context.model.window.front.messages),
            set(),
            deque[str](maxlen=8),
        )  # what was cut just now is shown again soon
        for number in range(RUNS):
            await life.say(LINES[number % len(LINES)].format(number=number))
            asked, life.fake.requests = life.fake.chats, []
            for request in asked:
                if "Write the summary" not in str(request.messages[-1]):  # what it asks for itself has another front
                    fronts.add(json.dumps(request.messages[:size]))
                    later.append(json.dumps(request.messages[size:]))
        assert len(fronts) == 1
        assert "{{" not in fronts.pop()
        assert "You remember:" in "".join(later)
        assert "The vault opens at d" in "".join(later)
