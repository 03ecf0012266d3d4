"""Reads a request of OpenAI's Chat Completions API, and of the many clients that speak it nearly so."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mud_assistant.llm.dialects.chat.turns import ChatTurnReader
from mud_assistant.llm.dialects.dialect import AskedCall
from mud_assistant.llm.dialects.failures import unsupported
from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.dialects.tools import check_names, forbids_parallel, paired, read_choice, read_tool
from mud_assistant.llm.messages import JSON, JSONObject, ToolSpec
from mud_assistant.llm.request import CallOptions

#: RequestFields that go to the model as they are, with their bounds. A provider without them refuses them by itself.
_CARRIED: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"top_p": (0, 1), "presence_penalty": (-2, 2), "frequency_penalty": (-2, 2), "min_p": (0, 1)}
)
#: RequestFields that cannot be carried, and the values of each that ask for nothing.
_REFUSED: Mapping[str, tuple[JSON, ...]] = MappingProxyType(
    {
        "n": (1,),
        "best_of": (1,),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "logit_bias": ({},),
        "audio": (),
        "modalities": (["text"],),
        "web_search_options": (),
        "functions": ([],),
        "function_call": (),
    }
)
_KNOWN = frozenset(
    {
        *_CARRIED, *_REFUSED, "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens",
        "temperature", "top_k", "seed", "stop", "tools", "tool_choice", "parallel_tool_calls", "response_format",
        "reasoning_effort", "thinking",
    }
)  # fmt: skip
_HINTS = frozenset(
    {
        "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
        "prediction", "verbosity",
    }
)  # fmt: skip
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def read_request(body: JSONObject) -> AskedCall:
    """Return what the client asks. Raises RequestRefused."""
    fields = RequestFields(body)
    model = fields.name("model")
    dropped = fields.hints(_KNOWN, _HINTS)
    for name, harmless in _REFUSED.items():
        if fields.has(name) and body[name] not in harmless:
            raise unsupported(f"{name}: not supported by this gateway, leave it out", name)
    messages = paired(ChatTurnReader(dropped).read(fields))
    if not messages:
        raise fields.invalid("messages", "at least one message is required")
    tools = [_tool(tool, dropped) for tool in fields.objects("tools")]
    check_names(tools)
    stream = fields.object("stream_options") or RequestFields({}, "stream_options")
    dropped += stream.hints({"include_usage"}, {"include_obfuscation"})
    return AskedCall(
        model,
        fields.flag("stream"),
        messages,
        tools,
        read_choice(fields, tools),
        _options(fields, dropped),
        body,
        tuple(dict.fromkeys(dropped)),
        counts_usage=stream.flag("include_usage"),
    )


def _tool(tool: RequestFields, dropped: list[str]) -> ToolSpec:
    kind = tool.text("type", "function")
    if kind != "function":
        raise tool.unsupported("type", f"only tools of type function are supported, not {kind!r}")
    dropped += tool.hints({"type", "function"}, {"cache_control"})
    function = tool.object("function")
    if function is None:
        raise tool.invalid("function", "an object is required")
    dropped += function.hints({"name", "description", "parameters"}, {"strict"})
    return read_tool(function, "parameters")


def _options(fields: RequestFields, dropped: list[str]) -> CallOptions:
    extra: dict[str, JSON] = {}
    for name, (least, most) in _CARRIED.items():
        if (value := fields.number(name, least, most)) is not None:
            extra[name] = value
    if (top_k := fields.count("top_k")) is not None:
        extra["top_k"] = top_k
    if forbids_parallel(fields):
        extra["parallel_tool_calls"] = False
    schema, is_json = _form(fields, dropped)
    return CallOptions(
        temperature=fields.number("temperature", 0, 2),
        max_tokens=_limit(fields),
        seed=fields.count("seed"),
        stop=fields.texts("stop"),
        think=_think(fields, dropped),
        schema=schema,
        extra_params=extra,
        json_object=is_json,
    )


def _limit(fields: RequestFields) -> int | None:
    """Return the bound of the answer in tokens, under either of its names but not under both."""
    if fields.has("max_tokens") and fields.has("max_completion_tokens"):
        raise fields.invalid("max_tokens", "cannot be set together with max_completion_tokens")
    limit = fields.count("max_completion_tokens", 1)
    return fields.count("max_tokens", 1) if limit is None else limit


def _think(fields: RequestFields, dropped: list[str]) -> bool | None:
    """Tell whether thinking is on or off, None where the request says nothing. How much is left to the provider."""
    if (thinking := fields.object("thinking")) is not None:
        kind = thinking.text("type")
        if kind not in {"enabled", "adaptive", "disabled"}:
            raise thinking.invalid("type", "one of enabled, adaptive, disabled is required")
        dropped += thinking.hints({"type"}, {"budget_tokens"})
        return kind != "disabled"
    if not fields.has("reasoning_effort"):
        return None
    effort = fields.text("reasoning_effort")
    if effort not in _EFFORTS:
        raise fields.invalid("reasoning_effort", f"one of {', '.join(_EFFORTS)} is required")
    if effort != "none":
        dropped.append("reasoning_effort")
    return effort != "none"


def _form(fields: RequestFields, dropped: list[str]) -> tuple[JSONObject | None, bool]:
    """Return the schema of the answer, if there is one, and whether it must be a JSON object without a schema."""
    form = fields.object("response_format")
    if form is None:
        return None, False
    match form.text("type"):
        case "text":
            return None, False
        case "json_object":
            return None, True
        case "json_schema":
            described = form.object("json_schema")
            schema = None if described is None else described.object("schema")
            if described is None or schema is None:
                raise form.invalid("json_schema.schema", "an object is required")
            dropped += described.hints({"schema", "name"}, {"strict", "description"})
            return schema.value, False
        case kind:
            raise form.unsupported("type", f"{kind!r} is not supported by this gateway")
