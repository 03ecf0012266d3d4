"""One assistant of a service: it hears from the moment it is started, and thinks as soon as it has a model.

start -> OPENING   its storage is opened, its model chosen; what is heard waits, then goes into the journal
      -> WAITING   no model can be used now: it tries again by itself, events are kept, `trouble` says why
      -> AWAKE     it hears, thinks and acts
stop  -> STOPPED   the current run is suspended, and resumed at the next start
LOST               another process runs this assistant
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from msgspec.structs import replace
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.task import deferLater
from twisted.logger import Logger

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.events.outcome import Failed, LimitReached
from mud_assistant.assistant.journal import HeldElsewhere, JournalError
from mud_assistant.assistant.loop.speech.fallback_line import FallbackLine, Waking
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import build_assistant, granted_tools, manners_of
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.inbox import Inbox
from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.service.activity import Activity
from mud_assistant.assistant.service.halting import HaltableWorld
from mud_assistant.assistant.service.host import Embodiment, Observers
from mud_assistant.assistant.service.parts import SharedParts
from mud_assistant.assistant.service.troubles import Alarms
from mud_assistant.resilience import Launcher

#: First and longest pause before a model is looked for again, in seconds.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0

_log = Logger()


class RunnerState(StrEnum):
    """The state of an assistant's life cycle."""

    OPENING = "opening"
    WAITING = "waiting"
    AWAKE = "awake"
    STOPPED = "stopped"
    LOST = "lost"


