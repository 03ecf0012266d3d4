"""OpenAI's Chat Completions API on the side of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mud_assistant.llm.dialects.chat.errors import error_of, status_of
from mud_assistant.llm.dialects.chat.reading import read_request
from mud_assistant.llm.dialects.chat.rendering import ChatRenderer
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall, Dialect, OfferedModelName
from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.messages import JSON, JSONObject


class ChatDialect(Dialect):
    """Chat Completions, as OpenAI's clients and most others send and expect them."""

    name = "chat"
    providers = frozenset({"local", "openai", "openrouter"})

    def read(self, body: JSONObject, headers: Mapping[str, str]) -> AskedCall:
        """Return what the client asks. Raises RequestRefused."""
        return read_request(body)

    def renderer(self, asked: AskedCall, head: AnswerHead) -> ChatRenderer:
        """Return what makes the bytes of one answer."""
        return ChatRenderer(asked, head)

    def error_body(self, failure: Failure) -> tuple[int, JSONObject]:
        """Return the status and the body of a response that says why there is no answer."""
        return status_of(failure), error_of(failure)

    def models_body(self, models: Sequence[OfferedModelName]) -> JSONObject:
        """Return the list of models."""
        return {"object": "list", "data": [self.model_body(model) for model in models]}

    def model_body(self, model: OfferedModelName) -> JSONObject:
        """Return the description of one model. The length of its context has the name that OpenRouter gives it."""
        body: dict[str, JSON] = {
            "id": model.name,
            "object": "model",
            "created": model.created,
            "owned_by": "mud-assistant",
        }
        return body if model.context_tokens is None else {**body, "context_length": model.context_tokens}
