"""The settings of a model: which one, where, and how it is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from mud_assistant.assistant.config.known_providers import holders, holds, server_tools_of, takers, takes
from mud_assistant.assistant.config.sections import Address, KeyReference, Seconds, Settings
from mud_assistant.assistant.keys.reference import check_reference
from mud_assistant.llm.embedded.fetching.hub_name import is_hub_name, parse_hub_name
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.request import Structured

#: Parts of a request that are the program's own; settings must not replace them.
_OWN_PARTS = ("messages", "model", "stream", "system")
_DURATION = re.compile(r"-?(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+")
_WHOLE = re.compile(r"-?\d+")
_HEADER_TEXT = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
_VERSION = re.compile(r"\d{4}-\d\d-\d\d(-preview)?|preview|latest|v1")
_BETA = re.compile(r"[\w.-]{1,100}")
#: The field of an MCP server that is a key. It is given by reference, as every key is.
_TOKEN = "authorization_token"  # noqa: S105  (a name)
#: Deeper than any API needs, and shallow enough for every JSON parser.
_MAX_DEPTH = 32
_MAX_NUMBER = 2**63 - 1


def _taken(value: object, info: ValidationInfo) -> object:
    """Return the value if the provider takes this setting. Raises ValueError, which names the providers that do."""
    provider, setting = info.data.get("provider", ""), str(info.field_name)
    if value not in (None, "", ()) and not takes(provider, setting):
        raise ValueError(f"the provider '{provider}' does not take it; those that do: {', '.join(takers(setting))}")
    return value


def _form(value: str, info: ValidationInfo) -> str:
    provider = info.data.get("provider", "")
    if value in {"schema", "json"} and not holds(provider, value):
        others = ", ".join(holders(value))
        raise ValueError(f"the provider '{provider}' has no such mode '{value}'; those that do: {others}")
    return value


def _duration(value: str | int | None) -> str | int | None:
    if not isinstance(value, str):
        return value
    if _WHOLE.fullmatch(value):
        return int(value)
    if value and not _DURATION.fullmatch(value):
        raise ValueError('give a duration such as "10m" or "1h30m", a number of seconds, or -1 for ever')
    return value or None


def _header_text(value: str) -> str:
    if value and not _HEADER_TEXT.fullmatch(value):
        raise ValueError("give one line of at most 200 plain characters")
    return value


def _beta(value: str) -> str:
    if not _BETA.fullmatch(value):
        raise ValueError("give the name of a feature, such as context-1m-2025-08-07")
    return value


def _version(value: str) -> str:
    if value and not _VERSION.fullmatch(value):
        raise ValueError("give a date, such as 2023-06-01")
    return value


def _unset(value: object) -> object:
    return None if value == "" else value


def _several(value: object) -> object:
    """Return a sequence for a setting that may also be given as a single value."""
    return (value,) if isinstance(value, str | dict) and value else value or ()


# Any: tables as the provider's API has them.
def _tools(tools: tuple[str | dict[str, Any], ...], info: ValidationInfo) -> tuple[str | dict[str, Any], ...]:
    """Return the server tools if each is a known short name or a table with a type. Raises ValueError."""
    known = server_tools_of(info.data.get("provider", ""))
    for tool in tools:
        if isinstance(tool, str):
            if known and tool not in known:
                names = ", ".join(known)
                raise ValueError(f"there is no server tool '{tool}'; give one of {names}, or a table with its type")
        elif not str(tool.get("type", "")):
            raise ValueError('a server tool that is a table needs a type, such as { type = "web_search_20250305" }')
        else:
            _check_json(tool)
    return tools


def _params(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that are added to requests. Raises ValueError when one is set by the program itself."""
    for name in _OWN_PARTS:
        if name in params:
            raise ValueError(f"'{name}' is set by the program and cannot be replaced")
    _check_json(params)
    for reference in token_references(params):
        check_reference(reference)
    return params


