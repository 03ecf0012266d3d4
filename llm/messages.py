"""Messages between an assistant and a chat model: ordered, typed, frozen blocks.

There are four roles and eight kinds of block. A message is never edited; a conversation grows by appending. Each
message keeps its encoded bytes, per dialect, so a request costs the new messages and not the whole history. What only
its own provider understands (signatures, encrypted search results) stays in `raw` and goes back to that provider alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

#: Any JSON value. Values are treated as read-only everywhere.
JSON = str | int | float | bool | None | Sequence["JSON"] | Mapping[str, "JSON"]
JSONObject = Mapping[str, JSON]


class Role(StrEnum):
    """The author of a message. The values are the wire names that Chat Completions and Ollama share."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Text(Struct, frozen=True):
    """Plain text."""

    text: str


class Image(Struct, frozen=True):
    """An image of a user: a type such as "image/png", and its bytes in base64."""

    media_type: str
    data: str

    @property
    def data_url(self) -> str:
        """The address that holds the image itself."""
        return f"data:{self.media_type};base64,{self.data}"


class Reasoning(Struct, frozen=True):
    """What a model thought before it answered. Never shown to a player.

    `signature` is its provider's seal, empty without one. The seal is only recorded here; what is sent back comes from
    the turn's `raw`.
    """

    text: str
    signature: str = ""


class ToolCall(Struct, frozen=True):
    """A model's request to run one tool.

    `problem` is empty, or says why the arguments could not be read (cut off, not an object, not JSON), or that the call
    names no tool (`name` is then empty). Such a call is answered with that sentence and never run.
    """

    id: str
    name: str
    arguments: JSONObject
    problem: str = ""


class ToolResult(Struct, frozen=True):
    """The result of a tool call, as the model reads it."""

    call_id: str
    name: str
    text: str
    failed: bool = False


class ServerToolCall(Struct, frozen=True):
    """A tool call that the provider runs on its own side, such as a web search. It is not answered here."""

    id: str
    name: str
    arguments: JSONObject


class ServerToolResult(Struct, frozen=True):
    """The short result of a provider's own tool. With `failed`, `text` is the provider's word for why."""

    call_id: str
    name: str
    text: str
    failed: bool = False


class Citation(Struct, frozen=True):
    """The source of the text before it: the words quoted, and the address and title when it has them."""

    text: str
    url: str = ""
    title: str = ""


#: The blocks of a raw turn that do not involve the provider's own tools.
_OWN = {"text", "thinking", "redacted_thinking", "tool_use", "message", "reasoning", "function_call"}
#: The field that holds a call's ID, by the type of the raw block that is the call.
_CALL_IDS = {"tool_use": "id", "function_call": "call_id"}

Block = Text | Image | Reasoning | ToolCall | ToolResult | ServerToolCall | ServerToolResult | Citation


class RawTurn(Struct, frozen=True):
    """A turn as its provider sent it, to be replayed verbatim: the provider's name and its own blocks, in order."""

    provider: str
    blocks: tuple[JSONObject, ...]

    @property
    def depends_on_tools(self) -> bool:
        """Whether the provider's own tools took part. What is replayed then depends on the tools that are offered."""
        return any(
            "type" in block and (str(block["type"]) not in _OWN or "citations" in block) for block in self.blocks
        )


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation.

    `raw` is the turn in its provider's own form; any other provider is sent `blocks`. `wire` holds the encoded bytes by
    dialect, and `heard` what `mud_assistant.llm.fallback.quotes` found in it. Both are caches, not part of the value.
    """

    role: Role
    blocks: tuple[Block, ...]
    raw: RawTurn | None = field(default=None, repr=False, hash=False)
    wire: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    heard: object = field(default=None, init=False, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The text blocks, joined without a separator."""
        if len(self.blocks) == 1 and type(self.blocks[0]) is Text:  # as most are
            return self.blocks[0].text
        return "".join([block.text for block in self.blocks if isinstance(block, Text)])

    @property
    def reasoning(self) -> str:
        """The reasoning blocks, joined without a separator."""
        return "".join([block.text for block in self.blocks if isinstance(block, Reasoning)])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in the model's order."""
        return tuple([block for block in self.blocks if isinstance(block, ToolCall)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results, in the order of the calls they answer."""
        return tuple(block for block in self.blocks if isinstance(block, ToolResult))

    def raw_of(self, provider: str) -> tuple[JSONObject, ...]:
        """Return the turn's own blocks for the provider of this name, or none when another provider made it.

        They are withheld when they name other calls than `tool_calls` does: a result would then answer no call.
        """
        if self.raw is None or self.raw.provider != provider:
            return ()
        kinds = [(block, str(block.get("type"))) for block in self.raw.blocks]
        named = [block.get(_CALL_IDS[kind]) for block, kind in kinds if kind in _CALL_IDS]
        known = [call.id for call in self.tool_calls]
        return self.raw.blocks if named in ([], known) else ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. `parameters` is a JSON Schema of type object.

    `wire` holds the encoded bytes by dialect, since most requests offer the same tools. It is a cache, not part of the
    value.
    """

    name: str
    description: str
    parameters: JSONObject
    wire: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)


def system(text: str) -> Message:
    """Make a system message."""
    return Message(Role.SYSTEM, (Text(text),))


def user(text: str) -> Message:
    """Make a user message."""
    return Message(Role.USER, (Text(text),))


def assistant(*blocks: Block) -> Message:
    """Make an assistant message of the given blocks."""
    return Message(Role.ASSISTANT, blocks)


def tool_results(results: Sequence[ToolResult]) -> Message:
    """Make one message that answers every call of the preceding assistant message, in order."""
    return Message(Role.TOOL, tuple(results))
