"""How many tokens a request is, without a tokenizer: bytes per token, corrected by what the provider reports.

English is 4.9 bytes a token, code 3.9, Russian 6.2, Japanese 3.2 (measured on o200k, reference/performance.md
section 6); after the first answer the estimate follows the model in use. Nothing here blocks or loads a table.
"""

from __future__ import annotations

#: Bytes per token before anything is known: on the low side, so that the estimate errs towards too many tokens.
FIRST_GUESS = 3.8
#: Share of a new observation in the moving ratio.
_WEIGHT = 0.3
#: Below this many tokens an answer teaches nothing.
_MIN_TOKENS = 100
#: What a real ratio lies between; a provider that counts only uncached tokens falls outside and is held here.
_BOUNDS = (1.5, 8.0)


class TokenEstimator:
    """Tokens per encoded bytes for one model; `learn` corrects it."""

    def __init__(self, bytes_per_token: float = FIRST_GUESS) -> None:
        self.bytes_per_token = bytes_per_token

    def of_bytes(self, size: int) -> int:
        """Estimated tokens of `size` bytes of encoded request, at least 1 for anything."""
        return -(-size * 1000 // round(self.bytes_per_token * 1000))

    def learn(self, size: int, reported_tokens: int | None) -> None:
        """Correct the ratio by one answer: the request's bytes, and the input tokens the provider counted."""
        if reported_tokens is None or reported_tokens < _MIN_TOKENS:
            return
        low, high = _BOUNDS
        seen = size / reported_tokens
        if low <= seen <= high:
            self.bytes_per_token += _WEIGHT * (seen - self.bytes_per_token)
