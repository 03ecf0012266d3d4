"""No answer tells a key: neither in a provider's own form of it, nor by pieces in what it says, thinks and wants."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.keys.disguises import KeyPieces
from mud_assistant.assistant.loop.speech.screening import make_discreet
from mud_assistant.llm import FinishReason, LLMResponse, Usage
from mud_assistant.llm.messages import Message, RawTurn, Reasoning, Role, Text, ToolCall

KEY, LONG_KEY = "sk-planted-0123456789", "sk-proj-Ab12Cd34Ef56Gh78Ij90Kl"
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


def part_of(kind: str, piece: str) -> Any:
    """A block that tells a piece of a key in this way."""
    if kind == "thought":
        return Reasoning(piece)
    if kind == "said":
        return Text(piece)
    name, field = kind.split()
    return ToolCall("call.1", name, {field: piece})


@pytest.mark.parametrize("kind", ["said", "thought", "say text", "remember note"])
@pytest.mark.parametrize("length", [4, 8, 10])
def test_a_key_is_not_told_in_pieces(kind: str, length: int) -> None:
    pieces = KeyPieces((LONG_KEY,))
    told = ""
    for at in range(0, len(LONG_KEY), length):
        message = Message(Role.ASSISTANT, (part_of(kind, LONG_KEY[at : at + length]),))
        response = LLMResponse(message, FinishReason.STOP, Usage(), "local", "small")
        [block] = make_discreet(response, lambda text: text, 2000, pieces).message.blocks
        assert isinstance(block, Text | Reasoning | ToolCall)
        told += "".join(map(str, block.arguments.values())) if isinstance(block, ToolCall) else block.text
    assert "[key]" in told
    assert LONG_KEY[-length:] not in told
