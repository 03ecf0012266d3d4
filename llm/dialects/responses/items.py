"""Reads the input items of a request into messages.

What the assistant said, thought and called between two other items is one turn. A turn with encrypted reasoning, steps
of tools that OpenAI runs, or a phase keeps its items as they came, for a provider that speaks this API itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from mud_assistant.llm.dialects.failures import RequestRefused
from mud_assistant.llm.dialects.fields import NO_IMAGES, RequestFields
from mud_assistant.llm.dialects.images import image_at, said_by_user
from mud_assistant.llm.dialects.responses.offered import CUSTOM_ARGUMENT, OfferedTools
from mud_assistant.llm.loose_json.repair import parse_arguments
from mud_assistant.llm.messages import (
    JSON,
    Block,
    Image,
    JSONObject,
    Message,
    RawTurn,
    Reasoning,
    Role,
    ServerToolCall,
    Text,
    ToolCall,
    ToolResult,
    system,
    tool_results,
    user,
)

#: The provider that seals reasoning in this form, and may be sent it back.
_SEALER = "openai-responses"
_ITEM_HINTS = frozenset({"id", "status", "created_by"})
_TEXT_HINTS = frozenset({"annotations", "logprobs"})
_TEXTS = frozenset({"input_text", "output_text", "text"})


class ItemReader:
    """A reader of one request's input. It adds to `dropped` the hints that it leaves out."""

    def __init__(self, offered: OfferedTools, dropped: list[str]) -> None:
        self._offered = offered
        self._dropped = dropped
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._path = ""
        self._blocks: list[Block] = []
        self._raw: list[JSONObject] = []
        self._is_kept = False

    def read(self, body: RequestFields) -> Iterator[tuple[str, Message]]:
        """Yield each message with its path. One without text is left out. Raises RequestRefused."""
        said = body.get("input")
        if isinstance(said, str):
            yield "input", user(said)
            return
        for item in body.objects("input"):
            message = self._item(item)
            if message is None:
                continue
            yield from self._turn()
            if message.text or message.tool_results or any(isinstance(block, Image) for block in message.blocks):
                yield item.path, message
        yield from self._turn()

    def _turn(self) -> Iterator[tuple[str, Message]]:
        """Yield the assistant's turn that ends here, if there is one."""
        if self._blocks or self._is_kept:
            raw = RawTurn(_SEALER, tuple(self._raw)) if self._is_kept else None
            yield self._path, Message(Role.ASSISTANT, tuple(self._blocks), raw)
        self._begin_turn()

    def _item(self, item: RequestFields) -> Message | None:
        """Return the message that an item is, or None for one that belongs to the assistant's turn."""
        kind = item.text("type", "message" if item.has("role") else None)
        match kind:
            case "message" if item.text("role") != "assistant":
                return self._message(item)
            case "function_call_output" | "custom_tool_call_output":
                self._hints(item, {"type", "call_id", "output", "name"})
                return tool_results([ToolResult(item.name("call_id"), "", self._texts(item, "output"))])
        self._path = self._path or item.path
        match kind:
            case "message":
                self._said(item)
            case "function_call":
                self._function_call(item)
            case "custom_tool_call":
                self._custom_call(item)
            case "reasoning":
                self._reasoning(item)
            case "web_search_call":
                self._web_search(item)
            case "item_reference":
                said = "answers are not kept here: send the item itself, as clients do when told store: false"
                raise item.unsupported("type", said)
            case _:
                raise item.unsupported("type", f"an item of type {kind!r} cannot be carried to this model")
        return None

    def _message(self, item: RequestFields) -> Message:
        self._hints(item, {"type", "role", "content"})
        if item.text("role") == "user" and isinstance(item.get("content"), list):
            said = [self._image(part) if part.get("type") == "input_image" else self._part(part)
                    for part in item.objects("content")]  # fmt: skip
            return said_by_user([part for part in said if part])
        text = self._texts(item, "content")
        match item.text("role"):
            case "user":
                return user(text)
            case "system" | "developer":
                return system(text)
        raise item.invalid("role", "one of user, assistant, system, developer is required")

    def _image(self, part: RequestFields) -> Image:
        if part.has("file_id"):
            raise part.unsupported("file_id", "no files are kept here: send the image itself")
        self._dropped += part.hints({"type", "image_url", "file_id"}, {"detail"})
        return image_at(part, "image_url")

    def _said(self, item: RequestFields) -> None:
        self._hints(item, {"type", "role", "content", "phase"})
        if text := self._texts(item, "content"):
            self._blocks.append(Text(text))
        self._is_kept = self._is_kept or item.has("phase")
        kept = {key: item.get(key) for key in ("role", "content", "phase") if item.has(key)}
        self._raw.append({"type": "message", **kept})

    def _function_call(self, item: RequestFields) -> None:
        self._hints(item, {"type", "call_id", "name", "arguments", "namespace"})
        name = self._offered.joined(item.text("namespace", ""), item.name("name"))
        arguments = item.text("arguments", "")
        parsed, problem = parse_arguments(arguments, complete=True)
        self._call(ToolCall(item.name("call_id"), name, parsed, problem), arguments)

    def _custom_call(self, item: RequestFields) -> None:
        self._hints(item, {"type", "call_id", "name", "input"})
        given = {CUSTOM_ARGUMENT: item.text("input")}
        self._call(ToolCall(item.name("call_id"), item.name("name"), given), None)

    def _call(self, call: ToolCall, arguments: str | None) -> None:
        """Add a call. Its raw form names the tool as it is offered to the model."""
        self._blocks.append(call)
        as_sent = orjson.dumps(call.arguments).decode() if arguments is None else arguments
        self._raw.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": as_sent})

    def _reasoning(self, item: RequestFields) -> None:
        self._hints(item, {"type", "summary", "content", "encrypted_content"})
        thought = "\n\n".join([part.text("text") for name in ("summary", "content") for part in item.objects(name)])
        if thought:
            self._blocks.append(Reasoning(thought))
        if item.has("encrypted_content"):
            self._is_kept = True
            kept: dict[str, JSON] = {"type": "reasoning", "summary": item.get("summary") or []}
            self._raw.append({**kept, "encrypted_content": item.name("encrypted_content")})

    def _web_search(self, item: RequestFields) -> None:
        action = item.object("action")
        self._is_kept = True
        self._blocks.append(ServerToolCall(item.text("id", ""), "web_search", {} if action is None else action.value))
        self._raw.append(item.value)

    def _texts(self, item: RequestFields, name: str) -> str:
        """Return a field that is a string or a list of text parts, as one text. Raises RequestRefused."""
        said = item.get(name)
        if isinstance(said, str):
            return said
        if said is None:
            raise item.invalid(name, "a string or a list of parts is required")
        return "\n".join([text for part in item.objects(name) if (text := self._part(part))])

    def _part(self, part: RequestFields) -> str:
        kind = part.text("type")
        if kind == "refusal":
            return part.text("refusal")
        if kind not in _TEXTS:
            raise self._not_text(part, kind)
        self._dropped += part.hints({"type", "text"}, _TEXT_HINTS)
        return part.text("text")

    def _not_text(self, part: RequestFields, kind: str) -> RequestRefused:
        if kind == "input_image":
            return part.unsupported("type", NO_IMAGES)
        return part.unsupported("type", f"a part of type {kind!r} cannot be carried to this model")

    def _hints(self, item: RequestFields, known: set[str]) -> None:
        """Refuse what is not known of an item. Its id and its status say nothing to a model, and go unnoted."""
        self._dropped += item.hints(known | _ITEM_HINTS, ())
