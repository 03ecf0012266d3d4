"""A listener that says whether it acted: until then a broken answer is asked for again, and never after."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mud_assistant.llm import ActingListener, LLMError, StreamEvent
from mud_assistant.llm.request import acting
from mud_assistant.llm.response import CallDelta, TextDelta
from mud_assistant.llm.testing import Call, EndEarly, Reply, Step
from tests.llm.calling import ASKED, desk
from tests.llm.test_chain import row
from tests.llm.test_client import TOOLS

HELLO = Reply("Hello.")
LOOK = Reply(calls=(Call("look"),))
BROKEN = EndEarly(3, Reply("one two three four"))


class Ears(ActingListener):
    """Hears everything, and acts at the word it waits for."""

    def __init__(self, acts_at: str = "never") -> None:
        self._acts_at = acts_at
        self.attempts: list[bool] = []
        self.heard: list[str] = []

    @property
    def acted(self) -> bool:
        return self._acts_at in "".join(self.heard)

    def begins(self, *, text_is_answer: bool, as_text: bool = False) -> None:
        self.attempts.append(text_is_answer)

    def __call__(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta):
            self.heard.append(event.text)


async def test_an_answer_that_was_only_heard_is_asked_for_again() -> None:
    listener = Ears()
    async with desk([BROKEN, HELLO]) as here:
        assert (await here.client().chat_completion(ASKED, listener=listener)).content == "Hello."
        assert len(here.fake.chats) == 2
    assert len(listener.attempts) == 2
    assert "".join(listener.heard).startswith("one")


async def test_an_answer_that_was_acted_upon_is_not() -> None:
    listener = Ears("one")
    async with desk([BROKEN, HELLO]) as here:
        with pytest.raises(LLMError):
            await here.client().chat_completion(ASKED, listener=listener)
        assert len(here.fake.chats) == 1


@pytest.mark.parametrize(("acts_at", "asked"), [("never", [1, 1]), ("Nobody", [1, 0])])
async def test_nor_is_another_model_asked(acts_at: str, asked: list[int]) -> None:
    async with row([EndEarly(2, Reply("Nobody knows the way."))], [HELLO]) as models:
        try:
            await models.chain.chat_completion(ASKED, listener=Ears(acts_at))
        except LLMError:
            assert acts_at == "Nobody"
        assert models.asked == asked


def test_a_plain_function_acts_by_hearing() -> None:
    heard: list[StreamEvent] = []
    listener = acting(heard.append)
    assert listener is not None
    before = listener.acted
    listener(CallDelta())
    assert (before, listener.acted) == (False, True)
    assert heard == [CallDelta()]
    assert acting(listener) is listener
    assert acting(None) is None


@pytest.mark.parametrize(
    ("before", "is_answer"),
    [
        ([], False),
        ([HELLO], True),
        ([LOOK], False),
        ([HELLO, LOOK], True),
        ([HELLO, Reply("I will look.", calls=LOOK.calls), HELLO], False),
        ([HELLO, Reply('I look: {"name": "look", "arguments": {}}'), HELLO], False),
        ([Reply("Hello.", "The user greets me."), HELLO], False),
    ],
)
async def test_it_learns_whether_the_text_of_a_model_is_its_answer(before: list[Step], *, is_answer: bool) -> None:
    listener = Ears()
    async with desk([*before, HELLO, HELLO]) as here:
        client = here.client()
        for _ in before:
            await client.chat_completion(ASKED, TOOLS)
        await client.chat_completion(ASKED, TOOLS, listener=listener)
        await client.chat_completion(ASKED, listener=listener)
    assert listener.attempts == [is_answer, False]  # without tools nobody knows what the text would be beside


class Doubting(Ears):
    """Ears in whose hearing another call finds out that the text of this model is not its answer."""

    def __init__(self, doubt: Callable[[], None]) -> None:
        super().__init__()
        self._doubt = doubt

    def __call__(self, event: StreamEvent) -> None:
        super().__call__(event)
        self._doubt()


async def test_what_others_learn_meanwhile_counts_for_the_next_attempt() -> None:
    async with desk([HELLO, BROKEN, HELLO]) as here:
        client = here.client()
        await client.chat_completion(ASKED, TOOLS)
        listener = Doubting(lambda: setattr(client.record, "text_alone", False))
        await client.chat_completion(ASKED, TOOLS, listener=listener)
    assert listener.attempts == [True, False]
