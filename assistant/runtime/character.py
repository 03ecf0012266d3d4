"""Runs one assistant: makes it think about what is in its inbox, and tells what came of that."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Attention, Classification, Manners
from mud_assistant.assistant.events.events import Noticed
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Answered, Failed, Limit, LimitReached, NothingToDo, Outcome
from mud_assistant.assistant.events.tick import Tick, TickPace
from mud_assistant.assistant.journal import (
    Cleared,
    Fenced,
    Forgotten,
    InboxFullError,
    JournalUnreadable,
    JournalUnwritable,
)
from mud_assistant.assistant.life.peace import Peace
from mud_assistant.assistant.loop.goal_offers import GoalOffers
from mud_assistant.assistant.loop.granted import tell_void, why_void
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.memory.rights import Rights
from mud_assistant.assistant.memory.stream.compaction import Compactor
from mud_assistant.assistant.runtime.attending import Attending
from mud_assistant.assistant.runtime.inbox import Inbox
from mud_assistant.assistant.runtime.initiative import Initiative
from mud_assistant.assistant.runtime.sleeping import Sleep, forgetting
from mud_assistant.tools import Declined, Denied, Given, Pending, Principal

_log = Logger()

#: The line that tells the assistant that a request of its own was approved.
ALLOWED = "{who} allows what you asked for as number {number}, once. You do it now."

#: Why a goal ends whose asker is not heard any more.
MUTED = "you asked not to be heard"
#: Receives why a run failed or which budget is used up: for the log, and in a trial the terminal. Never the world.
OnFailure = Callable[[Failed | LimitReached], None]


class Assistant:
    """A character that thinks about what is in its `inbox`, and acts. The inbox wakes it once `start` was called."""

    def __init__(
        self,
        context: RunContext,
        manners: Manners,
        rights: Rights,
        compactor: Compactor,
        sleep: Sleep,
        *,
        inbox: Inbox,
        initiative: Initiative,
        promised: GoalOffers,
        peace: Peace,
        on_failure: OnFailure | None = None,
    ) -> None:
        settings, process = context.settings, context.process
        self.context = context
        self.rights = rights
        self.inbox = inbox
        self._compactor = compactor
        self._sleep = sleep
        self.initiative, self.promised, self.peace = initiative, promised, peace
        self._manners = manners
        self._on_failure = on_failure
        self._launcher = sleep.launcher
        #: Held by a run, and by whatever must not happen during one.
        self._alone = DeferredLock()
        pace = TickPace(settings.join_seconds, settings.awake_seconds, settings.asleep_seconds, initiative.next_at)
        random, scheduler = process.pipeline.random, process.scheduler
        self.tick = Tick(self._one_run, process.clock, pace, settings.name, random, scheduler=scheduler)

    def start(self) -> None:
        """Start the assistant, with what an earlier life left pending. Its inbox must be open."""
        heard, peace = self.initiative.heard, self.peace
        if (floor := self.context.process.floor) is not None:
            floor.called[self.context.body.me.id] = (self.context.body.me.name, *self.context.settings.aliases)
        self.inbox.wake(
            Attending(self.context, self._manners, self.rights, self._sleep, self.tick, heard=heard, peace=peace)
        )
        self.tick.start(at_once=True)

    async def stop(self) -> None:
        """Cancel all work, and return when nothing runs any more. Pending events stay in the journal."""
        if (floor := self.context.process.floor) is not None:
            floor.called.pop(self.context.body.me.id, None)
        await self.tick.stop()
        await self.context.speech.waking.stop()
        await self._launcher.stop()
        await self.inbox.stop()

    def halt(self) -> list[Deferred[None]]:
        """Begin to cancel all work, without waiting for any of it. Return what fires as each part of it ends."""
        return [self.tick.stop(), Deferred.fromCoroutine(self.context.speech.waking.stop()), self._launcher.stop()]

    async def settled(self) -> None:
        """Wait until everything heard so far is dealt with, or waits for a model that cannot be reached."""
        await self.inbox.settled()
        await self.tick.settled()

    async def forget(self, who: Principal) -> Forgotten:
        """Delete what is kept of a player, after the current run, and return what was deleted. Raises JournalError."""
        async with self._alone, forgetting(self.context, self._sleep, who.id):
            try:
                return await self.rights.forget(who)
            finally:
                self.context.tools.approvals.forget(who)
                self.context.memory.goals.forget(who.id)
                self.context.speech.pairs.forget(who.id)
                await self.peace.forgotten()

    async def mute(self, who: Principal) -> None:
        """Hear a player no more, and drop what they asked for later. Raises JournalError."""
        await self.rights.mute(who)
        await self.promised.drop(self.context.memory.goals.of(who.id), MUTED)

    async def drop_promise(self, goal_id: str, reason: str) -> Goal | None:
        """Drop a promise, after the current run. Return it; None when it is over already. Raises JournalError."""
        async with self._alone:
            if (goal := self.context.memory.goals.get(goal_id)) is not None:
                await self.promised.drop([goal], reason)
            return goal

    async def drop(self, who: Principal, memory_id: str) -> int:
        """Delete one memory that a player may see, after the current run. Return how many went. Raises JournalError."""
        async with self._alone, forgetting(self.context, self._sleep, who.id):
            return await self.rights.drop(who, memory_id)

    async def clear_mind(self, *, memories: bool) -> Cleared:
        """Delete its stream and summaries, and all memories if told to, after the current run. Raises JournalError."""
        async with self._alone, forgetting(self.context, self._sleep, ""):
            return await self.rights.clear_mind(memories=memories)

    def approve(self, number: int, who: Principal) -> Given | Denied:
        """Allow the exact call of this number once. The assistant is woken and makes it.

        What the call would act on is looked up again. If it has changed, the request is void, and
        the players who asked and approved are told.
        """
        approvals = self.context.tools.approvals
        answer = approvals.approve(number, who)
        given = approvals.take(number) if isinstance(answer, Given) else None
        if given is None:
            return answer
        if why := why_void(self.context, given):
            tell_void(self.context.body, given, why, but=who)
            return Denied(f"Request {number} is void: {why}. Nothing was done.")
        self._launcher.launch(self._allowed(given, who), "telling of an approval")
        return Given(given)

    def decline(self, number: int, who: Principal) -> Declined | Denied:
        """Refuse the request of this number."""
        return self.context.tools.approvals.decline(number, who)

    async def _allowed(self, given: Pending, who: Principal) -> None:
        """Wake the assistant with the news. A run then makes the call by itself, for the player who asked for it.

        The words of the call are in the stream already, with the label they came with. The news repeats none of them.
        """
        context = self.context
        event = Noticed(
            id=f"{context.body.me.id}.allowed.{context.process.pipeline.random.getrandbits(64):x}",
            at=context.process.clock.seconds(),
            who=given.requester or who,
            text=ALLOWED.format(who=who.name, number=given.number),
            granted=given,
        )
        try:
            await self.inbox.add(event, Attention(Classification.TRIGGER, 10))
        except (Fenced, InboxFullError, JournalUnwritable) as refused:
            _log.warn("{name} cannot do what was allowed: {why}", name=context.body.me.name, why=str(refused))
            tell_void(context.body, given, "it could not be written down")

    async def _one_run(self) -> Outcome:
        """Run once, with the lock held, and return the outcome after it was reported."""
        try:
            async with self._alone:
                if self._is_summary_due:
                    await self._compactor.maybe(hard=True)
                await self.initiative.look()
                outcome = await react(self.context, self.tick.wake)
        except Fenced as shut_out:  # another process is this character now: not even the fallback line is said
            self.tick.halt()
            return self._told(Failed(str(shut_out), lasting=True))
        except (JournalUnwritable, JournalUnreadable) as error:
            outcome = Failed(str(error))
        else:
            if self._is_summary_due:
                self._launcher.launch(self._summarise(), "a summary of old memories")
            elif isinstance(outcome, NothingToDo):
                self._sleep.offer()
        return await self._after(outcome)

    @property
    def _is_summary_due(self) -> bool:
        """Whether old memories should be summarised. A model asked in plain turns sees only the latest turns anyway."""
        return self._compactor.is_due and not self.context.is_asked_plainly

    async def _summarise(self) -> None:
        """Summarise old memories when they fill much of the window, once no player waits for an answer."""
        await self.tick.settled()
        await self._compactor.maybe(hard=False)

    async def _after(self, outcome: Outcome) -> Outcome:
        """Report the outcome to the owner and the players, where it must be, and return it."""
        if isinstance(outcome, Answered):
            self.initiative.acted()
        if isinstance(outcome, Failed):
            self.context.speech.waking.forget()  # nobody is answered now, and what is said below says so
        if isinstance(outcome, Failed):
            self._told(outcome)
        if isinstance(outcome, LimitReached) and outcome.limit is Limit.BUDGET:
            _log.warn("{name}: {cause}", log_event="budget", name=self._manners.name, cause=outcome.cause)
            if self._on_failure is not None:
                self._on_failure(outcome)
            await self.context.speech.budget_line.make()
        elif isinstance(outcome, LimitReached) and outcome.limit is Limit.RATE:
            if self._on_failure is not None:
                self._on_failure(outcome)
            await self.context.speech.rate_line.make()
        elif isinstance(outcome, Failed | LimitReached):
            await self.context.speech.fallback_line.make()
        return outcome

    def _told(self, failed: Failed) -> Failed:
        """Report the failure to the owner and return it."""
        _log.warn("{name} could not think: {cause}", name=self._manners.name, cause=failed.cause)
        if self._on_failure is not None:
            self._on_failure(failed)
        return failed
