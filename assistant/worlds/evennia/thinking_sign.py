"""A sign that the assistant thinks: shown to the room when the model takes its time, once in a run."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from assistant.outcome import Outcome
from assistant.trace import StepTrace

#: Seconds between two signs at least, whatever runs there are.
APART_SECONDS = 10.0


class ThinkingSign:
    """An observer that lets the room know of a model call that lasts longer than `after_seconds`.

    `body_emote` shows `thinks ...` as a pose of the character `name`, and is silent where nobody is
    (`EvenniaBody.sign`).
    """

    def __init__(
        self, clock: IReactorTime, body_emote: Callable[[str], None], name: str, after_seconds: float = 1.0
    ) -> None:
        self.name = name
        self._clock = clock
        self._emote = body_emote
        self._after = after_seconds
        self._waiting: IDelayedCall | None = None
        self._run = ""
        self._shown_at = -APART_SECONDS
        self._done = False

    def thinking(self, run_id: str, step: int) -> None:
        """The model is asked; the sign is due when it is still being asked in a while."""
        if run_id != self._run:
            self._run, self._done = run_id, False
        self._put_down()
        if not self._done:
            self._waiting = self._clock.callLater(self._after, self._show)

    def step(self, trace: StepTrace) -> None:
        """The model has answered, and whatever it said was done."""
        self._put_down()

    def spoke(self) -> None:
        """The character has spoken: it is plain that it thinks."""
        self._done = True
        self._put_down()

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """There is nothing more to wait for."""
        self._put_down()

    def _show(self) -> None:
        """Show it, unless there was one just now."""
        self._waiting = None
        self._done = True
        now = self._clock.seconds()
        if now - self._shown_at >= APART_SECONDS:
            self._shown_at = now
            self._emote("thinks ...")

    def _put_down(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
