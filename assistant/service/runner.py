"""One assistant of a household: it hears from the moment it is started, and thinks as soon as it has a model.

start -> OPENING   its storage is opened, its model chosen; what is heard waits, then goes into the journal
      -> WAITING   no model can be used now: it tries again by itself, events are kept, `trouble` says why
      -> AWAKE     it hears, thinks and acts
stop  -> STOPPED   the current run is suspended, and resumed at the next start
LOST               another process runs this assistant
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Protocol

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from assistant.config.schema import Config
from assistant.config.settings import SettingsError
from assistant.events.events import Event
from assistant.events.scheduler import Scheduler
from assistant.journal import Fenced, InboxFullError, JournalError, JournalUnwritable
from assistant.keys.sources import KeyReferenceError
from assistant.loop.speech.fallback_line import FallbackLine, Waking
from assistant.models.choose import NoModelError
from assistant.models.chosen import ChosenModel
from assistant.runtime.build import Dependencies, build_assistant, manners_of
from assistant.runtime.character import Assistant
from assistant.runtime.storage import Storage
from assistant.service.alarms import Alarms, Lookout
from assistant.service.embodiment import Embodiment
from assistant.service.observers import Observers
from assistant.service.pending_inbox import PendingInbox
from resilience import Launcher

#: First and longest pause before a model is looked for again, in seconds.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
#: The most events that wait for the storage to open.
MAX_UNHEARD = 500

#: Makes an event from its id and the time it happened, in clock seconds.
MakeEvent = Callable[[str, float], Event]

_log = Logger()


class RunnerState(StrEnum):
    """The state of an assistant's life cycle."""

    OPENING = "opening"
    WAITING = "waiting"
    AWAKE = "awake"
    STOPPED = "stopped"
    LOST = "lost"


