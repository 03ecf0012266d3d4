"""Reads the messages of a request of Anthropic's Messages API.

A turn that holds a sealed thought keeps its blocks as they came, for a provider that is Anthropic itself: it checks the
seal. A thought without a seal is kept as reasoning only, and blocks of server tools only in neutral form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mud_assistant.llm.dialects.fields import NO_IMAGES, RequestFields
from mud_assistant.llm.dialects.images import image_of, said_by_user
from mud_assistant.llm.messages import (
    Block,
    Image,
    JSONObject,
    Message,
    RawTurn,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
    system,
    tool_results,
    user,
)

#: The provider that seals thoughts, and may be sent them back.
_SEALER = "anthropic"
_HINTS = frozenset({"cache_control"})
_TEXT = frozenset({"type", "text"})
#: What a raw block loses: marks for a cache, and sources that point into results which are not sent back.
_NOT_REPLAYED = frozenset({"cache_control", "citations"})


class TurnReader:
    """A reader of one request's messages. It adds to `dropped` the hints that it leaves out."""

    def __init__(self, dropped: list[str]) -> None:
        self._dropped = dropped

    def read(self, body: RequestFields) -> Iterator[tuple[str, Message]]:
        """Yield each message with its path. One whose text is empty is left out. Raises RequestRefused."""
        for turn in body.objects("messages"):
            self._dropped += turn.hints({"role", "content"}, ())
            role = turn.text("role")
            match role:
                case "user":
                    messages = self._user(turn)
                case "assistant":
                    messages = self._assistant(turn)
                case "system":
                    messages = [system(text)] if (text := self.texts(turn, "content")) else []
                case _:
                    raise turn.invalid("role", "one of user, assistant, system is required")
            for message in messages:
                yield turn.path, message

    def texts(self, fields: RequestFields, name: str) -> str:
        """Return a field that is a string or a list of text blocks, as one text. Raises RequestRefused."""
        said = fields.get(name)
        if said is None or isinstance(said, str):
            return said or ""
        return "\n".join([text for block in fields.objects(name) if (text := self._text(block))])

    def _user(self, turn: RequestFields) -> list[Message]:
        """Return the results of calls, if any, and what the user says, in this order as the API wants it."""
        said = turn.get("content")
        if isinstance(said, str):
            return [user(said)] if said else []
        if said is None:
            raise turn.invalid("content", "a string or a list of blocks is required")
        results: list[ToolResult] = []
        parts: list[str | Image] = []
        for block in turn.objects("content"):
            match block.text("type"):
                case "tool_result":
                    results.append(self._result(block))
                case "image":
                    parts.append(self._image(block))
                case _:
                    parts += [text] if (text := self._text(block)) else []
        made = [tool_results(results)] if results else []
        return [*made, said_by_user(parts)] if parts else made

    def _image(self, block: RequestFields) -> Image:
        self._dropped += block.hints({"type", "source"}, _HINTS)
        source = block.object("source")
        if source is None:
            raise block.invalid("source", "an object is required")
        if (kind := source.text("type")) != "base64":
            raise source.unsupported("type", f"an image of type {kind!r} is not fetched: send its bytes as base64")
        source.hints({"type", "media_type", "data"}, ())
        return image_of(source, "data", source.text("data"))

    def _text(self, block: RequestFields) -> str:
        kind = block.text("type")
        if kind == "image":
            raise block.unsupported("type", NO_IMAGES)
        if kind != "text":
            raise block.unsupported("type", f"a block of type {kind!r} cannot be carried to this model")
        self._dropped += block.hints(_TEXT, _HINTS | {"citations"})
        return block.text("text")

    def _result(self, block: RequestFields) -> ToolResult:
        self._dropped += block.hints({"type", "tool_use_id", "content", "is_error"}, _HINTS)
        text = self.texts(block, "content")
        return ToolResult(block.text("tool_use_id", ""), "", text, failed=block.flag("is_error"))

    def _assistant(self, turn: RequestFields) -> list[Message]:
        said = turn.get("content")
        if isinstance(said, str):
            return [Message(Role.ASSISTANT, (Text(said),))] if said else []
        if said is None:
            raise turn.invalid("content", "a string or a list of blocks is required")
        blocks: list[Block] = []
        raw: list[JSONObject] = []
        for fields in turn.objects("content"):
            block = self._assistant_block(fields)
            blocks += [] if block is None else [block]
            if not isinstance(block, ServerToolCall | ServerToolResult) and _is_replayed(fields.value):
                raw.append({key: value for key, value in fields.value.items() if key not in _NOT_REPLAYED})
        sealed = any(block["type"] in {"thinking", "redacted_thinking"} for block in raw)
        if not blocks and not sealed:
            return []
        return [Message(Role.ASSISTANT, tuple(blocks), RawTurn(_SEALER, tuple(raw)) if sealed else None)]

    def _assistant_block(self, block: RequestFields) -> Block | None:
        """Return the block in neutral form, None for one that has none: blank text, a thought that is encrypted."""
        match block.text("type"):
            case "thinking":
                self._dropped += block.hints({"type", "thinking", "signature"}, _HINTS)
                return Reasoning(block.text("thinking"), block.text("signature", ""))
            case "redacted_thinking":
                block.name("data")
                return None
            case "tool_use":
                self._dropped += block.hints({"type", "id", "name", "input"}, _HINTS | {"caller"})
                return ToolCall(block.name("id"), block.name("name"), _input(block))
            case "server_tool_use":
                return ServerToolCall(block.name("id"), block.name("name"), _input(block))
            case kind if kind.endswith("_tool_result"):
                name = kind.removesuffix("_tool_result")
                content = block.get("content")
                failed = isinstance(content, Mapping) and "error_code" in content
                return ServerToolResult(block.name("tool_use_id"), name, _shown(block, failed=failed), failed)
            case _:
                return Text(text) if (text := self._text(block)).strip() else None


def _is_replayed(block: JSONObject) -> bool:
    """Tell whether Anthropic takes the block back: neither blank text nor a thought without its seal."""
    match block.get("type"):
        case "text":
            return bool(str(block.get("text")).strip())
        case "thinking":
            return bool(block.get("signature"))
    return True


def _input(block: RequestFields) -> JSONObject:
    given = block.object("input")
    return {} if given is None else given.value


def _shown(block: RequestFields, *, failed: bool) -> str:
    """Return the result of a server tool in short: the title and the address of each entry, or the error's word."""
    content = block.get("content")
    if failed and isinstance(content, Mapping):
        return str(content.get("error_code"))
    entries = content if isinstance(content, list) else [content]
    lines = [[entry.get(key) for key in ("title", "url", "text")] for entry in entries if isinstance(entry, Mapping)]
    return "\n".join(" ".join(word for word in line if isinstance(word, str) and word) for line in lines)
