"""Defines the form of each value as a JSON object. Pure; `codec.py` makes records of them.

Values of a union carry their kind as `k`. An unknown kind was written by a newer version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.events import outcome
from mud_assistant.assistant.events.events import (
    Arrived,
    ByRule,
    ChannelSaid,
    Emoted,
    Event,
    Gave,
    Left,
    Noticed,
    Paged,
    Said,
    Whispered,
)
from mud_assistant.assistant.journal.codec import Codec, Plain
from mud_assistant.assistant.journal.errors import NewerRecord
from mud_assistant.llm.messages import (
    Block,
    Citation,
    Message,
    RawTurn,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from mud_assistant.llm.response import FinishReason, LLMResponse, RateLimitInfo, Usage
from mud_assistant.tools.context import Pending
from mud_assistant.tools.errors import Status
from mud_assistant.tools.game import Target
from mud_assistant.tools.result import Executed
from mud_assistant.tools.tool import Category
from mud_assistant.tools.trust import Kind, Principal

_EVENTS: Mapping[str, type[Event]] = {
    "said": Said,
    "whispered": Whispered,
    "paged": Paged,
    "channel": ChannelSaid,
    "emoted": Emoted,
    "gave": Gave,
    "arrived": Arrived,
    "left": Left,
    "noticed": Noticed,
}
_BLOCKS: Mapping[str, type[Block]] = {
    "text": Text,
    "reasoning": Reasoning,
    "call": ToolCall,
    "result": ToolResult,
    "server_call": ServerToolCall,
    "server_result": ServerToolResult,
    "citation": Citation,
}
_OUTCOMES: Mapping[str, type[outcome.Outcome]] = {
    "answered": outcome.Answered,
    "nothing": outcome.NothingToDo,
    "limit": outcome.LimitReached,
    "failed": outcome.Failed,
    "cancelled": outcome.Cancelled,
}
#: The kind of each class.
_KIND_OF = {cls: kind for kinds in (_EVENTS, _BLOCKS, _OUTCOMES) for kind, cls in kinds.items()}
#: The kind of each class of event.
EVENT_KINDS: Mapping[type[Event], str] = {cls: kind for kind, cls in _EVENTS.items()}
#: The fields of each class, looked up once.
_FIELDS: dict[type, tuple[str, ...]] = {}


def _names(cls: Any) -> tuple[str, ...]:
    """Return the names of the fields that the class is constructed from."""
    names = _FIELDS.get(cls)
    if names is None:
        is_struct = issubclass(cls, Struct)
        names = _FIELDS[cls] = cls.__struct_fields__ if is_struct else tuple(each.name for each in fields(cls))
    return names


def _flat(value: Any) -> Plain:
    """Return the value's own fields, unchanged."""
    return {name: getattr(value, name) for name in _names(type(value))}


def _known(value: Any) -> Plain:
    """Return the value's own fields without those that are None. For classes whose fields default to None.

    In a record with a null, every number must be looked at (`codec.exact_json`), which costs more than the rest.
    """
    return {name: part for name in _names(type(value)) if (part := getattr(value, name)) is not None}


def _pack_tagged(value: Any) -> Plain:
    cls = type(value)
    plain = {"k": _KIND_OF[cls]}
    for name in _names(cls):
        plain[name] = getattr(value, name)
    return plain


def _kind(plain: Plain, kinds: Mapping[str, type]) -> Any:
    """Return the class of a tagged object. Raises NewerRecord when its kind is unknown."""
    kind = plain["k"]
    if kind not in kinds:
        raise NewerRecord(f"a record of the unknown kind {str(kind)[:40]!r}")
    return kinds[kind]


def _arguments(plain: Plain, *left_out: str) -> Plain:
    return {name: value for name, value in plain.items() if name not in {"k", "v", *left_out}}


def _pack_event(event: Event) -> Plain:
    plain = {**_pack_tagged(event), "who": _flat(event.who)}
    if plain.get("authority", 0) is None:
        del plain["authority"]
    if not plain.get("of_itself", True):
        del plain["of_itself"]
    if (by_rule := plain.pop("by_rule", None)) is not None:
        parts = {name: part for name, part in _known(by_rule).items() if part not in ("", ()) or name == "tool"}
        plain["by_rule"] = {**parts, "requester": _flat(by_rule.requester)} if by_rule.requester else parts
    if (granted := plain.pop("granted", None)) is not None:
        plain["granted"] = _pack_pending(granted)
    return plain


def _unpack_event(plain: Plain) -> Event:
    parts = {**_arguments(plain), "who": _unpack_principal(plain["who"])}
    if "granted" in parts:
        parts["granted"] = _unpack_pending(parts["granted"])
    if by_rule := parts.get("by_rule"):
        asker = _unpack_principal(by_rule["requester"]) if "requester" in by_rule else None
        parts["by_rule"] = ByRule(**{**by_rule, "requester": asker, "only": tuple(by_rule.get("only", ()))})
    event: Event = _kind(plain, _EVENTS)(**parts)
    return event


def _unpack_principal(plain: Plain) -> Principal:
    return Principal(**{**plain, "kind": Kind(plain["kind"])})


def _pack_pending(pending: Pending) -> Plain:
    plain = {**_known(pending), "covers": [_flat(target) for target in pending.covers]}
    return {**plain, **{name: _flat(plain[name]) for name in ("requester", "approved_by") if name in plain}}


