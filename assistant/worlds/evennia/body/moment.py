"""Tells the time of the game, and the moment as a room has it: the part of the day and the weather."""

from __future__ import annotations

from time import localtime
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.worlds.evennia.body.border import visible_lines
from mud_assistant.tools.game import GameTime, describe_moment, part_of_day

_log = Logger()

#: The longest name of a part of the day, and of the weather, in characters.
MAX_WEATHER = 120


def time_of_game() -> GameTime:
    """Return the game's own clock, by whose hour its rooms go too. Raises OverflowError, OSError, ValueError."""
    from evennia.utils import gametime  # only where Django is set up

    seconds = gametime.gametime(absolute=True)
    return GameTime(seconds + localtime(seconds).tm_gmtoff, gametime.TIMEFACTOR)


def moment_of(room: Any) -> str:
    """Tell the part of the day, as the room has it or by the game's clock, and the weather, where the room has one."""
    weather = room.attributes.get("weather")
    try:
        own = getattr(room, "get_time_of_day", None)  # contrib's ExtendedRoom
        part = str(own()) if own is not None else part_of_day(time_of_game().hour)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 - the border to any game: a scene without its hour is better than none
        _log.failure("{room} cannot tell the time of the day", room=room.key)
        part = ""
    sky = visible_lines(weather, MAX_WEATHER) if isinstance(weather, str) else ""
    return describe_moment(visible_lines(part, MAX_WEATHER), " ".join(sky.split()))
