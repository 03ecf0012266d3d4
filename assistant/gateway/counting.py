"""Says how many tokens a request has: as Anthropic counts them where it stands behind the name, else as estimated."""

from __future__ import annotations

import orjson
from twisted.logger import Logger

from mud_assistant.assistant.gateway.answering import ModelRequest
from mud_assistant.llm import LLMError
from mud_assistant.llm.answer import HTTP_OK
from mud_assistant.llm.client import UnifiedLLMClient
from mud_assistant.llm.dialects.images import estimated_tokens
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from mud_assistant.llm.errors import Unavailable
from mud_assistant.llm.forwarding import amended_body, headers_of
from mud_assistant.resilience import Collected, Deadline, HttpExchange, Request, ResilienceError

#: How long the provider may take, in seconds. Clients wait for the number before they ask the model itself.
_SECONDS = 5.0
_log = Logger()


async def count_tokens(asked: ModelRequest, client: UnifiedLLMClient, exchange: HttpExchange) -> int:
    """Return the number of tokens of a request of the messages dialect. Nothing is billed. Raises RequestRefused."""
    dialect = asked.dialect
    assert isinstance(dialect, MessagesDialect)
    if client.provider.name in dialect.providers:
        try:
            return await _counted(asked, client, exchange)
        except (ResilienceError, LLMError) as error:
            _log.info("{provider} does not count: {why}", provider=client.provider.name, why=type(error).__name__)
    read = dialect.read_prompt(asked.parsed, asked.headers)
    tokens = client.provider.tokens
    tools = [orjson.dumps({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
             for tool in read.tools]  # fmt: skip
    return estimated_tokens(read.messages, client.provider.count_tokens) + (tokens.of_pieces(tools) if tools else 0)


async def _counted(asked: ModelRequest, client: UnifiedLLMClient, exchange: HttpExchange) -> int:
    """Return the provider's own count. Raises ResilienceError, or LLMError for an answer without a number."""
    provider = client.provider
    asked.check_passing(provider)
    body, _ = amended_body(asked.body, asked.parsed, provider.model, ())
    headers = headers_of(provider, asked.headers, {})
    request = Request("POST", f"{provider.get_api_url()}/count_tokens", headers, body)
    collected = Collected()
    await Deadline.after(client.sender.clock, _SECONDS).run(exchange.perform(request, collected))
    counted = _number(collected.body) if collected.status == HTTP_OK else None
    if counted is None:
        raise Unavailable("it gave no number of tokens", provider.name, provider.model, collected.status)
    return counted


def _number(body: bytes) -> int | None:
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    found = said.get("input_tokens") if isinstance(said, dict) else None
    return found if isinstance(found, int) else None
