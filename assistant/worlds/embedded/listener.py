"""The interface through which an assistant perceives what happens round its body in the embedded world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from tools.trust import Principal

_log = Logger()


class EventListener(Protocol):
    """A listener that is told what a body perceives, but never its own acts. Called on the reactor, must not wait."""

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Hear words spoken aloud in the room, to `target` if they are meant for one person."""
        ...

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Hear words whispered to this body."""
        ...

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Hear words sent to this body from anywhere in the game."""
        ...

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Hear words on a channel, which every character of the game hears."""
        ...

    def saw_emote(self, actor: Principal, text: str) -> None:
        """See an act in the room; `text` follows the actor's name."""
        ...

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Take a thing from `giver`. `authority` is the level of the person who named it, None if that is the giver."""
        ...

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """See an arrival, from an exit of this room or (empty) out of nowhere."""
        ...

    def saw_departure(self, who: Principal, direction: str) -> None:
        """See a departure, by an exit of this room or (empty) out of the game."""
        ...


def notify(listener: EventListener, perceive: Callable[[EventListener], None], who: str) -> None:
    """Let one listener perceive something. An error of this listener is logged and does not reach the others."""
    try:
        perceive(listener)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 - the border between the world and any listener's code
        _log.failure("the listener of {who} failed", who=who)
