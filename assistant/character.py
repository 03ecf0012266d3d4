"""One assistant, alive: what it hears goes into its inbox, what is in its inbox makes it think."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from assistant.classify import Attention, Manners, Verdict, classify
from assistant.events import Event
from assistant.journal import InboxFullError
from assistant.mind import Mind
from assistant.outcome import Failed, Limit, LimitReached, Outcome
from assistant.react import react
from assistant.tick import Pace, Tick
from resilience import Launcher
from tools import Kind

_log = Logger()

#: Told why a run failed or what budget is used up: the log, and in a trial the terminal. Never the world.
OnFailure = Callable[[Failed | LimitReached], None]


class Assistant:
    """A character that hears, thinks and acts. `hear` may be called from the moment `start` was."""

    def __init__(self, mind: Mind, manners: Manners, on_failure: OnFailure | None = None) -> None:
        settings = mind.settings
        self.mind = mind
        self._manners = manners
        self._on_failure = on_failure
        self._bot_exchanges = 0
        self._launcher = Launcher()
        pace = Pace(settings.join_seconds, settings.awake_seconds, settings.asleep_seconds)
        self.tick = Tick(self._one_run, mind.clock, pace, settings.name, mind.random)

    def start(self) -> None:
        """Begin to live."""
        self.tick.start()

    async def stop(self) -> None:
        """Cancel what goes on; returns when nothing does. Pending events stay in the journal."""
        await self.tick.stop()
        await self._launcher.stop()

    async def hear(self, event: Event) -> Attention:
        """The attention the event got; when this returns, an event that was not ignored is in the journal.

        Raises InboxFullError when the inbox takes no more triggers; overheard events are then let pass.
        """
        attention = classify(event, self._manners, self._bot_exchanges)
        if attention.verdict is Verdict.IGNORE:
            return attention
        try:
            await self.mind.journal.accept(event, attention)
        except InboxFullError:
            _log.warn("the inbox of {name} is full", name=self._manners.name)
            if attention.verdict is Verdict.TRIGGER:
                self._launcher.launch(self._excused(), "excuse")
                raise
            return Attention(Verdict.IGNORE, attention.importance)
        self._count_bots(event, attention)
        if attention.verdict is Verdict.TRIGGER:
            if self.tick.paused:
                self._launcher.launch(self._excused(), "excuse")
            self.tick.wake()
        return attention

    def settled(self) -> Deferred[None]:
        """Fires when everything heard so far is dealt with, or waits for a model that cannot be reached."""
        return self.tick.settled()

    def _count_bots(self, event: Event, attention: Attention) -> None:
        """Count how often assistants woke this one since a human spoke."""
        if event.who.kind is Kind.ASSISTANT:
            self._bot_exchanges += attention.verdict is Verdict.TRIGGER
        elif event.who.kind in {Kind.PLAYER, Kind.OPERATOR}:
            self._bot_exchanges = 0

    async def _one_run(self) -> Outcome:
        outcome = await react(self.mind)
        if isinstance(outcome, Failed):
            _log.warn("{name} could not think: {cause}", name=self._manners.name, cause=outcome.cause)
            if self._on_failure is not None:
                self._on_failure(outcome)
        if isinstance(outcome, LimitReached) and outcome.limit is Limit.BUDGET:
            _log.warn("{name}: {cause}", log_event="budget", name=self._manners.name, cause=outcome.cause)
            if self._on_failure is not None:
                self._on_failure(outcome)
            await self.mind.tired.make()
        elif isinstance(outcome, Failed | LimitReached):
            await self.mind.excuse.make()
        return outcome

    async def _excused(self) -> None:
        await self.mind.excuse.make()
