"""A fake server that reads prompts at a pace, on a Clock."""

from __future__ import annotations

from twisted.internet.task import Clock

from mud_assistant.llm.testing import PromptReader, RecordedRequest

PROMPT = "x" * 400


def asks(*texts: str) -> RecordedRequest:
    return RecordedRequest("POST", "/api/chat", {}, {"messages": [{"content": text} for text in texts]}, b"")


def test_a_prompt_takes_its_time_and_the_next_only_what_is_new() -> None:
    clock, ready = Clock(), list[str]()
    reader = PromptReader(clock, 10)
    reader.begin(asks(PROMPT), lambda: ready.append("first"))
    clock.advance(10)
    assert ready == []
    clock.advance(1)
    assert ready == ["first"]
    reader.begin(asks(PROMPT, "y" * 40), lambda: ready.append("second"))
    clock.advance(2)
    assert ready == ["first", "second"]


def test_what_was_read_of_a_prompt_that_was_given_up_is_known() -> None:
    clock, ready = Clock(), list[str]()
    reader = PromptReader(clock, 10)
    leave = reader.begin(asks(PROMPT), lambda: ready.append("first"))
    clock.advance(8)
    leave()
    leave()
    reader.begin(asks(PROMPT), lambda: ready.append("second"))
    clock.advance(3)
    assert ready == ["second"]
    assert 100 <= reader.tokens_read < 105
    assert clock.getDelayedCalls() == []


def test_prompts_are_read_one_after_the_other() -> None:
    clock, ready = Clock(), list[str]()
    reader = PromptReader(clock, 10)
    reader.begin(asks("a" * 400), lambda: ready.append("a"))
    leave = reader.begin(asks("b" * 400), lambda: ready.append("b"))
    reader.begin(asks("c" * 400), lambda: ready.append("c"))
    leave()
    clock.advance(11)
    assert ready == ["a"]
    clock.advance(11)
    assert ready == ["a", "c"]
