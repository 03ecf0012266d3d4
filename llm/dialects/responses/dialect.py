"""OpenAI's Responses API on the side of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall, Dialect, OfferedModelName
from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.dialects.responses.reading import read_request
from mud_assistant.llm.dialects.responses.rendering import ResponsesRenderer
from mud_assistant.llm.messages import JSONObject

#: OpenAI tells errors and models alike in both of its APIs.
_CHAT = ChatDialect()


class ResponsesDialect(Dialect):
    """OpenAI's Responses API. Nothing is stored, so a request holds the whole conversation."""

    name = "responses"
    providers = frozenset({"openai-responses"})

    def read(self, body: JSONObject, headers: Mapping[str, str]) -> AskedCall:
        """Return what the client asks. Raises RequestRefused."""
        return read_request(body)

    def renderer(self, asked: AskedCall, head: AnswerHead) -> ResponsesRenderer:
        """Return what makes the bytes of one answer."""
        return ResponsesRenderer(asked, head)

    def error_body(self, failure: Failure) -> tuple[int, JSONObject]:
        """Return the status and the body of a response that says why there is no answer."""
        return _CHAT.error_body(failure)

    def models_body(self, models: Sequence[OfferedModelName]) -> JSONObject:
        """Return the list of models."""
        return _CHAT.models_body(models)

    def model_body(self, model: OfferedModelName) -> JSONObject:
        """Return the description of one model."""
        return _CHAT.model_body(model)