class SharedParts(Protocol):
    """The part of a household that each member uses."""

    @property
    def clock(self) -> IReactorTime:
        """The clock."""
        ...

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler that lets the members work in turn."""
        ...

    @property
    def lookout(self) -> Lookout:
        """The observer that notes troubles of all assistants."""
        ...

    async def storage_of(self, runner: str, inbox_limit: int, name: str) -> Storage:
        """Return the storage of this member. Raises JournalError."""
        ...

    async def choose(self, config: Config, entered: str) -> list[ChosenModel]:
        """Return the models it thinks with. Raises NoModelError, KeyReferenceError and JournalError."""
        ...

    async def dependencies(self, place: Embodiment, config: Config, storage: Storage, watch: Observers) -> Dependencies:
        """Return what it is built from. Raises SettingsError and KeyReferenceError."""
        ...

    def scrub(self, text: str) -> str:
        """Return the text without keys."""
        ...


class AssistantRunner:
    """One assistant and its life cycle. `entered` is the reference of a key that the owner gave just now.

    `previous` is the member that ran this assistant until now. It is stopped first.
    """

    def __init__(
        self,
        shared: SharedParts,
        place: Embodiment,
        config: Config,
        *,
        entered: str = "",
        previous: AssistantRunner | None = None,
    ) -> None:
        self.place = place
        self.config = config
        self.models: tuple[ChosenModel, ...] = ()
        #: None until there is a model.
        self.assistant: Assistant | None = None
        self.observers = Observers()
        self._shared = shared
        self._entered = entered
        self._previous = previous
        self._storage: Storage | None = None
        self._doorstep: PendingInbox | None = None
        self._waking = Waking(place.world, shared.clock, config.assistant)
        self._state = RunnerState.OPENING
        self._heard = 0
        #: Makers of the events perceived before the storage was open, each with its time.
        self._unheard = previous.left_unheard() if previous else []
        self._on_the_way_in: set[Deferred[None]] = set()
        self._waiting: list[Deferred[None]] = []
        self._hearing = Launcher()
        self._living = Launcher()
        self._succeeding = Launcher()
        self.alarms = Alarms(place.me, shared.lookout, self._living.launch)
        self.observers.add(self.alarms)
        #: Fires when the previous member has stopped. None until its stop is begun, and when there is none.
        self._succeeded: Deferred[None] | None = None

    @property
    def state(self) -> RunnerState:
        """The state of its life cycle."""
        if self._state is RunnerState.AWAKE and self.assistant is not None and not self.assistant.tick.started:
            return RunnerState.LOST
        return self._state

    @property
    def trouble(self) -> str:
        """Why it cannot think, in one sentence without a key; empty when it can."""
        return self.alarms.cause

    @property
    def emergency(self) -> bool:
        """Whether it stopped thinking after too many crashed runs, until `clear`."""
        return self.assistant is not None and self.assistant.tick.stopped_by_errors

    def clear(self) -> None:
        """Lift the emergency stop."""
        if self.assistant is not None:
            self.assistant.tick.clear_errors()
            self.alarms.lifted()

    def start(self) -> None:
        """Start in the background, and return at once."""
        self._living.launch(self._live(), f"the life of {self.place.me.name}")

    def hear(self, make: MakeEvent) -> None:
        """Take in an event that was perceived now. It goes into the journal before anything else is done with it."""
        now = self._shared.clock.seconds()
        if self._state is RunnerState.STOPPED:
            return
        if self._storage is not None:
            self._take_in(self._storage, make, now)
        elif len(self._unheard) < MAX_UNHEARD:
            self._unheard.append((make, now))
        else:
            _log.warn("{name} cannot take in more before its journal is open", name=self.place.me.name)

    def left_unheard(self) -> list[tuple[MakeEvent, float]]:
        """Hand over what was perceived and never taken in, for the next member to take in."""
        unheard, self._unheard = self._unheard, []
        return unheard

    async def settled(self) -> None:
        """Wait until it is awake and all it heard is dealt with, or waits for a model that cannot be reached."""
        while self._state in {RunnerState.OPENING, RunnerState.WAITING}:
            awake: Deferred[None] = Deferred()
            self._waiting.append(awake)
            await awake
        await DeferredList(list(self._on_the_way_in))
        if self.assistant is not None:
            await self.assistant.settled()

    async def stop(self) -> None:
        """Stop hearing and thinking. What was heard is recorded first, and the current run is suspended."""
        self._state = RunnerState.STOPPED
        await self._living.stop()
        await self._life_before()
        await DeferredList(list(self._on_the_way_in))
        if self.assistant is not None:
            await self.assistant.stop()
        await self._waking.stop()
        await self._hearing.stop()
        for model in self.models:
            if model.embedded is not None:
                await model.embedded.stop()
        self._tell_waiting()

    async def _live(self) -> None:
        """Try until there is a model to think with."""
        await self._life_before()
        pause = FIRST_PAUSE
        while True:
            try:
                await self._wake_up()
            except (NoModelError, SettingsError, KeyReferenceError, JournalError) as error:
                if self._state is RunnerState.STOPPED:  # a cancelled request was reported as a failure of the server
                    return
                self._state = RunnerState.WAITING
                self.alarms.cannot_wake(error)
                _log.warn("{name} cannot think yet: {why}", name=self.place.me.name, why=self.trouble)
                if self._doorstep is not None:
                    await self._doorstep.cannot_think()
            else:
                return
            await deferLater(self._shared.clock, pause)
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _life_before(self) -> None:
        """Stop the previous member once, and wait for it. Cancelling ends the wait; the stop goes on."""
        if self._previous is not None:
            previous, self._previous = self._previous, None
            self._succeeded = self._succeeding.launch(previous.stop(), f"the end of {self.place.me.name}'s life before")
        if self._succeeded is not None and not self._succeeded.called:
            over: Deferred[None] = Deferred()

            def told(_: None) -> None:
                if not over.called:
                    over.callback(None)

            self._succeeded.addCallback(told)
            await over

    async def _wake_up(self) -> None:
        """Open the storage, choose the model, and start thinking."""
        shared, settings = self._shared, self.config.assistant
        if self._storage is None:
            storage = await shared.storage_of(self.place.me.id, settings.inbox_limit, self.place.me.name)
            muted = frozenset(muted.principal_id for muted in await storage.mutes.muted())
            fallback_line = FallbackLine(
                self.place.world, shared.clock, settings.fallback_line, settings.fallback_every_seconds
            )
            self._doorstep = PendingInbox(
                storage, manners_of(settings, self.place.me), muted, fallback_line, self._waking
            )
            self._open_door(storage)
        assert self._storage is not None
        await self._turn()  # the whole game may be starting
        around = await shared.dependencies(self.place, self.config, self._storage, self.observers)
        self.models = self.models or tuple(await shared.choose(self.config, self._entered))
        await self._turn()  # many may have waited for one model
        around = replace(around, waking=self._waking)
        assistant = build_assistant(settings, self.models, around, self.alarms.failed)
        await assistant.rights.load()
        if self.place.gathered is not None and await self._storage.journal.pending():
            await self.place.gathered()
        if self._state is RunnerState.STOPPED:
            return
        self.assistant = assistant
        self._storage = replace(self._storage, stream=())  # the history has it, in a fifth of the memory
        assistant.start()
        self._state = RunnerState.AWAKE
        self.alarms.awake(assistant)
        _log.info("{name} thinks with {why}", name=self.place.me.name, why=shared.scrub(self.models[0].why))
        self._tell_waiting()
        self._living.launch(around.warmer.warm(assistant.context, self.models[0]), "warming the model")

    async def _turn(self) -> None:
        if (turn := self._shared.scheduler.turn()) is not None:
            await turn

    def _open_door(self, storage: Storage) -> None:
        """Take in what waited for the storage, in order."""
        self._storage = storage
        for make, at in self.left_unheard():
            self._take_in(storage, make, at)

    def _take_in(self, storage: Storage, make: MakeEvent, at: float) -> None:
        self._heard += 1
        event = make(f"{self.place.me.id}.{storage.life}.{self._heard}", at)
        accepted = self._hearing.launch(self._accept(event), "hearing")
        if not accepted.called:
            self._on_the_way_in.add(accepted)
            accepted.addBoth(lambda _: self._on_the_way_in.discard(accepted))

    async def _accept(self, event: Event) -> None:
        hearer = self.assistant or self._doorstep
        assert hearer is not None
        try:
            await hearer.hear(event)
        except (InboxFullError, JournalUnwritable, Fenced):
            return  # logged already; the excuse was shown, or another process runs this assistant
        if self.assistant is not None and hearer is self._doorstep:
            self.assistant.tick.wake()

    def _tell_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for awake in waiting:
            awake.callback(None)
