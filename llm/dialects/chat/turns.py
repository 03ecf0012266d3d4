"""Reads the messages of a request of OpenAI's Chat Completions API."""

from __future__ import annotations

from collections.abc import Iterator

from mud_assistant.llm.dialects.fields import NO_IMAGES, RequestFields
from mud_assistant.llm.dialects.images import image_at, said_by_user
from mud_assistant.llm.loose_json.repair import parse_arguments
from mud_assistant.llm.messages import (
    Block,
    Image,
    Message,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    system,
    tool_results,
    user,
)

_HINTS = frozenset({"name", "cache_control"})
#: The names under which clients give back what a model thought.
_THOUGHTS = ("reasoning_content", "reasoning")
#: RequestFields of an assistant's turn that ask for nothing: clients give answers back as they came.
_OF_ANSWERS = frozenset({*_HINTS, "annotations", "provider_specific_fields", "reasoning_details"})


class ChatTurnReader:
    """A reader of one request's messages. It adds to `dropped` the hints that it leaves out."""

    def __init__(self, dropped: list[str]) -> None:
        self._dropped = dropped

    def read(self, body: RequestFields) -> Iterator[tuple[str, Message]]:
        """Yield each message with its path; `developer` is another word for `system`. Raises RequestRefused."""
        for turn in body.objects("messages"):
            yield turn.path, self._message(turn)

    def _message(self, turn: RequestFields) -> Message:
        match role := turn.text("role"):
            case "system" | "developer":
                return system(self._said(turn))
            case "user":
                return self._user(turn)
            case "assistant":
                return self._assistant(turn)
            case "tool":
                self._dropped += turn.hints({"role", "content", "tool_call_id"}, _HINTS)
                return tool_results([ToolResult(turn.text("tool_call_id", ""), "", self._text(turn, "content"))])
            case "function":
                raise turn.unsupported("role", "use tools and the role tool instead of functions")
        raise turn.invalid("role", f"{role!r} is not one of system, developer, user, assistant, tool")

    def _user(self, turn: RequestFields) -> Message:
        """Return what a user says, which may have images in it."""
        if not isinstance(turn.get("content"), list):
            return user(self._said(turn))
        self._dropped += turn.hints({"role", "content"}, _HINTS)
        said = [self._image(part) if part.get("type") == "image_url" else self._part(part)
                for part in turn.objects("content")]  # fmt: skip
        return said_by_user([part for part in said if part])

    def _image(self, part: RequestFields) -> Image:
        self._dropped += part.hints({"type", "image_url"}, _HINTS)
        image = part.object("image_url") if not isinstance(part.get("image_url"), str) else None
        if image is None:
            return image_at(part, "image_url")
        self._dropped += image.hints({"url"}, {"detail"})
        return image_at(image, "url")

    def _said(self, turn: RequestFields) -> str:
        self._dropped += turn.hints({"role", "content"}, _HINTS)
        if not turn.has("content"):
            raise turn.invalid("content", "a string or a list of parts is required")
        return self._text(turn, "content")

    def _text(self, turn: RequestFields, name: str, *, between: str = "\n") -> str:
        """Return a field that is a string or a list of parts, as one text; a refusal counts as text."""
        said = turn.get(name)
        if said is None or isinstance(said, str):
            return said or ""
        return between.join([text for part in turn.objects(name) if (text := self._part(part))])

    def _part(self, part: RequestFields) -> str:
        kind = part.text("type")
        if kind == "image_url":
            raise part.unsupported("type", NO_IMAGES)
        if kind not in {"text", "refusal"}:
            raise part.unsupported("type", f"a part of type {kind!r} cannot be carried to this model")
        self._dropped += part.hints({"type", kind}, _HINTS)
        return part.text(kind)

    def _assistant(self, turn: RequestFields) -> Message:
        known = {"role", "content", "refusal", "tool_calls", "audio", "function_call", *_THOUGHTS}
        self._dropped += turn.hints(known, _OF_ANSWERS)
        for name in ("audio", "function_call"):
            if turn.has(name):
                raise turn.unsupported(name)
        blocks: list[Block] = []
        thought = next((text for name in _THOUGHTS if (text := turn.text(name, ""))), "")
        if thought:
            blocks.append(Reasoning(thought))
        if said := self._text(turn, "content", between="") or turn.text("refusal", ""):
            blocks.append(Text(said))
        blocks += [self._call(call) for call in turn.objects("tool_calls")]
        return Message(Role.ASSISTANT, tuple(blocks))

    def _call(self, call: RequestFields) -> ToolCall:
        kind = call.text("type", "function")
        if kind != "function":
            raise call.unsupported("type", f"only calls of type function are supported, not {kind!r}")
        self._dropped += call.hints({"id", "type", "function", "index"}, {"cache_control", "extra_content"})
        function = call.object("function")
        if function is None:
            raise call.invalid("function", "an object is required")
        arguments, problem = parse_arguments(function.text("arguments", ""), complete=True)
        return ToolCall(call.name("id"), function.name("name"), arguments, problem)
