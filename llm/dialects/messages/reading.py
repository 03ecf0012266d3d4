"""Reads a request of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping

from mud_assistant.llm.dialects.dialect import AskedCall
from mud_assistant.llm.dialects.failures import invalid
from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.dialects.messages.turns import TurnReader
from mud_assistant.llm.dialects.tools import check_names, forbids_parallel, paired, read_choice, read_tool
from mud_assistant.llm.messages import JSON, JSONObject, ToolSpec, system
from mud_assistant.llm.request import CallOptions

USUAL_VERSION = "2023-06-01"
#: The version that refuses sampling fields.
NO_SAMPLING = "2026-10-21"
_SAMPLING = ("temperature", "top_p", "top_k")
_KNOWN = frozenset(
    {
        *_SAMPLING, "model", "messages", "system", "max_tokens", "stream", "stop_sequences", "tools", "tool_choice",
        "thinking", "output_config", "output_format",
    }
)  # fmt: skip
_HINTS = frozenset({"metadata", "service_tier", "cache_control"})
_TOOL_HINTS = frozenset({"cache_control", "strict", "input_examples", "eager_input_streaming", "defer_loading"})


def read_request(body: JSONObject, headers: Mapping[str, str], *, counts_only: bool) -> AskedCall:
    """Return what the client asks. With `counts_only` there need be no bound of the answer. Raises RequestRefused."""
    fields = RequestFields(body)
    _check_version(fields, headers.get("anthropic-version") or USUAL_VERSION)
    model = fields.name("model")
    dropped = fields.hints(_KNOWN, _HINTS)
    if headers.get("anthropic-beta"):
        dropped.append("anthropic-beta")
    turns = TurnReader(dropped)
    front = [system(text)] if (text := turns.texts(fields, "system")) else []
    messages = paired(turns.read(fields))
    if not messages:
        raise fields.invalid("messages", "at least one message with content is required")
    tools = [_tool(tool, dropped) for tool in fields.objects("tools")]
    check_names(tools)
    return AskedCall(
        model,
        fields.flag("stream"),
        [*front, *messages],
        tools,
        read_choice(fields, tools),
        _options(fields, dropped, needs_limit=not counts_only),
        body,
        tuple(dict.fromkeys(dropped)),
    )


def _check_version(fields: RequestFields, version: str) -> None:
    """Raise RequestRefused for a version that is not known, and for what a known one does not allow."""
    if version not in {USUAL_VERSION, NO_SAMPLING}:
        known = f"{USUAL_VERSION} and {NO_SAMPLING}"
        raise invalid(f"anthropic-version: {version!r} is not known, only {known} are", "anthropic-version")
    for name in _SAMPLING if version == NO_SAMPLING else ():
        if fields.has(name):
            raise fields.invalid(name, f"not accepted by version {NO_SAMPLING}")


def _tool(tool: RequestFields, dropped: list[str]) -> ToolSpec:
    kind = tool.text("type", "custom")
    if kind != "custom":
        raise tool.unsupported("type", f"{kind!r} runs at Anthropic, and only a request passed on to it may use it")
    if not tool.has("input_schema"):
        raise tool.invalid("input_schema", "an object is required")
    dropped += tool.hints({"type", "name", "description", "input_schema"}, _TOOL_HINTS)
    return read_tool(tool, "input_schema")


def _options(fields: RequestFields, dropped: list[str], *, needs_limit: bool) -> CallOptions:
    limit = fields.count("max_tokens", 1)
    if limit is None and needs_limit:
        raise fields.invalid("max_tokens", "a whole number is required, at least 1")
    extra: dict[str, JSON] = {}
    if (top_p := fields.number("top_p", 0, 1)) is not None:
        extra["top_p"] = top_p
    if (top_k := fields.count("top_k", 0)) is not None:
        extra["top_k"] = top_k
    if forbids_parallel(fields):
        extra["parallel_tool_calls"] = False
    return CallOptions(
        temperature=fields.number("temperature", 0, 1),
        max_tokens=limit,
        stop=fields.texts("stop_sequences"),
        think=_think(fields, dropped),
        schema=_schema(fields, dropped),
        extra_params=extra,
    )


def _think(fields: RequestFields, dropped: list[str]) -> bool | None:
    """Tell whether thinking is on or off, None where the request says nothing. How much is left to the provider."""
    thinking = fields.object("thinking")
    if thinking is None:
        return None
    kind = thinking.text("type")
    if kind not in {"enabled", "adaptive", "disabled"}:
        raise thinking.invalid("type", "one of enabled, adaptive, disabled is required")
    thinking.count("budget_tokens", 1)
    dropped += thinking.hints({"type"}, {"budget_tokens", "display"})
    return kind != "disabled"


def _schema(fields: RequestFields, dropped: list[str]) -> JSONObject | None:
    """Return the schema of the answer, from either of its two places."""
    config = fields.object("output_config")
    if config is not None:
        dropped += config.hints({"format"}, {"effort"})
    form = (config.object("format") if config is not None else None) or fields.object("output_format")
    if form is None:
        return None
    if form.text("type") != "json_schema":
        raise form.unsupported("type", "only json_schema is supported")
    dropped += form.hints({"type", "schema"}, {"name"})
    schema = form.object("schema")
    if schema is None:
        raise form.invalid("schema", "an object is required")
    return schema.value
