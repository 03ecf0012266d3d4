"""Says the short in-character lines when no answer comes yet, or none at all: seldom, and never about the cause."""

from __future__ import annotations

import math
from collections.abc import Iterable

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.events.events import Event, Paged
from mud_assistant.assistant.journal import Accepted
from mud_assistant.resilience import Launcher
from mud_assistant.tools import ToolFailed, World

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
    """Tells those who wait for an answer what is true: that the character wakes up, or that it is still thinking.

        its model never answered yet   -> `waking_line`, once, after `waking_after_seconds`
        its model has answered before  -> `slow_line`, as rarely as the fallback line, after `slow_after_seconds`
        the run is over                -> nothing: it was answered, or another line said why not

    The room is told, and each player who paged.
    """

    def __init__(self, world: World, clock: IReactorTime, settings: AssistantConfig) -> None:
        self._world = world
        self._clock = clock
        self._settings = settings
        self._waking = FallbackLine(world, clock, settings.waking_line, math.inf)
        self._slow = FallbackLine(world, clock, settings.slow_line, settings.fallback_every_seconds)
        #: When each player who paged may be told again, in clock seconds, by their id and the line.
        self._paged: dict[tuple[str, str], float] = {}
        #: By its id: each event for which somebody waits, and since when.
        self._waiting: dict[str, tuple[Event, float]] = {}
        #: Looks who has waited too long. It runs on when they are answered, for those who ask next.
        self._timer: IDelayedCall | None = None
        self._launcher = Launcher()
        self._is_over = False
        self._answered: set[str] = set()
        self._model = ""
        #: Whether the model has answered this character, and so has read the beginning of its prompts.
        self.has_answered = False

    def thinks_with(self, model: str, answered: set[str], *, is_loaded: bool) -> None:
        """Name the model. `answered` are the models that have answered anybody in this process.

        `is_loaded` says that it has not to be loaded: a model that is not the owner's own.
        """
        self._model, self._answered = model, answered
        if is_loaded:
            answered.add(model)

    @property
    def is_awake(self) -> bool:
        """Whether its model has answered somebody, or read the beginning of a prompt."""
        return self._model in self._answered

    def asked(self, event: Event) -> None:
        """Note that somebody waits for an answer to this event."""
        if not self._is_over and event.id not in self._waiting:
            self._waiting[event.id] = event, self._clock.seconds()
            if self._timer is None:
                self._timer = self._clock.callLater(self._after, self._look)

    def answered(self) -> None:
        """Note that its model has answered."""
        self.has_answered = True
        self.warmed()

    def warmed(self) -> None:
        """Note that its model is loaded and has read something."""
        self._answered.add(self._model)

    def over(self, heard: Iterable[Accepted]) -> None:
        """Tell nobody any more who waits for an answer to one of these events."""
        for one in heard:
            self._waiting.pop(one.event.id, None)

    def forget(self) -> None:
        """Do not tell those who wait now."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self) -> None:
        """Stop telling anybody, for good."""
        self._is_over = True
        self.forget()

    async def stop(self) -> None:
        """Stop telling anybody; returns when nothing is being said."""
        self.end()
        await self._launcher.stop()

    @property
    def _after(self) -> float:
        """After how many seconds somebody is told."""
        return self._settings.slow_after_seconds if self.is_awake else self._settings.waking_after_seconds

    def _look(self) -> None:
        """Tell those who have waited too long, and look again when the next one has."""
        self._timer = None
        due = self._clock.seconds() - self._after
        for event_id, (event, since) in tuple(self._waiting.items()):
            if since <= due:
                del self._waiting[event_id]
                self._tell(event)
        if self._waiting:
            first = min(since for _, since in self._waiting.values())
            self._timer = self._clock.callLater(max(0.0, first - due), self._look)

    def _tell(self, event: Event) -> None:
        settings = self._settings
        line, text = (self._slow, settings.slow_line) if self.is_awake else (self._waking, settings.waking_line)
        telling = self._page(event, text) if isinstance(event, Paged) else line.make()
        self._launcher.launch(telling, "telling that an answer comes")

    async def _page(self, event: Event, text: str) -> bool:
        now, key = self._clock.seconds(), (event.who.id, text)
        if now < self._paged.get(key, now):
            return False
        self._paged[key] = now + (self._settings.fallback_every_seconds if self.is_awake else math.inf)
        try:
            line = f"({self._settings.name} {text})"
            await self._world.page(event.who.name, line, only=frozenset({event.who.id}))
        except ToolFailed as failed:
            _log.info("{text} was refused: {why}", text=text, why=str(failed))
            return False
        return True
