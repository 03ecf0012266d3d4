"""Reads a request of Ollama's `/api/chat`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from mud_assistant.llm.dialects.dialect import AskedCall
from mud_assistant.llm.dialects.fields import NO_IMAGES, RequestFields
from mud_assistant.llm.dialects.images import image_of, said_by_user
from mud_assistant.llm.dialects.tools import check_names, paired, read_tool
from mud_assistant.llm.loose_json.repair import parse_arguments
from mud_assistant.llm.messages import (
    JSON,
    Block,
    JSONObject,
    Message,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    system,
    tool_results,
)
from mud_assistant.llm.request import CallOptions

_KNOWN = frozenset({"model", "messages", "tools", "stream", "format", "options", "think", "logprobs", "top_logprobs"})
_HINTS = frozenset({"keep_alive", "truncate", "shift"})
#: The options that other servers know under the same names, and their bounds.
_SAMPLING = {"top_p": (0, 1), "min_p": (0, 1), "presence_penalty": (-2, 2), "frequency_penalty": (-2, 2)}
_OPTIONS = frozenset({*_SAMPLING, "temperature", "num_predict", "seed", "stop", "top_k"})
#: How Ollama runs a model on its own machine, and how it samples where no other server has such a setting.
_MACHINE = frozenset(
    {
        "num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "num_keep", "numa", "low_vram", "vocab_only",
        "use_mmap", "use_mlock", "use_mlx", "f16_kv", "logits_all", "embedding_only", "tfs_z", "typical_p",
        "repeat_last_n", "repeat_penalty", "mirostat", "mirostat_tau", "mirostat_eta", "penalize_newline",
    }
)  # fmt: skip


def read_request(body: JSONObject) -> AskedCall:
    """Return what the client asks. Raises RequestRefused."""
    fields = RequestFields(body)
    model = fields.name("model")
    dropped = fields.hints(_KNOWN, _HINTS)
    if fields.flag("logprobs") or fields.count("top_logprobs", 0):
        raise fields.unsupported("logprobs")
    messages = paired(_turns(fields))
    if not messages:
        raise fields.invalid("messages", "at least one message with content is required")
    tools = [_tool(tool) for tool in fields.objects("tools")]
    check_names(tools)
    return AskedCall(
        model,
        fields.flag("stream", default=True),
        messages,
        tools,
        None,
        _options(fields, dropped),
        body,
        tuple(dropped),
    )


def _tool(tool: RequestFields) -> ToolSpec:
    if (kind := tool.text("type", "function")) != "function":
        raise tool.unsupported("type", f"a tool of type {kind!r} cannot be carried to this model")
    tool.hints({"type", "function"}, ())
    function = tool.object("function")
    if function is None:
        raise tool.invalid("function", "an object is required")
    function.hints({"name", "description", "parameters", "strict"}, ())
    return read_tool(function, "parameters")


def _turns(fields: RequestFields) -> Iterator[tuple[str, Message]]:
    """Yield each message with its path; calls without ids are given some, and results are matched by name and order."""
    number = count()
    waiting: list[ToolCall] = []
    for turn in fields.objects("messages"):
        turn.hints({"role", "content", "thinking", "tool_calls", "tool_name", "tool_call_id", "name", "images"}, ())
        text, role = turn.text("content", ""), turn.text("role")
        images = [image_of(turn, "images", data.partition("base64,")[2] or data) for data in turn.texts("images")]
        if images and role != "user":
            raise turn.unsupported("images", NO_IMAGES)
        match role:
            case "system":
                if text:
                    yield turn.path, system(text)
            case "user":
                if text or images:
                    yield turn.path, said_by_user([*([text] if text else []), *images])
            case "assistant":
                message = _assistant(turn, text, number)
                waiting = list(message.tool_calls)
                if message.blocks:
                    yield turn.path, message
            case "tool":
                yield turn.path, tool_results([ToolResult(_answered(turn, waiting), "", text)])
            case _:
                raise turn.invalid("role", "one of system, user, assistant, tool is required")


def _assistant(turn: RequestFields, text: str, number: Iterator[int]) -> Message:
    blocks: list[Block] = []
    if thought := turn.text("thinking", ""):
        blocks.append(Reasoning(thought))
    if text:
        blocks.append(Text(text))
    for call in turn.objects("tool_calls"):
        call.hints({"id", "type", "function"}, {"index"})
        function = call.object("function")
        if function is None:
            raise call.invalid("function", "an object is required")
        function.hints({"name", "arguments", "index"}, ())
        call_id = call.text("id", "") or f"call_{next(number)}"
        blocks.append(_call(function, call_id))
    return Message(Role.ASSISTANT, tuple(blocks))


def _call(function: RequestFields, call_id: str) -> ToolCall:
    """Return a call. Arguments are an object here; some clients send the text of one, as OpenAI's do."""
    name, said = function.name("name"), function.get("arguments")
    if isinstance(said, str):
        parsed, problem = parse_arguments(said, complete=True)
        return ToolCall(call_id, name, parsed, problem)
    arguments = function.object("arguments")
    return ToolCall(call_id, name, {} if arguments is None else arguments.value)


def _answered(turn: RequestFields, waiting: list[ToolCall]) -> str:
    """Return the id of the call that a result answers, which waits no longer; empty when it answers none.

    It is the one with this id, else the first of this name, else, for a result without a name, the first.
    """
    call_id, name = turn.text("tool_call_id", ""), turn.text("tool_name", "") or turn.text("name", "")
    if call_id:
        return call_id
    for call in waiting:
        if name in {"", call.name}:
            waiting.remove(call)
            return call.id
    return name


def _options(fields: RequestFields, dropped: list[str]) -> CallOptions:
    options = fields.object("options") or RequestFields({}, "options")
    dropped += options.hints(_OPTIONS, _MACHINE)
    extra: dict[str, JSON] = {}
    for name, least, most in (
        ("top_p", 0, 1),
        ("min_p", 0, 1),
        ("presence_penalty", -2, 2),
        ("frequency_penalty", -2, 2),
    ):
        if (value := options.number(name, least, most)) is not None:
            extra[name] = value
    if (top_k := options.count("top_k", 0)) is not None:
        extra["top_k"] = top_k
    most_tokens = options.count("num_predict")
    schema, json_object = _form(fields)
    return CallOptions(
        temperature=options.number("temperature", 0, 2),
        max_tokens=most_tokens if most_tokens is not None and most_tokens > 0 else None,
        seed=options.count("seed"),
        stop=options.texts("stop"),
        think=_think(fields),
        schema=schema,
        json_object=json_object,
        extra_params=extra,
    )


def _form(fields: RequestFields) -> tuple[JSONObject | None, bool]:
    """Return the schema of the answer's text, and whether it must be a JSON object of any form."""
    said = fields.get("format")
    if said is None or said == "":
        return None, False
    if said == "json":
        return None, True
    schema = fields.object("format")
    return (None if schema is None else schema.value), False


def _think(fields: RequestFields) -> bool | None:
    """Tell whether thinking is on or off, None where the request does not say. A word says how much."""
    said = fields.get("think")
    if isinstance(said, str) and said in {"low", "medium", "high", "max"}:
        return True
    return fields.flag("think") if said is not None else None
