"""Anthropic's Messages API on the side of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall, Dialect, OfferedModelName
from mud_assistant.llm.dialects.failures import Failure, FailureKind
from mud_assistant.llm.dialects.messages.errors import error_of
from mud_assistant.llm.dialects.messages.reading import read_request
from mud_assistant.llm.dialects.messages.rendering import MessagesRenderer
from mud_assistant.llm.messages import JSON, JSONObject

#: The status of Anthropic's servers when they have too much to do.
_OVERLOADED = 529


class MessagesDialect(Dialect):
    """Messages, as Anthropic's clients send and expect them."""

    name = "messages"
    providers = frozenset({"anthropic"})

    def read(self, body: JSONObject, headers: Mapping[str, str]) -> AskedCall:
        """Return what the client asks. Raises RequestRefused."""
        return read_request(body, headers, counts_only=False)

    def read_prompt(self, body: JSONObject, headers: Mapping[str, str]) -> AskedCall:
        """Return the prompt whose tokens are to be counted; no bound of an answer is needed. Raises RequestRefused."""
        return read_request(body, headers, counts_only=True)

    def renderer(self, asked: AskedCall, head: AnswerHead) -> MessagesRenderer:
        """Return what makes the bytes of one answer."""
        return MessagesRenderer(asked, head)

    def error_body(self, failure: Failure) -> tuple[int, JSONObject]:
        """Return the status and the body. A prompt that is too long is told in the words that tools look for."""
        status = _OVERLOADED if failure.kind is FailureKind.OVERLOADED else failure.kind.status
        return status, error_of(failure)

    def models_body(self, models: Sequence[OfferedModelName]) -> JSONObject:
        """Return the one page of models there is."""
        listed: list[JSON] = [self.model_body(model) for model in models]
        ends = {"first_id": models[0].name if models else None, "last_id": models[-1].name if models else None}
        return {"data": listed, "has_more": False, **ends}

    def model_body(self, model: OfferedModelName) -> JSONObject:
        """Return the description of one model."""
        created = datetime.fromtimestamp(model.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body: dict[str, JSON] = {"type": "model", "id": model.name, "display_name": model.name, "created_at": created}
        return body if model.context_tokens is None else {**body, "max_input_tokens": model.context_tokens}
