"""The states of a game, and whom a session tells of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from mud_assistant.assistant.worlds.telnet.session.login import Typed
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause, WireEvent


class State(StrEnum):
    """What the game does now."""

    CONNECTING = "connecting"
    LOGIN = "login"
    PLAYING = "playing"
    PAGER = "pager"
    QUESTION = "question"
    EDITOR = "editor"
    ASLEEP = "asleep"
    MENU = "menu"
    UNKNOWN = "unknown"
    CLOSED = "closed"


class Hooks(Struct, frozen=True):
    """Whom a session tells, and what it asks of the connection.

    `send` types a line, which is a secret or not; `quiet` asks the feed for the prompt that silence makes; `close`
    closes the connection, for a cause and with what the game showed. `on_event` gets what the game shows while the
    character plays, `on_state` each new state and why, `on_dropped` a line that was not typed after all.
    """

    send: Callable[[Typed], None]
    quiet: Callable[[], list[WireEvent]]
    close: Callable[[Cause, str], None]
    on_event: Callable[[WireEvent], None]
    on_state: Callable[[State, str], None]
    on_dropped: Callable[[str], None]


def shape_of(prompt: str) -> str:
    """Return what of a prompt stays the same when points, names and remarks in it change."""
    without = re.sub(r"\([^()]*\)", "", prompt)
    return re.sub(r"\s+", " ", re.sub(r"\w+", "a", without)).strip()
