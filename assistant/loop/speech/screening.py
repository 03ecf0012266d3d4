"""Screens a model's answer before it is recorded and said: no key, no more than was asked for, no mere repetition.

An answer only repeats when it is what was just heard, or what the assistant said a moment ago. That is for every model.
`assistant/language/check.py` checks the answers of small models more strictly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial

import orjson
from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.keys.disguises import KeyPieces
from mud_assistant.assistant.language.check import MAX_LIKENESS, is_yes_or_no
from mud_assistant.assistant.language.words import is_like, words_of
from mud_assistant.llm import LLMResponse
from mud_assistant.llm.messages import (
    JSON,
    Block,
    Citation,
    Image,
    Message,
    RawTurn,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)

#: Returns a text with every key replaced.
Scrub = Callable[[str], str]
#: How many of its own last sayings the assistant must not repeat.
KEPT = 4
#: The fewest words of a line whose repetition counts. Shorter lines are greetings, which may be returned.
LEAST_WORDS = 3
#: How many words of a saying are kept.
MOST_WORDS = 80
#: Two sayings, or two questions, of at least this likeness are the same.
SAME = 0.9
#: The argument of each tool that speaks.
SPEECH = {"say": "text", "whisper": "text", "page": "text", "channel": "text"}
#: Verbs of a request to say something.
_TO_SAY = re.compile(
    r"\b(?:say|tell|whisper|repeat|announce|shout|call|cry|sing|recite|read|quote|pass on|page|message|greet|answer)\b",
    re.IGNORECASE,
)


def make_discreet(response: LLMResponse, scrub: Scrub, most: int, pieces: KeyPieces) -> LLMResponse:
    """Replace every key in the answer, and cut every text the model wrote to `most` characters.

    Returns the same object when there was nothing to do. `pieces` knows what was said before, and learns what is said
    now. The cut is needed because the last answers are sent back with every request: a server that ignores the limit
    would fill the window for good. The provider's own form of a turn that held a key is dropped: it may be sealed, and
    can only be replayed unchanged.
    """
    message = response.message
    texts = _texts_of(message.blocks)
    shown = [scrub(text) for text in texts]
    if shown != texts or (message.raw is not None and _holds_key(message.raw, scrub)):
        blocks = tuple(_changed(block, scrub) for block in message.blocks)
        response = replace(response, message=Message(message.role, blocks), structured=None)
    if pieces.values:
        response = _without_pieces(response, pieces)
    if max(map(len, shown), default=0) > most:
        response = _cut(response, most)
    return response


def _without_pieces(response: LLMResponse, pieces: KeyPieces) -> LLMResponse:
    """Remove pieces of keys from what the model thinks, says and asks tools for, in the order of the answer."""
    blocks = tuple(_without_pieces_in(block, pieces) for block in response.message.blocks)
    if blocks == response.message.blocks:
        return response
    return replace(response, message=Message(response.message.role, blocks), structured=None)


def _without_pieces_in(block: Block, pieces: KeyPieces) -> Block:
    match block:
        case Text(text):
            shown = pieces.scrub(text)
            return block if shown == text else replace(block, text=shown)
        case Reasoning(text):
            shown = pieces.scrub(text, "thought")
            return block if shown == text else replace(block, text=shown)
        case ToolCall():
            texts = dict(block.arguments)
            for name, value in texts.items():
                spoken = "text" if name == "text" else "argument"
                texts[name] = scrub_json(value, partial(pieces.scrub, kind=spoken))
            return replace(block, arguments=texts) if _told(texts) != _told(block.arguments) else block
        case _:
            return block


def _told(value: JSON) -> list[str]:
    texts: list[str] = []
    _gather(value, texts)
    return texts


def _holds_key(raw: RawTurn, scrub: Scrub) -> bool:
    try:
        text = orjson.dumps(raw.blocks, default=str).decode()
    except orjson.JSONEncodeError:  # a number of more than 64 bits, half a surrogate pair
        text = json.dumps(raw.blocks, ensure_ascii=False, default=str)
    return scrub(text) != text


def _cut(response: LLMResponse, most: int) -> LLMResponse:
    def cut(text: str) -> str:
        return text[:most]

    message = response.message
    blocks = tuple(
        _changed(block, cut) if isinstance(block, Text | Reasoning | ToolCall) else block for block in message.blocks
    )
    return response if blocks == message.blocks else replace(response, message=Message(message.role, blocks))


def _texts_of(blocks: Sequence[Block]) -> list[str]:
    """Return every text in the blocks."""
    texts: list[str] = []
    for block in blocks:
        match block:
            case Text() | Reasoning() | ToolResult() | ServerToolResult():
                texts.append(block.text)
            case ToolCall():
                texts += (block.id, block.name, block.problem)
                _gather(block.arguments, texts)
            case ServerToolCall():
                _gather(block.arguments, texts)
            case Citation():
                texts += (block.text, block.url, block.title)
    return texts


def _gather(value: JSON, texts: list[str]) -> None:
    """Append every text in the value to `texts`, names of fields included."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            texts.append(name)
            _gather(inner, texts)
    elif isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, texts)


