"""Shows players what a run does beside speaking: that the assistant thinks, or why it did not do what they asked for.

The sign that it thinks is shown to the room when the model takes its time, once in a run. The sentence about a failure
is told to one player, outside the story.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.worlds.evennia.body.border import escape_for_game
from mud_assistant.tools import Principal
from mud_assistant.tools.text.clean import one_line

#: The longest sentence, in characters.
_MAX_CHARS = 1200
_log = Logger()
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


def tell(who: Principal, sentence: str) -> None:
    """Show the sentence to this character or account if a player is connected to it. Never raises."""
    try:
        receiver = _object_of(who)
        if receiver is not None and receiver.sessions.count():
            receiver.msg(escape_for_game(one_line(sentence, max_chars=_MAX_CHARS)))
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001  (the border to the game: nothing depends on the sentence)
        _log.failure("{who} could not be told", who=who.id)


def _object_of(who: Principal) -> Any:
    """Return the character or the account that the principal is; None for anything else."""
    from evennia.accounts.models import AccountDB  # only where Django is set up
    from evennia.objects.models import ObjectDB

    kind, _, number = who.id.partition(":")
    model = {"character": ObjectDB, "account": AccountDB}.get(kind)
    if model is None or not number.isdigit():
        return None
    return model.objects.filter(pk=int(number)).first()