_TAKEN = AfterValidator(_taken)
#: How long something is kept: a duration in Go's form, or a number of seconds; None when it is not set.
Duration = Annotated[str | int | None, AfterValidator(_duration), _TAKEN]
#: Text that goes into a header of a request.
HeaderText = Annotated[str, AfterValidator(_header_text), _TAKEN]
#: Text that only some providers take.
SpecialText = Annotated[str, _TAKEN]
#: Names of a provider's beta features.
Betas = Annotated[tuple[Annotated[str, AfterValidator(_beta)], ...], BeforeValidator(_several), _TAKEN]
#: A version of an API, empty when it is not set: a date, or at Azure one of its words.
ApiVersion = Annotated[str, AfterValidator(_version), _TAKEN]
#: A limit in tokens, None when it is not set.
ThinkingTokens = Annotated[int | None, Field(ge=0, le=200_000), BeforeValidator(_unset), _TAKEN]
#: Tools that a provider runs itself.
ServerTools = Annotated[tuple[str | dict[str, Any], ...], BeforeValidator(_several), _TAKEN, AfterValidator(_tools)]
#: Parameters that are added to requests.
ExtraParams = Annotated[dict[str, Any], AfterValidator(_params)]
#: How a server is asked to keep an answer to JSON.
Form = Annotated[Structured, AfterValidator(_form)]


# Any: what a request holds.
def token_references(params: Mapping[str, Any]) -> list[str]:
    """Return the references to the keys of the MCP servers in these parameters, each once."""
    return list(dict.fromkeys(str(server[_TOKEN]) for server in _mcp_servers(params) if server.get(_TOKEN)))


