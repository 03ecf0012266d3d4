"""How to ask one model, and what its refusals teach about it.

    ToolsUnsupported      asked as text from now on        ModelRecord.native_tools
    OutputUnreadable      asked as text this once
    ThinkingUnsupported   without the thinking option      ModelRecord.thinking
    Rejected              what the provider makes of it:   ModelRecord.overrides
                          its hook `adapt` returns the mode to ask in instead, or None
    Rejected              without a schema that holds the  ModelRecord.schema
                          text, asked for in words instead
    ContextOverflow       not asked again, but the         ModelRecord.context_tokens
                          length of the context is kept

Each refusal changes the mode, and no mode is tried twice. So a call always ends after a few requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.llm.errors import (
    ContextOverflow,
    LLMError,
    OutputUnreadable,
    Rejected,
    ThinkingUnsupported,
    ToolsUnsupported,
)
from mud_assistant.llm.fallback.prompt import call_schema, with_instructions
from mud_assistant.llm.messages import JSON, JSONObject, Message, ToolSpec
from mud_assistant.llm.modes.structured import with_schema
from mud_assistant.llm.request import CallOptions, ChatRequest

_ABOUT_SCHEMA = re.compile(
    r"response.?format|output_(format|config)|json.?schema|schema|grammar|\bformat\b", re.IGNORECASE
)
#: The schema itself is wrong, which says nothing about the model.
_BAD_SCHEMA = re.compile(r"invalid schema", re.IGNORECASE)


class FieldOverride(Struct, frozen=True):
    """A change to the fields of a request: `field` is left out, renamed to `rename`, or set to `value`.

    With `with_tools` the change is made only in requests that offer tools.
    """

    field: str
    rename: str = ""
    value: JSON = None
    with_tools: bool = False

    def apply(self, head: JSONObject) -> JSONObject:
        """Return the request's fields with the change made."""
        if self.value is not None:
            return {**head, self.field: self.value} if head.get("tools") or not self.with_tools else head
        if self.field not in head:
            return head
        rest = {key: value for key, value in head.items() if key != self.field}
        return {self.rename: head[self.field], **rest} if self.rename else rest


def apply_overrides(head: JSONObject, overrides: Sequence[FieldOverride]) -> JSONObject:
    """Return the fields of a request with every override applied, in order."""
    for override in overrides:
        head = override.apply(head)
    return head


class RequestMode(Struct, frozen=True):
    """How to ask: tools natively or as text, the schema natively or in words, with the thinking option or without."""

    native: bool
    as_text: bool
    schema: bool
    thinks: bool
    overrides: tuple[FieldOverride, ...] = ()


def apply_mode(request: ChatRequest, mode: RequestMode) -> tuple[Sequence[Message], Sequence[ToolSpec], CallOptions]:
    """Return the messages, native tools and options to send. What cannot be requested natively is put into words."""
    messages, tools, options = request.messages, request.tools, request.options
    schema = options.json_schema
    if not mode.thinks and options.think is not None:
        options = replace(options, think=None)
    if schema is not None and (mode.as_text or not mode.schema):
        messages, options = with_schema(messages, schema), replace(options, schema=None)
    if mode.as_text:
        messages = with_instructions(messages, tools)
        if mode.schema and schema is None:
            options = replace(options, schema=call_schema(tools))
            return messages, (), _in_json_mode(options) if options.structured == "json" else options
        tools = ()
    if options.structured == "json" and (schema := options.json_schema) is not None:
        messages = with_schema(messages, schema)
        is_object = schema.get("type", "object") == "object"
        options = _in_json_mode(options) if is_object else replace(options, schema=None)
    return messages, tools, options


def _in_json_mode(options: CallOptions) -> CallOptions:
    """Return the options with JSON mode (any object) instead of the schema. The schema is put into words."""
    return replace(options, schema=None, json_object=True)


class Record(Protocol):
    """What is remembered of a model. See ModelRecord."""

    native_tools: bool | None
    schema: bool | None
    thinking: bool | None
    context_tokens: int | None
    overrides: tuple[FieldOverride, ...]


class Known(Record, Protocol):
    """What is remembered of a model, and what follows from it."""

    @property
    def as_text(self) -> bool:
        """Whether tools are described and called as text."""
        ...


class Adapts(Protocol):
    """The part of a provider that knows how it can be asked."""

    def supports_tools(self) -> bool:
        """Tell whether the API has native tool calls."""
        ...

    def supports_schema(self) -> bool:
        """Tell whether the API can constrain its text to a JSON Schema."""
        ...

    def adapt(self, error: Rejected, mode: RequestMode) -> RequestMode | None:
        """Return the mode to ask in after this refusal, or None when the refusal suggests none."""
        ...


def best_mode(request: ChatRequest, record: Known, provider: Adapts) -> RequestMode:
    """Return the best known mode for a request to this model."""
    as_text = bool(request.tools) and (record.as_text or not provider.supports_tools())
    wanted = request.options.structured
    schema = (record.schema is not False or wanted == "schema") and wanted != "off"
    schema = schema and provider.supports_schema()
    thinks = request.options.think is not None and record.thinking is not False
    native = bool(request.tools) and not as_text
    return RequestMode(native=native, as_text=as_text, schema=schema, thinks=thinks, overrides=record.overrides)


def learn_from(error: LLMError, mode: RequestMode, record: Record, provider: Adapts) -> RequestMode | None:
    """Record what a refusal teaches and return the mode to ask in next, or None when it teaches nothing."""
    match error:
        case ToolsUnsupported() if mode.native:
            record.native_tools = False
            return replace(mode, native=False, as_text=True)
        case OutputUnreadable() if mode.native:  # only this time: most of its calls can be read
            return replace(mode, native=False, as_text=True)
        case ThinkingUnsupported() if mode.thinks:
            record.thinking = False
            return replace(mode, thinks=False)
        case ContextOverflow(limit=int(limit)):
            record.context_tokens = limit
            return None
        case Rejected():
            return _after_rejection(error, mode, record, provider)
        case _:
            return None


def _after_rejection(error: Rejected, mode: RequestMode, record: Record, provider: Adapts) -> RequestMode | None:
    better = provider.adapt(error, mode)
    if better is not None:
        record.overrides = better.overrides
        return better
    said = f"{error.parameter} {error.message}"
    if not mode.schema or not (mode.as_text or _ABOUT_SCHEMA.search(said)):
        return None
    if not _BAD_SCHEMA.search(said):
        record.schema = False
    return replace(mode, schema=False)
