"""The short in-character line when no answer comes: at most once in a while, and never a word about the cause."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from tools import ToolFailed, World

_log = Logger()


class Excuse:
    """Emotes `line` in the world, at most once in `every_seconds`."""

    def __init__(self, world: World, clock: IReactorTime, line: str, every_seconds: float) -> None:
        self._world = world
        self._clock = clock
        self._line = line
        self._every_seconds = every_seconds
        self._not_before = float("-inf")

    async def make(self) -> bool:
        """True when the line was shown now, False when it was shown lately or the world refused it."""
        now = self._clock.seconds()
        if now < self._not_before:
            return False
        self._not_before = now + self._every_seconds
        try:
            await self._world.emote(self._line)
        except ToolFailed as failed:
            _log.info("the excuse was refused: {why}", why=str(failed))
            return False
        return True
