"""A question that tells something, and one that only asks."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.memory.acquaintance.told_questions import only_asks


@pytest.mark.parametrize(
    "line",
    [
        "Did you know my brother is called Osric?", "did you know my brother's called osric?",
        "did you hear i got married?", "Have you heard that the bridge is down?", "Did you hear about my wedding?",
        "Sage, did you know that my sister lives in Dunport?", "Don't you know we moved to the harbour?",
        "Haven't you heard? The miller died.", "did anyone tell you i quit the guild?", "Did you know our ship sank?",
        "Did I tell you I bought the mill?", "Have I told you my cat had kittens?", "You know my dog is called Rex?",
        "My dog is called Rex, did you know?", "I'm a baker, remember?", "Anna got married, did you hear?",
        "Can you believe I won the lottery?", "Isn't it sad that my horse died?",
        "Guess what, I got a dog, isn't it great?",
        "Have you met my wife, Anna?", "Have you seen my dog Rex?", "I need a new sword, do you have one?",
    ],
)  # fmt: skip
def test_it_tells_something(line: str) -> None:
    assert not only_asks(line)


@pytest.mark.parametrize(
    "line",
    [
        "How are you?", "Old Sage, where is the cellar door?", "Do you know my brother?", "Did you know Osric?",
        "Do you know where my brother is?", "Have you seen my cats?", "Have you seen Ann's goats?",
        "Have you heard of Dunport?", "Have you heard about the treasure?", "Do you remember what I told you?",
        "Do you know the man who has the red coat?", "Do you know if the ferry runs?", "Did you hear the bell?",
        "Is my brother called Osric?", "What is my dog called?", "Am I married?", "Where do I live?",
        "I can sleep here?", "I can sleep here, can't I?", "My brother is here, Sage?", "You like tea, don't you?",
        "I wonder, where is the mill?", "Can you tell me where I left my sword?", "It's a nice day, isn't it?",
        "Have you seen my dog, Sage?", "Tell me what you know.",
    ],
)  # fmt: skip
def test_it_only_asks(line: str) -> None:
    assert only_asks(line, {"sage"})
