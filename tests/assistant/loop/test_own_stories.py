"""A capable model is shown what its owner wrote for a line, beside lore and once, and says it in words of its own."""

from __future__ import annotations

from mud_assistant.assistant.characters.character import Topic
from mud_assistant.llm.testing import Call, Reply
from tests.assistant.living import living

MILL = Topic("the mill", ("It burned, {{user}}.", "Ask {{char}}'s ghost."), ("What happened to the mill?",), ("mill",))
RIDDLE = Topic("a riddle", ("What has teeth?",), ("Tell me a riddle.",), answers=("a comb",), reveal="A comb.")
SHOWN = "in your own voice you say of the mill (another each time of those between slashes): It burned, Ann. / Ask Sage"


async def test_it_is_shown_before_the_line_and_no_second_time_while_it_is_in_view() -> None:
    script = [
        Reply(calls=(Call("say", {"text": text}),)) for text in ("Burned down.", "To the last beam.", "Good day.")
    ]
    async with living(script, topics=(MILL, RIDDLE)) as life:
        for line in (
            "Sage, what happened to the mill?",
            "Sage, and is the mill gone?",
            "Sage, I lost my hat at the inn.",
        ):
            await life.say(line)
        first, second, third = (str(request.messages) for request in life.fake.chats)
    assert SHOWN in first
    assert first.index("in your own voice") < first.index("what happened to the mill?")
    assert second.count("in your own voice") == third.count("in your own voice") == 1
    assert life.witness.heard[0] == "Sage: Burned down."


async def test_the_answer_to_a_riddle_is_shown_with_it() -> None:
    async with living([Reply(calls=(Call("say", {"text": "What bites not?"}),))], topics=(MILL, RIDDLE)) as life:
        await life.say("Sage, tell me a riddle!")
        shown = str(life.fake.chats[0].messages)
    assert "(the answer, until it is guessed or given up: a comb)" in shown
    assert "the mill" not in shown
