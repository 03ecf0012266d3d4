"""A provider's own form of an answer is dropped when a key stands in it, whatever else does."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.keys.disguises import KeyPieces
from mud_assistant.assistant.loop.speech.screening import make_discreet
from mud_assistant.llm import FinishReason, LLMResponse, Usage
from mud_assistant.llm.messages import Message, RawTurn, Role, Text

KEY = "sk-planted-0123456789"
#: What orjson writes, and what it cannot.
BESIDE = {"usual": "é\n", "number of more than 64 bits": 2**70, "half a pair": "\ud83d", "neither": {1: object()}}


def answer(blocks: tuple[Any, ...]) -> LLMResponse:
    """An answer whose provider kept these blocks of it."""
    message = Message(Role.ASSISTANT, (Text("Hello."),), RawTurn("local", blocks))
    return LLMResponse(message, FinishReason.STOP, Usage(), "local", "small")


def discreet(response: LLMResponse) -> LLMResponse:
    """The answer as it is recorded."""
    return make_discreet(response, lambda text: text.replace(KEY, "[key]"), 2000, KeyPieces(()))


@pytest.mark.parametrize("beside", BESIDE)
def test_it_is_dropped_when_it_holds_a_key(beside: str) -> None:
    found = discreet(answer(({"signature": f"x{KEY}", "beside": BESIDE[beside]},)))
    assert found.message.raw is None
    assert found.content == "Hello."


@pytest.mark.parametrize("beside", BESIDE)
def test_it_stays_without_one(beside: str) -> None:
    response = answer(({"signature": "x", "beside": BESIDE[beside]},))
    assert discreet(response) is response
