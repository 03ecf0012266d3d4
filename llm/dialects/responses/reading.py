"""Reads a request of OpenAI's Responses API."""

from __future__ import annotations

from mud_assistant.llm.dialects.dialect import AskedCall
from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.dialects.responses.items import ItemReader
from mud_assistant.llm.dialects.responses.offered import choose, read_offered
from mud_assistant.llm.dialects.tools import forbids_parallel, paired
from mud_assistant.llm.messages import JSON, JSONObject, system
from mud_assistant.llm.request import CallOptions

_KNOWN = frozenset(
    {
        "model", "input", "instructions", "stream", "tools", "tool_choice", "parallel_tool_calls", "text", "reasoning",
        "max_output_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs",
        "background",
    }
)  # fmt: skip
_HINTS = frozenset(
    {
        "metadata", "user", "safety_identifier", "service_tier", "prompt_cache_key", "prompt_cache_retention",
        "prompt_cache_options", "client_metadata", "store", "include", "truncation", "stream_options",
        "max_tool_calls", "context_management", "moderation",
    }
)  # fmt: skip
#: What needs an answer of before: this server keeps none.
_STORED = ("previous_response_id", "conversation", "prompt")


def read_request(body: JSONObject) -> AskedCall:
    """Return what the client asks. Raises RequestRefused."""
    fields = RequestFields(body)
    model = fields.name("model")
    _refuse_state(fields)
    dropped = fields.hints(_KNOWN, _HINTS)
    offered = read_offered(fields, dropped)
    choice, specs = choose(fields, offered)
    front = [system(text)] if (text := fields.text("instructions", "")) else []
    messages = paired(ItemReader(offered, dropped).read(fields))
    if not messages:
        raise fields.invalid("input", "a string, or at least one item with content, is required")
    return AskedCall(
        model,
        fields.flag("stream"),
        [*front, *messages],
        specs,
        choice,
        _options(fields, dropped),
        body,
        tuple(dict.fromkeys(dropped)),
        namespaces=offered.namespaces,
    )


def _refuse_state(fields: RequestFields) -> None:
    """Raise RequestRefused for what only a server that keeps answers can do."""
    for name in _STORED:
        if fields.has(name):
            raise fields.unsupported(name, "nothing is stored here; send the whole conversation as input")
    if fields.flag("background"):
        raise fields.unsupported("background", "nothing is stored here; wait for the answer, or stream it")
    if fields.count("top_logprobs", 0):
        raise fields.unsupported("top_logprobs")


def _options(fields: RequestFields, dropped: list[str]) -> CallOptions:
    extra: dict[str, JSON] = {}
    for name, least, most in (("top_p", 0, 1), ("presence_penalty", -2, 2), ("frequency_penalty", -2, 2)):
        value = fields.number(name, least, most)
        if value is not None and value != (name == "top_p"):  # 1, and 0 for a penalty, change nothing
            extra[name] = value
    if forbids_parallel(fields):
        extra["parallel_tool_calls"] = False
    schema, json_object = _form(fields, dropped)
    return CallOptions(
        temperature=fields.number("temperature", 0, 2),
        max_tokens=fields.count("max_output_tokens", 1),
        think=_think(fields, dropped),
        schema=schema,
        json_object=json_object,
        extra_params=extra,
    )


def _think(fields: RequestFields, dropped: list[str]) -> bool | None:
    """Tell whether reasoning is on or off, None where the request does not say. How much is left to the provider."""
    reasoning = fields.object("reasoning")
    if reasoning is None:
        return None
    dropped += reasoning.hints({"effort"}, {"summary", "generate_summary", "context", "mode"})
    effort = reasoning.text("effort", "")
    return effort != "none" if effort else None


def _form(fields: RequestFields, dropped: list[str]) -> tuple[JSONObject | None, bool]:
    """Return the schema of the answer's text, and whether it must be a JSON object of any form."""
    text = fields.object("text")
    if text is None:
        return None, False
    dropped += text.hints({"format"}, {"verbosity"})
    form = text.object("format")
    match form and form.text("type"):
        case None | "text":
            return None, False
        case "json_object":
            return None, True
        case "json_schema":
            assert form is not None
            form.hints({"type", "name", "description", "schema", "strict"}, ())
            schema = form.object("schema")
            if schema is None:
                raise form.invalid("schema", "an object is required")
            return schema.value, False
    raise text.invalid("format", "one of text, json_object, json_schema is required")