def _unpack_pending(plain: Plain) -> Pending:
    people: Plain = {name: _unpack_principal(plain[name]) for name in ("requester", "approved_by") if name in plain}
    covers = tuple(Target(**target) for target in plain["covers"])
    parts: Plain = {"requester": None, **plain, **people, "commands": tuple(plain["commands"]), "covers": covers}
    return Pending(**parts)


def _unpack_outcome(plain: Plain) -> outcome.Outcome:
    cls: type[outcome.Outcome] = _kind(plain, _OUTCOMES)
    if cls is outcome.Answered:
        return outcome.Answered(tuple(plain["acts"]))
    if cls is outcome.LimitReached:
        return outcome.LimitReached(outcome.Limit(plain["limit"]), plain["cause"], plain.get("account", ""))
    return cls(**_arguments(plain))


def _unpack_block(plain: Plain) -> Block:
    block: Block = _kind(plain, _BLOCKS)(**_arguments(plain))
    return block


def _unpack_call(plain: Plain) -> ToolCall:
    return ToolCall(**_arguments(plain))


def _pack_call(call: ToolCall) -> Plain:
    return {"id": call.id, "name": call.name, "arguments": call.arguments, "problem": call.problem}


def _pack_result(result: ToolResult) -> Plain:
    return {"call_id": result.call_id, "name": result.name, "text": result.text, "failed": result.failed}


def _pack_block(block: Block) -> Plain:
    """Return the form of a block. The most frequent kinds name their fields here, which saves looking them up."""
    match block:
        case Text():
            return {"k": "text", "text": block.text}
        case ToolCall():
            return {"k": "call", **_pack_call(block)}
        case ToolResult():
            return {"k": "result", **_pack_result(block)}
    return _pack_tagged(block)


def _pack_message(message: Message) -> Plain:
    plain: Plain = {"role": message.role, "blocks": [_pack_block(block) for block in message.blocks]}
    if message.raw is not None:
        plain["raw"] = _flat(message.raw)
    return plain


def _unpack_message(plain: Plain) -> Message:
    raw = plain.get("raw")
    turn = RawTurn(raw["provider"], tuple(raw["blocks"])) if raw else None
    return Message(Role(plain["role"]), tuple(_unpack_block(block) for block in plain["blocks"]), turn)


def _pack_messages(messages: Sequence[Message]) -> Plain:
    return {"messages": [_pack_message(message) for message in messages]}


def _unpack_messages(plain: Plain) -> tuple[Message, ...]:
    return tuple(_unpack_message(message) for message in plain["messages"])


def _pack_response(response: LLMResponse) -> Plain:
    plain = {
        "message": _pack_message(response.message),
        "finish_reason": response.finish_reason,
        "usage": _known(response.usage),
        "provider": response.provider,
        "model": response.model,
        "from_fallback": response.from_fallback,
        "repaired": response.repaired,
        "is_beginning": response.is_beginning,
        **({"shown_from": response.shown_from} if response.shown_from else {}),
    }
    if response.rate_limit_info is not None:
        plain["rate_limit_info"] = _known(response.rate_limit_info)
    if response.structured is not None:
        plain["structured"] = response.structured
    return plain


def _unpack_response(plain: Plain) -> LLMResponse:
    info = plain.get("rate_limit_info")
    return LLMResponse(
        _unpack_message(plain["message"]),
        FinishReason(plain["finish_reason"]),
        Usage(**plain["usage"]),
        rate_limit_info=None if info is None else RateLimitInfo(**info),
        **_arguments(plain, "message", "finish_reason", "usage", "rate_limit_info"),
    )


def _pack_executed(executed: Executed) -> Plain:
    return {
        "call": _pack_call(executed.call),
        "result": _pack_result(executed.result),
        "status": executed.status,
        "category": executed.category,
        "seconds": executed.seconds,
        "authority": executed.authority,
        "sources": executed.sources,
        **({"rule": executed.rule} if executed.rule else {}),
    }


def _unpack_executed(plain: Plain) -> Executed:
    return Executed(
        _unpack_call(plain["call"]),
        ToolResult(**plain["result"]),
        Status(plain["status"]),
        None if plain["category"] is None else Category(plain["category"]),
        sources=tuple(plain.get("sources", ())),
        **_arguments(plain, "call", "result", "status", "category", "sources"),  # older records have fewer fields
    )


EVENT: Codec[Event] = Codec(_pack_event, _unpack_event)
OUTCOME: Codec[outcome.Outcome] = Codec(  # nothing to do, without a cause, as it was written before there were causes
    lambda end: {"k": "nothing"} if end == outcome.NothingToDo() else _pack_tagged(end), _unpack_outcome
)
CALL: Codec[ToolCall] = Codec(_pack_call, _unpack_call)
MESSAGE: Codec[Message] = Codec(_pack_message, _unpack_message)
MESSAGES: Codec[Sequence[Message]] = Codec(_pack_messages, _unpack_messages)
#: A `structured` value that is a pydantic model comes back as JSON: its class is not written down.
RESPONSE: Codec[LLMResponse] = Codec(_pack_response, _unpack_response)
EXECUTED: Codec[Executed] = Codec(_pack_executed, _unpack_executed)