def with_tokens(params: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters with the references of their MCP servers replaced by the keys."""
    if not keys:
        return dict(params)
    servers = [
        {**server, _TOKEN: keys[str(server[_TOKEN])]} if server.get(_TOKEN) else server
        for server in _mcp_servers(params)
    ]
    return {**params, "mcp_servers": servers}


def _mcp_servers(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    servers = params.get("mcp_servers")
    return [server for server in servers if isinstance(server, Mapping)] if isinstance(servers, list | tuple) else []


# Any: tables as the provider's API has them.
def expanded_tools(provider: str, tools: tuple[str | dict[str, Any], ...]) -> tuple[JSONObject, ...]:
    """Return the server tools as requests have them. A name that the provider does not know is left out."""
    known = server_tools_of(provider)
    told = [known.get(tool) if isinstance(tool, str) else tool for tool in tools]
    return tuple(tool for tool in told if tool is not None)


def _check_json(value: object, depth: int = 0) -> None:
    """Reject a value that a request cannot carry. Raises ValueError."""
    if depth > _MAX_DEPTH:
        raise ValueError("it is nested too deep")
    if isinstance(value, Mapping):
        for runner in value.values():
            _check_json(runner, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_json(item, depth + 1)
    elif not isinstance(value, str | int | float | bool | None):
        raise ValueError("a request holds text, numbers, yes and no, lists and tables: write anything else in quotes")  # noqa: TRY004  (pydantic reports only ValueErrors)
    elif isinstance(value, int) and not -_MAX_NUMBER <= value <= _MAX_NUMBER:
        raise ValueError("a number is too large")


def _named(value: str) -> str:
    """Return the name of a model, one of a hub in its usual form. Raises ValueError."""
    return str(parse_hub_name(value)) if is_hub_name(value) else value


#: The name of a model at its server, or of an embedded one.
ModelName = Annotated[str, AfterValidator(_named)]


class PriceConfig(Settings):
    """What a million tokens cost, in the owner's currency. Unset: the price of `input`."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)


class ModelConfig(Settings, defer_build=False):
    """Which model thinks, and how it is asked."""

    #: "auto" takes a local Ollama that answers and has a model, else the embedded model.
    provider: str = "auto"
    #: Empty: the provider's own choice where it has one. Of the embedded models "small", "better", the path of a GGUF
    #: file, or "hf:OWNER/REPO:QUANT" for one of a hub.
    model: ModelName = ""
    #: Fetch the better embedded model and the sentence vectors while the usual one talks, and change over; unset: in a
    #: trial at a terminal and in the demo game.
    fetch_better: bool | None = None
    #: Base URL; empty for the provider's usual place.
    url: Address = ""
    #: A reference to the key, never the key itself: env:NAME, file:PATH or keyring:NAME.
    key: KeyReference = ""
    #: The context window in tokens.
    context_tokens: int = Field(default=8192, ge=1024, le=2_000_000)
    #: The longest answer in tokens.
    max_answer_tokens: int = Field(default=400, ge=16, le=32_000)
    #: How freely it chooses its words: 0 is always the likeliest one. Unset: the server's own default.
    temperature: float | None = Field(default=None, ge=0, le=2)
    #: Turns a thinking model's thoughts on or off; unset leaves it to the model.
    think: bool | None = None
    #: "required" makes servers that can enforce it answer with a tool call.
    tool_choice: Literal["auto", "required"] = "auto"
    #: How the model is asked: with "tools", or in "plain" turns, in which small ones talk better; "auto": plain turns
    #: for a model of your own server that is small by its name, tools for any other.
    asking: Literal["tools", "plain", "auto"] = "auto"
    #: Tell the model which tool answers what, which weak models need; unset: only a model of your own server.
    examples: bool | None = None
    #: Search the web for what somebody asks before the model is asked, for models too small to do it themselves; unset:
    #: only for the embedded model.
    search_first: bool | None = None
    #: For the cost of a call, when the provider does not report it.
    prices: PriceConfig | None = None
    #: Tools that the provider runs itself: "web_search", "web_fetch", or a table as its API has it.
    server_tools: ServerTools = ()
    #: Added to every request: tables are merged, lists joined, anything else replaces what would be sent.
    extra_params: ExtraParams = Field(default={})
    #: How the server is asked to hold calls that come as text: "schema", its "json" mode, "off"; "auto" learns it.
    structured: Form = "auto"
    #: How long an Ollama keeps the model loaded: "10m", seconds, or -1 for ever; unset: 10 minutes.
    keep_alive: Duration = None
    #: The organization that OpenAI bills, for a key that has several.
    organization: HeaderText = ""
    #: The project that OpenAI bills, for a key that has several.
    project: HeaderText = ""
    #: Features of Anthropic's API to ask for in every request, as its header anthropic-beta names them.
    betas: Betas = ()
    #: The version of Anthropic's API, a date; unset: 2023-06-01. For openai-responses that of Azure's API; unset: it is
    #: not Azure.
    api_version: ApiVersion = ""
    #: What thinking may take besides the answer when it is turned on, in tokens; unset: 2048. With 0 the model chooses
    #: (Anthropic), or the answer's bound holds for both (openai-responses).
    thinking_tokens: ThinkingTokens = None
    #: The address of your game in OpenRouter's statistics.
    referer: HeaderText = ""
    #: The name of your game in OpenRouter's statistics.
    title: HeaderText = ""
    #: A file in tiktoken's format to count tokens with; unset: the one in tiktoken's cache, else bytes are counted.
    token_table: SpecialText = ""
    #: How often one request is made in all when it fails in a way that may pass.
    max_attempts: int = Field(default=3, ge=1, le=10)
    #: How many requests may be on their way to this server; unset: 1 for the embedded model, 4 for a server of your
    #: own, 32 for a provider on the internet.
    max_in_flight: int | None = Field(default=None, ge=1, le=1000)
    #: How long connecting to the server may take.
    connect_seconds: Seconds = 5.0
    #: Whether the server reads the unchanging beginning of every prompt as soon as an assistant starts; unset: a server
    #: of your own does, unless a key or prices say that somebody pays for it.
    warm: bool | None = None
    #: How long the server may be silent until it answers; unset: 900 for a server of your own, which says nothing
    #: while it loads the model and reads the prompt, else 60.
    first_byte_seconds: Seconds | None = None
    #: How long the server may be silent between two pieces of an answer; unset: 900 for a server of your own, else 60.
    idle_seconds: Seconds | None = None
    #: How long nothing but signs of life may come; unset: 900 for a server of your own, else 300.
    progress_seconds: Seconds | None = None
