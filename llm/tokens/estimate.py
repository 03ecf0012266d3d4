"""Estimates how many tokens a text or a request has before the provider says so. Reported usage corrects the estimate.

Without a tokenizer the estimate is bytes per token: English has 4.9 bytes a token, code 3.9, Russian 6.2, Japanese 3.2
(measured on o200k). After the first answer it follows the model in use. With a tokenizer (`token_tables.py`) new texts
are counted exactly, and their counts set the ratio for whole requests, so that a request still costs no more than its
new messages. Nothing here loads a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Protocol

#: Bytes per token before anything is known. It is low, so that the estimate errs towards too many tokens.
FIRST_GUESS = 3.8
#: How many bytes are counted exactly between two requests. The rest is estimated by the ratio so far: a tokenizer
#: takes 5 ms for 16 KiB of the worst text, and a history that is read back may be a hundred times as long.
EXACT_BYTES = 64 * 1024
#: The weight of a new observation in the moving ratio.
_WEIGHT = 0.3
#: A request of fewer tokens does not change the ratio.
_MIN_TOKENS = 100
#: The bounds of a real ratio. A provider that counts only uncached tokens falls outside, and its count is ignored.
_BOUNDS = (1.5, 8.0)
#: The bounds of the ratio between the tokens a provider reports and those its tokenizer counts.
_CORRECTIONS = (0.5, 2.0)


class Counter(Protocol):
    """A tokenizer that counts the tokens of a text."""

    @property
    def name(self) -> str:
        """The name of the tokenizer."""
        ...

    def count(self, text: str) -> int:
        """Count the tokens of a text."""
        ...


class TokenEstimator:
    """An estimator of the tokens of texts and requests of one model. `learn` corrects it."""

    def __init__(self, bytes_per_token: float = FIRST_GUESS) -> None:
        self.bytes_per_token = bytes_per_token
        #: The factor applied to exact counts, learned from usage.
        self.correction = 1.0
        #: How many answers the estimate was compared with, and its mean error as a share of the true count.
        self.compared = 0
        self.mean_error = 0.0
        self._counter: Counter | None = None
        self._counted_bytes = 0
        self._counted_tokens = 0
        self._exact_left = EXACT_BYTES
        self._is_learned = False

    @property
    def counter(self) -> str:
        """The name of the tokenizer in use, empty without one."""
        return self._counter.name if self._counter else ""

    def use(self, counter: Counter) -> None:
        """Count with this tokenizer from now on."""
        self._counter = counter
        self._counted_bytes = self._counted_tokens = 0

    def of_bytes(self, size: int) -> int:
        """Estimate the tokens of `size` bytes of encoded request, at least 1 unless it is empty."""
        return -(-size * 1000 // round(self.bytes_per_token * 1000))

    def of_request(self, body: bytes) -> int:
        """Estimate the tokens of a whole request by its size. The first one is counted, to set the ratio."""
        self._exact_left = EXACT_BYTES
        if self._counter is not None and not self._counted_tokens:
            self._exact(body)
        return self.of_bytes(len(body))

    def of_text(self, text: str) -> int:
        """Count the tokens of a text, exactly as far as that is quick."""
        return self._of([text.encode("utf-8", "replace")] if text else [])

    def of_pieces(self, pieces: Sequence[bytes]) -> int:
        """Count the tokens of encoded messages, exactly as far as that is quick."""
        return self._of(pieces) if self._counter else self.of_bytes(sum(map(len, pieces)) + len(pieces))

    def _of(self, pieces: Sequence[bytes]) -> int:
        size = sum(map(len, pieces))
        if self._counter is None or not size:
            return self.of_bytes(size)
        counted = counted_bytes = 0
        for piece in pieces:
            if self._exact_left <= 0:
                break
            tokens, length = self._exact(piece)
            counted, counted_bytes = counted + tokens, counted_bytes + length
        rest = size - counted_bytes
        if rest:
            return ceil(counted * self.correction) + self.of_bytes(rest)
        return max(1, ceil(counted * self.correction))

    def learn(self, size: int, reported_tokens: int | None) -> None:
        """Correct the estimate by one answer: the request's bytes, and the input tokens the provider counted."""
        if reported_tokens is None or reported_tokens <= 0:
            return
        self._compare(self.of_bytes(size), reported_tokens)
        if reported_tokens < _MIN_TOKENS:
            return
        low, high = _BOUNDS
        seen = size / reported_tokens
        if low <= seen <= high:
            self._is_learned = True
            self.bytes_per_token += _WEIGHT * (seen - self.bytes_per_token)
            if self._counted_tokens:
                own = self._counted_bytes / self._counted_tokens
                least, most = _CORRECTIONS
                self.correction += _WEIGHT * (min(most, max(least, own / seen)) - self.correction)

    def _exact(self, data: bytes) -> tuple[int, int]:
        """Count as much of the beginning of `data` as may be counted now. Return its tokens and its bytes."""
        assert self._counter is not None
        part = data[: max(0, self._exact_left)]
        tokens = self._counter.count(part.decode("utf-8", "ignore"))
        self._exact_left -= len(part)
        self._counted_bytes += len(part)
        self._counted_tokens += tokens
        if self._counted_tokens and not self._is_learned:
            low, high = _BOUNDS
            self.bytes_per_token = min(high, max(low, self._counted_bytes / self._counted_tokens))
        return tokens, len(part)

    def _compare(self, estimated: int, reported: int) -> None:
        """Update the moving mean of the estimate's error."""
        self.compared += 1
        off = abs(estimated - reported) / reported
        self.mean_error += max(_WEIGHT, 1 / self.compared) * (off - self.mean_error)
