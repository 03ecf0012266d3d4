"""OpenRouter: many vendors' models behind one Chat Completions API."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from twisted.web.http_headers import Headers

from mud_assistant.llm.errors import LLMError, QuotaExhausted, RateLimited
from mud_assistant.llm.messages import JSONObject, ToolSpec
from mud_assistant.llm.modes.structured import is_strict
from mud_assistant.llm.providers.chat import ChatProvider
from mud_assistant.llm.request import CallOptions, ToolChoice, merge


class OpenRouterProvider(ChatProvider):
    """OpenRouter. `referer` and `title` name the application in its statistics; both may be left out."""

    name = "openrouter"
    dialect = "openrouter"
    usual_url = "https://openrouter.ai/api/v1"
    about = "OpenRouter: many vendors' models on the internet, with one key"
    reports_cost = True
    settings = MappingProxyType({"referer": "referer", "title": "title", "token_table": ""})
    token_tables = ("o200k_base", "cl100k_base")

    def __init__(
        self, api_url: str = "", model: str = "", key: str = "", *, referer: str = "", title: str = ""
    ) -> None:
        super().__init__(api_url, model, key)
        self.more_headers = {"HTTP-Referer": referer, "X-OpenRouter-Title": title}

    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Return the usual fields. Thinking is turned on and off by `reasoning`."""
        head = super().request_head(tools, tool_choice, options)
        return head if options.think is None else merge({"reasoning": {"enabled": options.think}}, head)

    def parse_error_response(self, status: int, headers: Headers, body: bytes) -> LLMError:
        """Read an error as usual, but treat a 402 that names a time as a rate limit.

        It means that a budget is used up and will be renewed then.
        """
        error = super().parse_error_response(status, headers, body)
        error.request_id = error.request_id or headers.getRawHeaders("x-generation-id", [None])[0]
        if isinstance(error, QuotaExhausted) and headers.hasHeader("retry-after"):
            return RateLimited(error.message, error.provider, error.model, status, error.request_id)
        return error

    def tables_fit(self) -> bool:
        """Tell whether this is a model of OpenAI. The tables are only similar to those of other vendors."""
        return self.model.startswith("openai/")

    def is_strict(self, schema: JSONObject) -> bool:
        """Tell whether to be strict. The vendors allow it only if every object is closed and every member required."""
        return is_strict(schema)
