"""Loads the table that counts a model's tokens, and tells an owner how they are counted."""

from __future__ import annotations

from pathlib import Path

from twisted.logger import Logger

from assistant.config.schema import ModelConfig
from assistant.keys.reference import KeySources
from llm import LLMProvider
from llm.tokens.tables import TableCounter, TableUnusable, load_counter, order_tables
from resilience import DeadlineExceeded

_log = Logger()


async def load_table(provider: LLMProvider, config: ModelConfig, keys: KeySources) -> str:
    """Let a provider count with its table, when there is one here. Return why it does not, empty when it does.

    The table is read in another thread. Cancelling leaves that thread to end by itself. Nothing is fetched.
    """
    if not provider.token_tables:
        return f"{provider.name} has no public table of tokens"
    found: list[TableCounter] = []

    def work() -> str:
        file = keys.folder / Path(config.token_table).expanduser() if config.token_table else None
        names = order_tables(provider.token_tables, provider.model)
        try:
            found.append(load_counter(names, file, keys.environment))
        except TableUnusable as error:
            return str(error)
        return ""

    try:
        why = await keys.in_thread(work)
    except DeadlineExceeded as error:
        why = f"the table of tokens was not read within {error.seconds:g} s"
    if not why:
        provider.tokens.use(found[0])
    elif config.token_table:
        _log.warn("tokens are counted by bytes: {why}", log_event="token table", why=why)
    return why


def how_counted(provider: LLMProvider, why_not: str = "") -> str:
    """Say which counter is in use for a provider and how far off it has been, as the end of a sentence."""
    tokens = provider.tokens
    if tokens.counter:
        how = f"{'counted' if provider.tables_fit() else 'estimated'} with tiktoken and {tokens.counter}"
    else:
        how = f"estimated from {tokens.bytes_per_token:.1f} bytes a token"
        how += f" ({why_not})" if why_not and provider.token_tables else ""
    if not tokens.compared:
        return f"{how}; no answer has told yet how far off that is"
    answers = "1 answer" if tokens.compared == 1 else f"{tokens.compared} answers"
    return f"{how}, {tokens.mean_error:.0%} off the server's own count in {answers}"
