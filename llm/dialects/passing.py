"""Says what a request may hold that is passed on as it was sent: nothing that widens what its sender may spend or see.

    a field of the request     one that is known to be harmless, asks for nothing, or that the owner lets pass
    an id of something kept    that was made for the same sender; files and the like are never
    an address                 to a vendor on the internet; a server of the owner's would ask it from their network

What the sender's own tools are given or return, and schemas, are not looked into: nobody follows what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from mud_assistant.llm.dialects.failures import unsupported
from mud_assistant.llm.messages import JSON, JSONObject

#: Tools, sampling and the like, under the names that most dialects share.
_SHARED = frozenset(
    {
        "model", "stream", "tools", "tool_choice", "temperature", "top_p", "top_k", "metadata", "thinking",
        "context_management",
    }
)  # fmt: skip
_CHAT = frozenset(
    {
        "messages", "stream_options", "max_tokens", "max_completion_tokens", "min_tokens", "n", "stop",
        "stop_token_ids", "seed", "min_p", "top_a", "typical_p", "presence_penalty", "frequency_penalty",
        "repetition_penalty", "repeat_penalty", "repeat_last_n", "length_penalty", "mirostat", "mirostat_tau",
        "mirostat_eta", "logit_bias", "logprobs", "top_logprobs", "parallel_tool_calls", "functions", "function_call",
        "response_format", "verbosity", "reasoning", "reasoning_effort", "include_reasoning", "enable_thinking",
        "thinking_budget", "chat_template_kwargs", "user", "store", "safety_identifier", "prompt_cache_key",
        "prompt_cache_retention", "cache_control", "prediction", "modalities", "audio", "web_search_options", "usage",
        "transforms", "structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar",
        "grammar", "json_schema", "cache_prompt", "keep_alive", "options", "ignore_eos", "skip_special_tokens",
    }
)  # fmt: skip
_RESPONSES = frozenset(
    {
        "input", "instructions", "stream_options", "max_output_tokens", "max_tool_calls", "top_logprobs",
        "parallel_tool_calls", "text", "reasoning", "include", "store", "user", "safety_identifier",
        "prompt_cache_key", "prompt_cache_retention", "truncation", "client_metadata", "previous_response_id", "seed",
        "stop", "presence_penalty", "frequency_penalty",
    }
)  # fmt: skip
_MESSAGES = frozenset(
    {
        "messages", "max_tokens", "system", "stop_sequences", "cache_control", "output_config", "output_format",
        "mcp_servers",
    }
)  # fmt: skip
_OLLAMA = frozenset(
    {
        "messages", "format", "options", "keep_alive", "think", "logprobs", "top_logprobs", "truncate", "shift",
    }
)  # fmt: skip
#: The fields of each dialect that pass.
_FIELDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "chat": _SHARED | _CHAT,
        "responses": _SHARED | _RESPONSES,
        "messages": _SHARED | _MESSAGES,
        "ollama": _SHARED | _OLLAMA,
    }
)
#: Values with which a field that does not pass asks for nothing that costs more.
_HARMLESS: Mapping[str, tuple[JSON, ...]] = MappingProxyType(
    {"service_tier": ("auto", "default", "standard", "standard_only", "flex"), "speed": ("standard",)}
)
#: What is looked into.
_INNER = ("messages", "input", "system", "instructions", "tools", "mcp_servers", "chat_template_kwargs")
#: The words of somebody, the arguments of calls, schemas, and the sources of an earlier answer.
_OPAQUE = frozenset(
    {
        "text", "arguments", "input", "parameters", "function", "input_schema", "schema", "description", "thinking",
        "reasoning", "refusal", "annotations", "citations", "action", "results", "search_results",
    }
)  # fmt: skip
#: The members of most messages and parts, which are nothing of all this.
_USUAL = frozenset({"role", "type", "text", "id", "name", "cache_control", "call_id", "tool_use_id", "tool_call_id"})
#: Parts in which a provider tells what it found in the web.
_OF_THE_WEB = ("web_search_", "web_fetch_r")
#: The ids of what is kept at the provider for all who use the owner's account, and a template that runs there.
_KEPT = frozenset(
    {
        "file_id", "file_ids", "vector_store_id", "vector_store_ids", "container_id", "connector_id", "skill_id",
        "chat_template",
    }
)  # fmt: skip
#: Where an address may stand instead of what is there.
_CONTENT = frozenset({"data", "file_data", "image", "audio", "video", "images", "path", "uri"})
_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_HOW = "the owner of the gateway lets it pass with [gateway] forwarded_fields"
_KEPT_THERE = "what is kept at the provider is not passed on"
_ADDRESS = "an address is not passed on to a server of the owner's: send what stands there, as data:"
_OF_ANOTHER = "this was not made for your key, or is not known any more: send the conversation itself"


class Passing(Struct, frozen=True):
    """What passes besides what is harmless.

    `fields` are names that the owner lets pass. `asks_own_server`: the request goes to a server of the owner's. `knows`
    tells whether an id of an answer, or of an item of one, was made for the sender.
    """

    fields: frozenset[str] = frozenset()
    asks_own_server: bool = True
    knows: Callable[[str], bool] = lambda _: False

    def check(self, dialect: str, body: JSONObject) -> None:
        """Raise RequestRefused, with the path of the field, for what does not pass."""
        if (known := _FIELDS.get(dialect)) is not None:
            for name, value in body.items():
                self._check_field(name, value, known)
        if isinstance(earlier := body.get("previous_response_id"), str) and "previous_response_id" not in self.fields:
            self._check_known(earlier, "previous_response_id")
        for item, path in _items(body):
            if _only_refers(item) and "item_reference" not in self.fields:
                self._check_known(str(item["id"]), f"{path}.id")
        for name in _INNER:
            for above, key, value in _members(body.get(name), name):
                if (why := self._trouble(key.casefold(), value)) and not self.fields & {above, key}:
                    path = _path_to(body, value, key)
                    raise unsupported(f"{path}: {why}; {_HOW}", path)

    def _check_field(self, name: str, value: JSON, known: Collection[str]) -> None:
        if name in known or name in self.fields or value in _HARMLESS.get(name, ()):
            return
        # Some servers take a name in capitals for the same: two readers must not see two requests.
        if value or name.casefold() in known:
            raise unsupported(f"{name[:100]}: not passed on by this gateway, leave it out; {_HOW}", name[:100])

    def _check_known(self, made: str, path: str) -> None:
        if not self.knows(made):
            raise unsupported(f"{path}: {_OF_ANOTHER}", path)

    def _trouble(self, key: str, value: JSON) -> str:
        """Return why a member does not pass, empty when it does."""
        refers = key in _KEPT or (key == "container" and isinstance(value, str))
        if value and (refers or (key == "audio" and isinstance(value, Mapping) and value.get("id"))):
            return _KEPT_THERE
        return _ADDRESS if self.asks_own_server and _is_address(key, value) else ""


def _items(body: JSONObject) -> Iterator[tuple[Mapping[str, JSON], str]]:
    """Yield the items of a request of the Responses API, each with its path."""
    said = body.get("input")
    for at, item in enumerate(said if isinstance(said, list) else ()):
        if isinstance(item, Mapping):
            yield item, f"input[{at}]"


def _only_refers(item: Mapping[str, JSON]) -> bool:
    """Tell whether an item says nothing but its id: the provider puts in its place what it keeps under it."""
    said = {name for name, value in item.items() if value}
    return "id" in said and (item.get("type") == "item_reference" or said <= {"id", "type", "status"})


def _members(value: JSON, above: str) -> Iterator[tuple[str, str, JSON]]:
    """Yield the name above, the name and the value of each member that is looked into, at any depth."""
    waiting = [(value, above)]
    while waiting:
        value, above = waiting.pop()
        if type(value) is list:
            waiting += [(inner, above) for inner in value if type(inner) is dict or type(inner) is list]
        elif type(value) is dict and not str(value.get("type", "")).startswith(_OF_THE_WEB):
            for key, inner in value.items():
                if key in _USUAL or key.casefold() in _OPAQUE:
                    continue
                yield above, key, inner
                if type(inner) is dict or type(inner) is list:
                    waiting.append((inner, key))


def _path_to(body: JSONObject, wanted: JSON, key: str) -> str:
    """Return the path of the member with this key and this very value."""
    waiting: list[tuple[JSON, str]] = [(body, "")]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, list):
            waiting += [(inner, f"{path}[{at}]") for at, inner in enumerate(value)]
        elif isinstance(value, Mapping):
            if value.get(key) is wanted:
                return f"{path}.{key}".removeprefix(".")
            waiting += [(inner, f"{path}.{name}") for name, inner in value.items()]
    return key


def _is_address(key: str, value: JSON) -> bool:
    """Tell whether a member may be an address that a server follows, and not the thing itself."""
    if isinstance(value, list):
        return any(_is_address(key, inner) for inner in value)
    if not isinstance(value, str) or not value:
        return False
    found = _SCHEME.match(value)
    is_data = found is not None and found.group(1).casefold() == "data"
    if key == "url" or key.endswith("_url") or key in {"path", "uri"}:
        return not is_data
    return key in _CONTENT and found is not None and not is_data
