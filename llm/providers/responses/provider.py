"""OpenAI's Responses API. Azure, OpenRouter, LM Studio, llama.cpp and Ollama serve it, too.

The history is ours: every request carries all of it, and nothing is kept at the server (`store: false`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from urllib.parse import urlsplit

import orjson
from twisted.web.http_headers import Headers

from mud_assistant.llm.errors import LLMError, ProtocolError, Rejected
from mud_assistant.llm.messages import JSONObject, Message, Role, ToolResult, ToolSpec
from mud_assistant.llm.modes.mode import FieldOverride, RequestMode
from mud_assistant.llm.packing.packed import Joined, Part, parts_of
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.providers.responses.errors import error_of
from mud_assistant.llm.providers.responses.fields import OPTIONAL, adapt_fields, bounded, effort_of, head_of
from mud_assistant.llm.providers.responses.stream import ResponsesStream
from mud_assistant.llm.providers.responses.turns import items_of, result_item
from mud_assistant.llm.request import CallOptions, ToolChoice
from mud_assistant.llm.wire.building import AnswerBuilder
from mud_assistant.llm.wire.error_bodies import excerpt, read_error_body

_ENDPOINT = "/responses"
_APART = "\n\n"


class ResponsesProvider(LLMProvider):
    """The Responses API. `organization` and `project` choose the account to bill when the key has several.

    With an `api_version` the server is Azure: the version goes into the URL, the key into `api-key`, and the model, as
    the name of the deployment, into the path unless the base URL has one. `thinking_tokens` is what reasoning may use
    besides the answer's own bound, which counts both.
    """

    name = "openai-responses"
    dialect = "responses"
    usual_url = "https://api.openai.com/v1"
    about = "OpenAI's newer API, on the internet, with a key"
    key_variable = "OPENAI_API_KEY"
    lists_without_key = False
    settings = MappingProxyType(
        {
            "server_tools": "",
            "organization": "organization",
            "project": "project",
            "api_version": "api_version",
            "thinking_tokens": "thinking_tokens",
            "token_table": "",
        }
    )
    token_tables = ("o200k_base", "cl100k_base")
    server_tools = MappingProxyType(
        {
            "web_search": {"type": "web_search"},
            "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
        }
    )

    def __init__(
        self,
        api_url: str = "",
        model: str = "",
        key: str = "",
        *,
        organization: str = "",
        project: str = "",
        api_version: str = "",
        thinking_tokens: int | None = 2048,
    ) -> None:
        base = (api_url or self.usual_url).rstrip("/").removesuffix(_ENDPOINT)
        if urlsplit(base).path in {"", "/"}:
            base = f"{base}/openai/deployments/{model}" if api_version else f"{base}/v1"
        super().__init__(base, model, key)
        self.more_headers: Mapping[str, str] = {"OpenAI-Organization": organization, "OpenAI-Project": project}
        self._query = f"?api-version={api_version}" if api_version else ""
        self._thinking_tokens = thinking_tokens or 0
        #: Whether the model is known to reason unless it is told not to.
        self.reasons = False

    @classmethod
    def standing_in_for(cls, other: LLMProvider, key: str, headers: Mapping[str, str]) -> ResponsesProvider:
        """Return a provider for the same server, model and account. Its models are known to reason."""
        made = cls(other.api_url, other.model, key)
        made.rebind(other.api_url, key)
        made.more_headers = headers
        made.tokens = other.tokens
        made.counted_as, made.instead_of, made.reasons = other.counted_as, other, True
        return made

    def get_api_url(self) -> str:
        """Return the endpoint."""
        return f"{self.api_url}{_ENDPOINT}{self._query}"

    def get_models_url(self) -> str:
        """Return the URL that lists the models. Azure lists them beside the deployments."""
        return f"{self.api_url.partition('/deployments/')[0]}/models{self._query}"

    def build_headers(self) -> Headers:
        """Return the headers of every provider, and this one's own."""
        headers = super().build_headers()
        for name, value in self.more_headers.items():
            if value:
                headers.setRawHeaders(name, [value])
        if self._query and self._key:
            headers.removeHeader("Authorization")
            headers.setRawHeaders("api-key", [self._key])
        return headers

    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Return model, options and tools, streamed, with nothing kept at the server."""
        head = head_of(self.model, tools, tool_choice, options)
        effort = effort_of(head)
        thinks = effort != "none" and (effort is not None or self.reasons)
        return bounded(head, self._thinking_tokens if thinks else 0)

    def build_request(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        tool_choice: ToolChoice | None,
        options: CallOptions,
        *,
        tools_as_text: bool = False,
        overrides: Sequence[FieldOverride] = (),
    ) -> bytes:
        """Return the request body. Changes that were learned of another API's fields are not made."""
        known = [override for override in overrides if override.field in OPTIONAL and override.value is None]
        return super().build_request(
            messages, tools, tool_choice, options, tools_as_text=tools_as_text, overrides=known
        )

    def join_body(
        self, head: JSONObject, messages: Sequence[Message], options: CallOptions, *, tools_as_text: bool
    ) -> bytes:
        """Return the body: the system text at the beginning as `instructions`, everything else as items."""
        front, rest = _divide(parts_of(messages))
        if front:
            head = {**head, "instructions": _APART.join(message.text for message in front)}
        encoded = self._all_encoded(Joined(rest), tools_as_text=tools_as_text)
        return b"".join((orjson.dumps(head)[:-1], b',"input":[', b",".join(encoded), b"]}"))

    def encode_message(self, message: Message) -> list[JSONObject]:
        """Return the items that one message becomes. A turn of this provider goes back as it came."""
        return items_of(message, self.name)

    def format_tool_result(self, result: ToolResult) -> JSONObject:
        """Return the item that answers one call."""
        return result_item(result)

    def answer_parser(self, answer: AnswerBuilder) -> ResponsesStream:
        """Return a parser for the events of one answer."""
        return ResponsesStream(self, answer, self._note_reasoning)

    def read_response(self, body: bytes, answer: AnswerBuilder) -> None:
        """Read an answer that came whole."""
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ProtocolError(f"not an answer: {excerpt(body)}", self.name, self.model) from error
        ResponsesStream(self, answer, self._note_reasoning).whole(data)

    def adapt(self, error: Rejected, mode: RequestMode) -> RequestMode | None:
        """Return the mode without the field that was refused."""
        return adapt_fields(error, mode)

    def parse_error_response(self, status: int, headers: Headers, body: bytes) -> LLMError:
        """Read `{"error": {message, type, param, code}}` and its relatives."""
        names = ("x-request-id", "apim-request-id")
        request_id = next((found[0] for name in names if (found := headers.getRawHeaders(name))), None)
        return error_of(status, read_error_body(body), self.name, self.model, request_id)

    def tables_fit(self) -> bool:
        """Tell whether the tables are those of its models: they are at OpenAI and Azure."""
        return (urlsplit(self.api_url).hostname or "").endswith((".openai.com", ".azure.com"))

    def _note_reasoning(self) -> None:
        self.reasons = True


def _divide(parts: Sequence[Part]) -> tuple[list[Message], list[Part]]:
    """Return the system messages at the beginning, and the rest, which must not be empty."""
    front: list[Message] = []
    for part in parts:
        if not isinstance(part, Message) or part.role is not Role.SYSTEM:
            break
        front.append(part)
    rest = list(parts[len(front) :])
    return (front, rest) if rest else ([], list(parts))