class AssistantRunner:
    """One assistant and its life cycle. `entered` is the reference of a key that the owner gave just now.

    `previous` ran this assistant until now. It is stopped first, and halted with this one.
    """

    def __init__(
        self,
        parts: SharedParts,
        embodiment: Embodiment,
        config: Config,
        *,
        entered: str = "",
        previous: AssistantRunner | None = None,
    ) -> None:
        self.embodiment = embodiment
        self.config = config
        self.models: tuple[ChosenModel, ...] = ()
        #: None until there is a model.
        self.assistant: Assistant | None = None
        self.observers = Observers(parts.process.watchers, embodiment.me.id)
        self._parts = parts
        self._entered = entered
        self._previous = previous
        #: Its world as long as it may act there.
        self._world = HaltableWorld(embodiment.world, lambda: parts.journal.may_act(embodiment.me.id))
        self._storage: Storage | None = None
        #: Held while the storage is being opened.
        self._opening = DeferredLock()
        self.guests = self._world.guests
        settings = config.assistant
        self._waking = Waking(self._world, parts.clock, settings)
        fallback_line = FallbackLine(self._world, parts.clock, settings.fallback_line, settings.fallback_every_seconds)
        self._state = RunnerState.OPENING
        #: What it perceives goes through here.
        manners, before = manners_of(settings, embodiment.me), previous.inbox if previous else None
        self.inbox: Inbox = Inbox(
            manners, parts.clock, parts.process.watchers, self._waking, fallback_line, previous=before
        )
        #: Why the last attempt to wake up failed, and those who wait for the first.
        self._cause: AssistantError | None = None
        self._attempts: list[Deferred[None]] = []
        self._waiting: list[Deferred[None]] = []
        self._living = Launcher()
        self._succeeding = Launcher()
        self.alarms = Alarms(embodiment.me, parts.lookout, self._living.launch)
        self.activity = Activity(embodiment.me.name, parts.clock.seconds, lambda: self.state)
        self.observers.add(self.alarms)
        self.observers.add(self.activity)
        self.on_awake: Callable[[AssistantRunner], None] = lambda _: None
        #: Fires when the previous runner has stopped. None until its stop is begun, and when there is none.
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
        self._living.launch(self._live(), f"the life of {self.embodiment.me.name}")

    def hear(self, make: MakeEvent) -> None:
        """Take in an event that was perceived now. It goes into the journal before anything else is done with it."""
        if self._state is not RunnerState.STOPPED:
            self.inbox.hear(make)

    async def first_attempt(self) -> None:
        """Wait until it has tried to wake up. Raises the AssistantError that kept it from it; it goes on trying."""
        if self._state is RunnerState.OPENING:
            attempt: Deferred[None] = Deferred()
            self._attempts.append(attempt)
            await attempt
        if self._state is RunnerState.WAITING and self._cause is not None:
            raise self._cause

    async def settled(self) -> None:
        """Wait until it is awake and all it heard is dealt with, or waits for a model that cannot be reached."""
        while self._state in {RunnerState.OPENING, RunnerState.WAITING}:
            awake: Deferred[None] = Deferred()
            self._waiting.append(awake)
            await awake
        if self.assistant is not None:
            await self.assistant.settled()

    def halt(self) -> list[Deferred[None]]:
        """Let it do nothing more from now on, and return what ends then; `stop` does the rest. Waits for nothing.

        What it heard is still recorded when the journal can be written. A run is resumed at the next start.
        """
        self._state = RunnerState.STOPPED
        self._world.halt()
        self.embodiment.silence()
        self._waking.end()
        ending = [self._living.stop(), self.embodiment.withdraw()]
        if self.assistant is not None:
            ending += self.assistant.halt()
        return ending if self._previous is None else [*ending, *self._previous.halt()]

    async def stop(self, *, stays: bool = False) -> None:
        """Record what was heard, and suspend the current run. One that `stays` in its game has a successor here."""
        self._state = RunnerState.STOPPED
        await self._living.stop()
        await self._stop_previous()
        await self._waking.stop()
        await self._write_unheard()
        await self.inbox.written()
        if (assistant := self.assistant) is not None:
            await assistant.stop()
        await self.inbox.stop()
        if not stays:
            await self.embodiment.withdraw()
        for model in self.models:
            if model.embedded is not None:
                await model.embedded.stop()
        self._tell_waiting()
        # Freed now, and not at the next full collection, which may be hours away (`assistant/starting.py`).
        if assistant is not None:
            assistant.tick.release()
            self.inbox.release()
        self.assistant = self._cause = None

    async def _live(self) -> None:
        """Try until there is a model to think with."""
        await self._stop_previous()
        pause = FIRST_PAUSE
        while True:
            try:
                await self._wake_up()
            except AssistantError as error:
                if self._state is RunnerState.STOPPED:  # a cancelled request was reported as a failure of the server
                    return
                self._state, self._cause = RunnerState.WAITING, error
                if isinstance(error, HeldElsewhere):
                    self.alarms.lives_elsewhere(error)
                    self.embodiment.leave(error)
                else:
                    self.alarms.cannot_wake(error)
                    _log.warn("{name} cannot think yet: {why}", name=self.embodiment.me.name, why=self.trouble)
                await self.inbox.cannot_think()
                self._tell_attempted()
            else:
                return
            if isinstance(self._cause, HeldElsewhere):
                await self._parts.journal.until_free(self.embodiment.me.id)
            else:
                await deferLater(self._parts.clock, pause)
                pause = min(LONGEST_PAUSE, 2 * pause)

    async def _stop_previous(self) -> None:
        """Stop the previous runner once, and wait for it. Cancelling ends the wait; the stop goes on."""
        if self._previous is not None and self._succeeded is None:
            self._succeeded = self._succeeding.launch(self._previous.stop(stays=True), "ending its previous life")
        if self._succeeded is not None and not self._succeeded.called:
            over: Deferred[None] = Deferred()
            self._succeeded.addCallback(lambda _: None if over.called else over.callback(None))
            await over
        self._previous = None

    async def _wake_up(self) -> None:
        """Open the storage, choose the model, and start thinking."""
        parts, settings = self._parts, self.config.assistant
        storage = self._storage = await self._open()
        await self._turn()  # the whole game may be starting
        await parts.admit(self.config, self._entered)
        await parts.give_meaning()
        me = replace(self.embodiment, world=self._world)
        around = await parts.dependencies(me, self.config, storage, self.observers)
        granted_tools(settings, around.tools.registry)  # a wrong name is told before a model is fetched
        settings, character = await parts.playing(settings)
        self.models = self.models or tuple(await parts.choose(self.config))
        await self._turn()  # many may have waited for one model
        around = replace(around, waking=self._waking, inbox=self.inbox, character=character)
        assistant = build_assistant(settings, self.models, around, self._failed)
        await assistant.rights.load()
        if self.embodiment.gathered is not None and await storage.journal.pending():
            await self.embodiment.gathered()
        if self._state is RunnerState.STOPPED:
            return
        self.assistant = assistant
        self._storage = replace(storage, stream=())  # the history has it, in a fifth of the memory
        assistant.start()
        self._state = RunnerState.AWAKE
        self.alarms.awake(assistant)
        _log.info("{name} thinks with {why}", name=self.embodiment.me.name, why=parts.scrub(self.models[0].why))
        self._tell_waiting()
        self._living.launch(parts.warmer.warm(assistant.context, self.models[0]), "warming the model")
        self.on_awake(self)

    async def _open(self) -> Storage:
        """Open the storage, unless it is open, and begin to write what was heard until now. Raises JournalError."""
        async with self._opening:
            if self._storage is None:
                storage = await self._parts.storage_of(self.embodiment.me, self.config)
                muted = frozenset(muted.principal_id for muted in await storage.mutes.muted())
                if self._state is not RunnerState.STOPPED:
                    self.embodiment.enter(storage)
                self.inbox.open(storage, muted)
                self._parts.journal.begins_to_hear(self.embodiment.me.id)
                self._storage = storage
            return self._storage

    async def _write_unheard(self) -> None:
        """Write what was heard before the storage was open, for the next start. The log counts what cannot be."""
        if self.inbox.unheard:
            try:
                await self._open()
            except JournalError as error:
                self.inbox.lose(str(error))

    async def _turn(self) -> None:
        if (turn := self._parts.process.scheduler.turn()) is not None:
            await turn

    def _failed(self, failure: Failed | LimitReached) -> None:
        self.alarms.failed(failure)
        self.embodiment.failed(failure)

    def _tell_attempted(self) -> None:
        """Tell those who wait for the first attempt, in the next turn: they may stop this runner."""
        while self._attempts:
            self._parts.clock.callLater(0, self._attempts.pop(0).callback, None)

    def _tell_waiting(self) -> None:
        self._tell_attempted()
        while self._waiting:
            self._waiting.pop(0).callback(None)
