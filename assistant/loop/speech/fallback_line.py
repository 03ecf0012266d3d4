"""Says the short in-character lines when no answer comes yet, or none at all: seldom, and never about the cause."""

from __future__ import annotations

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from assistant.config.schema import AssistantConfig
from assistant.events.events import Event, Paged
from resilience import Launcher
from tools import ToolFailed, World
from tools.game import speak_to

_log = Logger()


class FallbackLine:
    """Emotes `line` in the world, at most once in `every_seconds`."""

    __slots__ = ("_clock", "_every_seconds", "_line", "_not_before", "_world")

    def __init__(self, world: World, clock: IReactorTime, line: str, every_seconds: float) -> None:
        self._world = world
        self._clock = clock
        self._line = line
        self._every_seconds = every_seconds
        self._not_before = float("-inf")

    async def make(self) -> bool:
        """Show the line; return False when it was shown lately or the world refused it."""
        now = self._clock.seconds()
        if now < self._not_before:
            return False
        self._not_before = now + self._every_seconds
        try:
            await self._world.emote(self._line)
        except ToolFailed as failed:
            _log.info("the fallback line was refused: {why}", why=str(failed))
            return False
        return True


class Waking:
    """Tells those who speak to the character that it is waking up, until its model has answered for the first time.

    A player who is answered within `waking_after_seconds` is told nothing. The room is told at most once in
    `fallback_every_seconds`, and so is each player who pages.
    """

    __slots__ = ("_clock", "_launcher", "_paged", "_room", "_settings", "_timers", "_world", "has_answered", "is_over")

    def __init__(self, world: World, clock: IReactorTime, settings: AssistantConfig) -> None:
        self._world = world
        self._clock = clock
        self._settings = settings
        self._room = FallbackLine(world, clock, settings.waking_line, settings.fallback_every_seconds)
        #: When each player who paged may be told again, in clock seconds.
        self._paged: dict[str, float] = {}
        self._timers: list[IDelayedCall] = []
        self._launcher = Launcher()
        self.is_over = self.has_answered = False

    def asked(self, event: Event) -> None:
        """Note that somebody waits for an answer to this event."""
        self._timers = [timer for timer in self._timers if timer.active()]
        if not self.is_over:
            after = self._settings.waking_after_seconds
            self._timers.append(self._clock.callLater(after, self._launch, event))

    def answered(self) -> None:
        """Note that its model has answered: the character is awake from now on."""
        self.has_answered = True
        self.end()

    def end(self) -> None:
        """Stop telling anybody, for good."""
        self.is_over = True
        self.forget()

    def forget(self) -> None:
        """Do not tell those who wait now."""
        timers, self._timers = self._timers, []
        for timer in timers:
            if timer.active():
                timer.cancel()

    async def stop(self) -> None:
        """Stop telling anybody; returns when nothing is being said."""
        self.end()
        await self._launcher.stop()

    def _launch(self, event: Event) -> None:
        self._launcher.launch(self._tell(event), "telling that it wakes up")

    async def _tell(self, event: Event) -> None:
        if not isinstance(event, Paged):
            await self._room.make()
            return
        now = self._clock.seconds()
        if now < self._paged.get(event.who.id, now):
            return
        self._paged[event.who.id] = now + self._settings.fallback_every_seconds
        try:
            line = f"({self._settings.name} {self._settings.waking_line})"
            await speak_to(self._world.page, event.who.name, line, frozenset({event.who.id}))
        except ToolFailed as failed:
            _log.info("the waking line was refused: {why}", why=str(failed))
