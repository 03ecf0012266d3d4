"""OpenAI's own Chat Completions."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from llm.messages import JSONObject, ToolSpec
from llm.options import CallOptions, ToolChoice, merge
from llm.providers.chat import ChatProvider
from llm.structured import is_strict

DEFAULT_URL = "https://api.openai.com/v1"


class OpenAIProvider(ChatProvider):
    """OpenAI. `organization` and `project` choose whom a key of several is billed to."""

    name = "openai"
    dialect = "openai"
    about = "OpenAI, on the internet, with a key"
    lists_without_key = False
    settings = MappingProxyType({"organization": "organization", "project": "project", "token_table": ""})
    token_tables = ("o200k_base", "cl100k_base")
    tables_fit = True
    limit_field = "max_completion_tokens"

    def __init__(
        self, api_url: str = DEFAULT_URL, model: str = "", key: str = "", *, organization: str = "", project: str = ""
    ) -> None:
        super().__init__(api_url or DEFAULT_URL, model, key)
        self.more_headers = {"OpenAI-Organization": organization, "OpenAI-Project": project}

    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """The usual fields; not to think is an effort of "none", which models without thoughts refuse once."""
        head = super().request_head(tools, tool_choice, options)
        return merge({"reasoning_effort": "none"}, head) if options.think is False else head

    def is_strict(self, schema: JSONObject) -> bool:
        """OpenAI keeps a schema strictly only if it closes every object and requires every member."""
        return is_strict(schema)
