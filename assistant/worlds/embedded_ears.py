"""What reaches a body in the embedded world, as whoever lives in it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from tools.context import Principal

_log = Logger()


class Ears(Protocol):
    """Told what a body perceives; a body never perceives its own acts. Called on the reactor, must not wait."""

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Somebody spoke aloud, to `target` if to anybody in particular."""
        ...

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Somebody whispered to this body."""
        ...

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Somebody spoke to this body from anywhere in the game."""
        ...

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Somebody spoke on a channel, which all in the game hear."""
        ...

    def saw_emote(self, actor: Principal, text: str) -> None:
        """Somebody acted visibly; `text` follows the name."""
        ...

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Somebody gave this body a thing, named by somebody of the level `authority` where that is not the giver's."""
        ...

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """Somebody came, from an exit of this room or (empty) out of nowhere."""
        ...

    def saw_departure(self, who: Principal, direction: str) -> None:
        """Somebody left, by an exit of this room or (empty) out of the game."""
        ...


def perceived(ears: Ears, perceive: Callable[[Ears], None], who: str) -> None:
    """Let one listener perceive something; their bug is logged, and no trouble of anybody else."""
    try:
        perceive(ears)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 - the border between the world and any listener
        _log.failure("the ears of {who} failed", who=who)