def _changed(block: Block, scrub: Scrub) -> Block:
    match block:
        case Text(text) | Reasoning(text):
            return replace(block, text=scrub(text))
        case ToolCall():
            arguments = {scrub(name): scrub_json(value, scrub) for name, value in block.arguments.items()}
            return replace(
                block, name=scrub(block.name), arguments=arguments, problem=scrub(block.problem), id=scrub(block.id)
            )
        case ToolResult() | ServerToolResult():
            return replace(block, text=scrub(block.text))
        case ServerToolCall():
            arguments = {scrub(name): scrub_json(value, scrub) for name, value in block.arguments.items()}
            return replace(block, arguments=arguments)
        case Image():
            return block
        case Citation():
            return replace(block, text=scrub(block.text), url=scrub(block.url), title=scrub(block.title))


def scrub_json(value: JSON, scrub: Scrub) -> JSON:
    """Replace every key in the value, also in the names of fields."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {scrub(name): scrub_json(inner, scrub) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [scrub_json(inner, scrub) for inner in value]
    return value


class Repeat(StrEnum):
    """The source of a repeated answer. The value completes "You only repeated ..."."""

    HEARD = "what you heard"
    SELF = "what you said before"
    HIDDEN = "what is for you alone"


class _Said(Struct, frozen=True):
    heard: str
    words: tuple[str, ...]


class Repeats:
    """The last sayings of one assistant, with which it tells whether an answer is only a repetition.

    The sayings are lost when the process ends.
    """

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: tuple[_Said, ...] = ()

    def found_in(self, said: str, heard: Sequence[str], *, did: bool = False) -> Repeat | None:
        """Return what `said`, the answer to the lines `heard`, repeats; None when it has words of its own.

        `did` says that something was done or looked up before. Its result may be told in the same words again.
        """
        words = words_of(said)
        for line in heard:
            if _is_echo(words, said, line):
                return Repeat.HEARD
        asked = " ".join(heard)
        if not did and len(words) > LEAST_WORDS and any(self._is_again(words, asked, before) for before in self._said):
            return Repeat.SELF
        return None

    def add(self, said: str, heard: Sequence[str]) -> None:
        """Remember an answer that will be said."""
        self._said = (*self._said[1 - KEPT :], _Said(" ".join(heard), tuple(words_of(said)[:MOST_WORDS])))

    @staticmethod
    def _is_again(words: Sequence[str], asked: str, before: _Said) -> bool:
        """Tell whether it said the same before, in answer to something else.

        A player who asks the same again may get the same answer. A player who asks for these very words hears them.
        """
        if not is_like(words[:MOST_WORDS], before.words, SAME) or asked == before.heard:
            return False
        theirs = words_of(asked)
        return " ".join(words) not in " ".join(theirs) and not is_like(theirs, words_of(before.heard), SAME)


def words_of_answer(response: LLMResponse) -> str:
    """Return all that an answer says: the texts of its calls that speak, or its plain text when it has no calls."""
    if not response.tool_calls:
        return response.content.strip()
    return " ".join(filter(None, (_text_of(call) for call in response.tool_calls)))


def _text_of(call: ToolCall) -> str:
    return str(call.arguments.get(SPEECH[call.name], "")) if call.name in SPEECH and not call.problem else ""


def _is_echo(words: Sequence[str], said: str, line: str) -> bool:
    """Tell whether the words are nearly those of the line.

    "The sea is safe." answers "Is the sea safe?" and is no echo. Nor is "Tea is ready!" after "Say that tea is ready".
    """
    theirs = words_of(line)
    if (wish := _TO_SAY.search(line)) is not None and not _TO_SAY.search(said):
        return is_like(words, words_of(line[: wish.start()]), MAX_LIKENESS)
    if len(theirs) < LEAST_WORDS or (is_yes_or_no(line) and not said.rstrip().endswith("?")):
        return False
    return is_like(words, theirs, MAX_LIKENESS)
