"""Hands what comes over the wire to the ears: lines, prompts, and what the game tells in messages of its own."""

from __future__ import annotations

from collections.abc import Iterable

from mud_assistant.assistant.worlds.telnet.reading.game_ears import Ears
from mud_assistant.assistant.worlds.telnet.wire.wire_events import (
    Gmcp,
    HeardLine,
    Msdp,
    Pause,
    Prompt,
    Value,
    WireEvent,
)

#: The most exits of a room that a message may tell of.
MAX_EXITS = 40


def hear_wire(ears: Ears, event: WireEvent) -> None:
    """Hear one event of the wire. Those of the connection itself mean nothing to the character."""
    match event:
        case HeardLine():
            ears.line(event.text, event.colour)
        case Prompt():
            ears.prompt(event.text)
        case Pause():
            ears.pause()
        case Gmcp():
            _hear_message(ears, event.name, event.value)
        case Msdp(name="ROOM_VNUM") if str(event.value) not in {"", "0", "-1"}:
            ears.room_message(str(event.value))
        case Msdp(name="ROOM", value=dict() as room):
            ears.room_message(_text(room.get("VNUM")), _text(room.get("NAME")), _exits(room.get("EXITS")))
        case _:
            pass


def _hear_message(ears: Ears, name: str, value: Value) -> None:
    """Hear a message of GMCP; whatever is not as the protocol has it is passed over."""
    if not isinstance(value, dict):
        return
    if name == "comm.channel.text":
        channel, talker, text = (_text(value.get(key)) for key in ("channel", "talker", "text"))
        if channel and talker and text:
            ears.channel_message(channel, talker, text)
    elif name == "room.info":
        ears.room_message(_text(value.get("num")), _text(value.get("name")), _exits(value.get("exits")))


def _text(value: object) -> str:
    """Return a text or a number as a text, empty for anything else."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _exits(value: object) -> list[str]:
    """Return the names of the exits, from a table by direction, a list or a text."""
    names: Iterable[object] = ()
    if isinstance(value, dict | list):
        names = value
    elif isinstance(value, str):
        names = value.split()
    return [name for name in names if isinstance(name, str)][:MAX_EXITS]
