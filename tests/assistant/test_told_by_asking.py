"""What is told as a question, as news or as a short answer is remembered, and found once the stream has lost it."""

from __future__ import annotations

import pytest

from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from tests.assistant.living import Life, living
from tests.assistant.refusing import BEA
from tests.assistant.test_long_lives import SMALL, is_summary, recalled, tell_tales

pytestmark = pytest.mark.usefixtures("reactor_baseline")
QUESTION = "What is your dog called?"


def curious(request: RecordedRequest) -> Step:
    """Asks back when it hears of a dog or a home."""
    if is_summary(request):
        return Reply("They talked of many things.")
    heard = str(request.messages[-1]["content"])
    said = f"Tale {len(request.messages)} was good."
    if "I have a dog" in heard:
        said = f"How nice. {QUESTION}"
    elif "I moved" in heard:
        said = "Do you live at the harbour now?"
    return Reply(calls=(Call("say", {"text": said}),))


async def memories(life: Life) -> list[str]:
    return [memory.text for memory in await life.assistant.context.memory.memories.about("player:1")]


@pytest.mark.parametrize(
    ("lines", "asked", "found"),
    [
        (["Sage, did you know my brother is called osric?"], "who is my brother?", "my brother is called osric"),
        (["Sage, did you hear i got married?"], "am I married?", "did you hear i got married?"),
        (["Sage, my boat sank last night, have you heard?"], "what became of my boat?", "my boat sank last night"),
        (["Sage, I have a dog now", "Rex."], "do you know the name of my dog?", f'Rex. (asked: "{QUESTION}")'),
        (["Sage, I have a dog now", "He is called Rex"], "is my dog well?", f'He is called Rex (asked: "{QUESTION}")'),
        (
            ["Sage, I moved last week", "Yes."],
            "at which harbour do I live?",
            '(asked: "Do you live at the harbour now?")',
        ),
    ],
)
async def test_it_is_remembered_and_recalled(lines: list[str], asked: str, found: str) -> None:
    async with living(curious, model=SMALL) as life:
        for line in lines:
            await life.say(line)
        assert any(found in text for text in await memories(life))
        await tell_tales(life, 30)
        assert found not in str(life.fake.chats[-1].messages)
        await life.say(f"Sage, {asked}")
        assert found in recalled(life.fake.chats[-1])


@pytest.mark.parametrize("answer", ["I don't know.", "Why do you ask?", "Hm.", "I would rather not say."])
async def test_what_answers_nothing_is_not_remembered_as_an_answer(answer: str) -> None:
    async with living(curious, model=SMALL) as life:
        await life.say("Sage, I have a dog now")
        await life.say(answer)
        assert not any("(asked:" in text for text in await memories(life))


async def test_what_somebody_else_says_is_no_answer_to_what_was_asked_of_one() -> None:
    async with living(curious, model=SMALL) as life:
        await life.say("Sage, I have a dog now")
        bea = life.world.add(BEA)
        await bea.say("Bread and cheese.")
        await life.assistant.settled()
        texts = [memory.text for memory in await life.assistant.context.memory.memories.about(BEA.id)]
        assert texts == ["Bread and cheese."]


async def test_an_answer_goes_with_those_whose_words_are_in_its_question() -> None:
    async with living(curious, model=SMALL) as life:
        bea = life.world.add(BEA)
        await bea.say("Ann, what colour is your boat?")
        await life.ann.say("Bright green.")
        await life.assistant.settled()
        text = 'Bright green. (asked: "Ann, what colour is your boat?")'
        assert text in await memories(life)
        await life.assistant.forget(BEA)
        assert text not in await memories(life)


async def test_an_answer_in_private_stays_private() -> None:
    async with living(curious, model=SMALL) as life:
        await life.whisper("I have a dog now")
        await life.say("Rex.")
        await life.whisper("Rex.")
        known = await life.assistant.context.memory.memories.about("player:1")
        answers = {memory.text: memory.audience for memory in known if "Rex" in memory.text}
        assert answers == {f'Rex. (asked: "{QUESTION}")': frozenset({"player:1"})}
