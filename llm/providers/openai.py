"""OpenAI's own Chat Completions."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from mud_assistant.llm.messages import JSONObject, ToolSpec
from mud_assistant.llm.modes.structured import is_strict
from mud_assistant.llm.providers.chat import ELSEWHERE, ChatProvider
from mud_assistant.llm.request import CallOptions, ToolChoice, merge
from mud_assistant.llm.wire.error_bodies import ErrorBody


class OpenAIProvider(ChatProvider):
    """OpenAI. `organization` and `project` choose the account to bill when the key has several."""

    name = "openai"
    dialect = "openai"
    usual_url = "https://api.openai.com/v1"
    about = "OpenAI, on the internet, with a key"
    lists_without_key = False
    settings = MappingProxyType({"organization": "organization", "project": "project", "token_table": ""})
    token_tables = ("o200k_base", "cl100k_base")
    limit_field = "max_completion_tokens"

    def __init__(
        self, api_url: str = "", model: str = "", key: str = "", *, organization: str = "", project: str = ""
    ) -> None:
        super().__init__(api_url, model, key)
        self.more_headers = {"OpenAI-Organization": organization, "OpenAI-Project": project}

    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Return the usual fields. Thinking is turned off by an effort of "none".

        Models without thinking refuse that once; the field is then left out.
        """
        head = super().request_head(tools, tool_choice, options)
        return merge({"reasoning_effort": "none"}, head) if options.think is False else head

    def _is_elsewhere(self, said: ErrorBody) -> bool:
        """Tell whether a refusal names the Responses API, where such a model may think and call tools."""
        return bool(ELSEWHERE.search(said.message))

    def tables_fit(self) -> bool:
        """Tell that the tables are those of OpenAI's models."""
        return True

    def is_strict(self, schema: JSONObject) -> bool:
        """Tell whether to be strict. OpenAI allows it only if every object is closed and every member required."""
        return is_strict(schema)
