"""A sign that the assistant thinks: shown to the room when the model takes its time, once in a run."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from assistant.events.outcome import Outcome
from assistant.events.trace import StepTrace

#: The least time between two signs, across all runs, in seconds.
APART_SECONDS = 10.0


class ThinkingSign:
    """An observer that lets the room know of a model call that lasts longer than `after_seconds`.

    `body_emote` shows `thinks ...` as a pose of the character `name`, and does nothing in a room without listeners
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
        """Schedule the sign: it is shown if the model has not answered after `after_seconds`."""
        if run_id != self._run:
            self._run, self._done = run_id, False
        self._put_down()
        if not self._done:
            self._waiting = self._clock.callLater(self._after, self._show)

    def step(self, trace: StepTrace) -> None:
        """Cancel the sign: the model has answered, and its actions are done."""
        self._put_down()

    def spoke(self) -> None:
        """Show no more signs in this run: the character has spoken, so it plainly thinks."""
        self._done = True
        self._put_down()

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Cancel the sign: there is nothing more to wait for."""
        self._put_down()

    def _show(self) -> None:
        """Show the sign, unless another was shown a moment ago."""
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
