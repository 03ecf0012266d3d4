"""Computes what usage costs from configured prices, for providers that do not report it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llm.response import Usage

_PER = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, all in one currency. Cached input costs the same as other input unless set."""

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of the usage, or None when its tokens are not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.input_tokens - cached - written)
        amounts = (
            (plain, self.input),
            (cached, self.input if self.cached_input is None else self.cached_input),
            (written, self.input if self.cache_write is None else self.cache_write),
            (usage.output_tokens, self.output),
        )
        return sum(tokens * price for tokens, price in amounts) / _PER

    def fill(self, usage: Usage) -> Usage:
        """Return the usage with its cost, unless the provider reported one."""
        return usage if usage.cost is not None else replace(usage, cost=self.cost(usage))
