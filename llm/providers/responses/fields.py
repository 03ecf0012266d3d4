"""The fields of a request to the Responses API, and what its refusals teach about them.

Fields are given by their names in Chat Completions, too, where settings and learned changes have them so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

import orjson
from msgspec.structs import replace

from mud_assistant.llm.errors import Rejected
from mud_assistant.llm.messages import JSON, JSONObject, ToolSpec
from mud_assistant.llm.modes.mode import FieldOverride, RequestMode
from mud_assistant.llm.modes.structured import is_strict
from mud_assistant.llm.request import CallOptions, ToolChoice, merge

#: The API refuses a smaller bound.
MIN_OUTPUT_TOKENS = 16
#: Fields a request can do without.
OPTIONAL = frozenset(
    {
        *("include", "max_tool_calls", "metadata", "parallel_tool_calls", "prompt_cache_key", "reasoning"),
        *("safety_identifier", "service_tier", "store", "temperature", "tool_choice", "top_logprobs", "top_p"),
        *("truncation", "user"),
    }
)
_FIELD = re.compile(rf"(?<![\w-])({'|'.join(sorted(OPTIONAL, key=len, reverse=True))})(?![\w-])")
_ENCRYPTED = re.compile(r"encrypted content is not supported", re.IGNORECASE)
_REFUSED = re.compile(
    r"unsupported|not support|unrecognized|unknown|unexpected|extra inputs|extra_forbidden|not permitted|deprecated"
    r"|not allowed|must be verified|invalid value|only .{0,40}(allowed|supported)",
    re.IGNORECASE,
)
#: What only a stateful use of the API has, or what the program sets itself.
_NEVER = frozenset({"previous_response_id", "conversation", "background", "input", "instructions", "stream_options"})
_SAMPLING = ("temperature", "top_p")
#: The key under which a tool keeps its encoded bytes.
_FLAT = "responses"
_SEALS, _SOURCES = "reasoning.encrypted_content", "web_search_call.action.sources"


def head_of(
    model: str, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
) -> dict[str, JSON]:
    """Return everything of a request but its items. What the API does not have (a seed, stops) is left out."""
    offered: list[JSON] = [*(_flat_tool(tool) for tool in tools), *options.server_tools]
    head: dict[str, JSON] = {
        "model": model,
        "stream": True,
        "max_output_tokens": options.max_tokens,
        "temperature": options.temperature,
        "text": _text_format(options),
        "tools": offered or None,
        "tool_choice": _choice(tool_choice) if tools and tool_choice is not None else None,
        "reasoning": _reasoning(options.think),
        "prompt_cache_key": options.cache_key if options.prompt_cache and options.cache_key else None,
    }
    told = merge({key: value for key, value in head.items() if value is not None}, _translated(options.extra_params))
    told["include"] = merge({"include": _included(told)}, _only(told, "include"))["include"]
    told["store"] = False
    return _without_sampling(told)


def bounded(head: JSONObject, allowance: int) -> JSONObject:
    """Return the head with `allowance` tokens more for the answer, since its bound counts reasoning as well."""
    bound = head.get("max_output_tokens")
    if not isinstance(bound, int):
        return head
    return {**head, "max_output_tokens": max(MIN_OUTPUT_TOKENS, bound + allowance)}


def effort_of(head: JSONObject) -> JSON:
    """Return the reasoning effort that the request names, None when it names none."""
    reasoning = head.get("reasoning")
    return reasoning.get("effort") if isinstance(reasoning, Mapping) else None


def adapt_fields(error: Rejected, mode: RequestMode) -> RequestMode | None:
    """Return the mode without what was refused, or None when no field was refused or that was tried already."""
    if _ENCRYPTED.search(error.message):
        override = FieldOverride("include")
    else:
        named = _FIELD.search(error.parameter.partition(".")[0]) or _FIELD.search(error.message)
        if named is None or not _REFUSED.search(error.message):
            return None
        override = FieldOverride(named.group(1))
    return None if override in mode.overrides else replace(mode, overrides=(*mode.overrides, override))


def _included(head: JSONObject) -> list[JSON]:
    tools = head.get("tools")
    kinds = [str(tool.get("type")) for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    return [_SEALS, _SOURCES] if any(kind.startswith("web_search") for kind in kinds) else [_SEALS]


def _only(head: JSONObject, key: str) -> JSONObject:
    return {key: head[key]} if key in head else {}


def _flat_tool(tool: ToolSpec) -> JSON:
    """Return a tool as the API wants it, as orjson takes it up without encoding it again."""
    encoded = tool.wire.get(_FLAT)
    if encoded is None:
        described = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        encoded = orjson.dumps({"type": "function", **described, "strict": is_strict(tool.parameters)})
        tool.wire[_FLAT] = encoded
    return cast("JSON", orjson.Fragment(encoded))


def _choice(choice: ToolChoice) -> JSON:
    return choice if choice in {"auto", "none", "required"} else {"type": "function", "name": choice}


def _text_format(options: CallOptions) -> JSONObject | None:
    if (schema := options.json_schema) is not None:
        return {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": is_strict(schema)}}
    return {"format": {"type": "json_object"}} if options.json_object else None


def _reasoning(think: bool | None) -> JSONObject | None:
    if think is None:
        return None
    return {"effort": "medium", "summary": "auto"} if think else {"effort": "none"}


def _translated(extra: Mapping[str, JSON]) -> JSONObject:
    """Return added parameters under this API's names. What would make it keep a state of its own is left out."""
    said = {key: value for key, value in extra.items() if key not in _NEVER}
    for name in ("max_tokens", "max_completion_tokens"):
        if name in said:
            said.setdefault("max_output_tokens", said.pop(name))
    if (effort := said.pop("reasoning_effort", None)) is not None:
        said = merge({"reasoning": {"effort": effort}}, said)
    if (verbosity := said.pop("verbosity", None)) is not None:
        said = merge({"text": {"verbosity": verbosity}}, said)
    return said


def _without_sampling(head: dict[str, JSON]) -> dict[str, JSON]:
    """Return the head without sampling fields when the model is told to reason, which does not go with them."""
    if effort_of(head) in {None, "none"}:
        return head
    return {key: value for key, value in head.items() if key not in _SAMPLING}
