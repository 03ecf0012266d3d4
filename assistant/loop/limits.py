"""Counts what a run may cost: steps, seconds, tokens and format errors in a row. Checked before each step."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.events.outcome import Limit
from llm.response import Usage
from resilience import Deadline

#: Shares of the context window at which the model is told, softly and then strongly, to finish.
SOFT_ADVICE, STRONG_ADVICE = 0.6, 0.8
#: A run ends after this many steps in a row that brought nothing new.
MAX_STUCK = 3


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of one run. Tokens are input and output of all its steps together.

    `seconds` is how long the model may be silent.
    """

    max_steps: int = 5
    seconds: float = 120.0
    max_tokens: int = 60_000
    max_format_errors: int = 3


class Meter:
    """The share of its limits that one run has used."""

    def __init__(self, limits: RunLimits, deadline: Deadline) -> None:
        self._limits = limits
        self.deadline = deadline
        self.steps = 0
        self.tokens = 0
        self.format_errors = 0
        self.stuck = 0

    def reached(self) -> Limit | None:
        """Return the limit that forbids another step, None when there is none."""
        if self.format_errors >= self._limits.max_format_errors:
            return Limit.FORMAT_ERRORS
        if self.steps >= self._limits.max_steps:
            return Limit.STEPS
        if self.stuck >= MAX_STUCK:
            return Limit.NO_PROGRESS
        if self.deadline.remaining() <= 0:
            return Limit.TIME
        if self.tokens >= self._limits.max_tokens:
            return Limit.TOKENS
        return None

    def count_step(self, usage: Usage, estimated_tokens: int) -> None:
        """Count one answered model call. The estimate is used when the provider reported no tokens."""
        self.steps += 1
        reported = usage.total_tokens
        self.tokens += estimated_tokens if reported is None else reported

    def take_up(self, step: int, usage: Usage | None) -> None:
        """Count a step of an earlier process: its tokens count, its seconds do not."""
        self.steps = step
        self.tokens += (usage.total_tokens or 0) if usage else 0

    def count_format(self, *, wrong: bool) -> None:
        """Count whether the step's answer could be read; only errors in a row add up."""
        self.format_errors = self.format_errors + 1 if wrong else 0

    def count_progress(self, *, new: bool) -> None:
        """Count whether the step brought anything that the run did not know."""
        self.stuck = 0 if new else self.stuck + 1

    def advice(self, prompt_tokens: int, window_tokens: int) -> str:
        """Return a hint for the model to go with a tool result, empty while there is room."""
        if self.steps + 1 >= self._limits.max_steps:
            return "This is your last step: answer now."
        share = prompt_tokens / window_tokens if window_tokens else 0.0
        if share >= STRONG_ADVICE:
            return "Almost no room is left: answer now, in one call."
        if share >= SOFT_ADVICE:
            return "Room is getting short: come to an answer soon."
        return ""
