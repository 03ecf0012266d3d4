"""Lets an assistant sleep when nobody is there: then it draws profiles and insights from what it remembers.

What is forgotten is forgotten by its sleep first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.config.sections import MemoryConfig
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.loop.asking import ask_for_itself
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.memory.sleep.plan import QuietSigns, SleepPlan
from mud_assistant.assistant.memory.sleep.stored import StoredSleep
from mud_assistant.llm import Message
from mud_assistant.llm.messages import JSONObject
from mud_assistant.resilience import Launcher
from mud_assistant.tools import ToolFailed
from mud_assistant.tools.trust import PEOPLE

if TYPE_CHECKING:
    from mud_assistant.assistant.memory.sleep.night import Sleeper

#: How long one answer may take at night, in seconds. Nobody waits for it.
ANSWER_SECONDS = 600.0
#: How long nobody must be there before a night, in seconds.
QUIET_SECONDS = 600.0
#: When no night is due, it is looked again after this time, in seconds, unless something happens before.
LOOK_AGAIN_SECONDS = 3600.0
_AT_ONCE = float("-inf")

_log = Logger()


class Sleep:
    """The sleep of one assistant, as the owner's settings of the memory limit it.

    `utc_offset` is the owner's time minus UTC, in seconds. What sleeps is made when a night may be due, and thrown away
    after it: a waiting assistant is small.
    """

    __slots__ = (
        *("_config", "_context", "_empty_since", "_is_looking", "_not_before", "launcher"),
        *("_sleeper", "_stored", "_utc_offset"),
    )

    def __init__(
        self,
        context: RunContext,
        stored: StoredSleep,
        config: MemoryConfig,
        launcher: Launcher,
        *,
        utc_offset: float = 0.0,
    ) -> None:
        self._context = context
        self._stored = stored
        self._config = config
        #: Runs what its assistant does beside its runs; the night ends when it is stopped.
        self.launcher = launcher
        self._utc_offset = utc_offset
        #: When the last player left, in clock seconds; None while one is there.
        self._empty_since: float | None = None
        self._sleeper: Sleeper | None = None
        self._is_looking = False
        self._not_before = _AT_ONCE

    def heard(self, event: Event) -> None:
        """Note an event that was taken in: it interrupts the night."""
        if event.who.kind in PEOPLE:
            self._empty_since = None
        self._not_before = _AT_ONCE
        if self._sleeper is not None:
            self._sleeper.wake()

    def offer(self) -> None:
        """Offer a night, at a moment without anything to do. Returns at once."""
        if not self._config.sleep or self._is_looking or self._context.process.clock.seconds() < self._not_before:
            return
        if not self._context.is_asked_plainly:  # so small a model concludes nothing useful
            self.launcher.launch(self._look(), f"the sleep of {self._context.body.me.name}")

    async def forgotten(self, principal_id: str) -> None:
        """Throw away what is being made of a player who was forgotten."""
        if self._sleeper is not None:
            await self._sleeper.forgotten(principal_id)

    async def _look(self) -> None:
        self._is_looking = True
        try:
            await self._look_round()
        finally:
            self._is_looking = False

    async def _look_round(self) -> None:
        """Look whether a player is there, and sleep when none is and a night is due."""
        now, config = self._context.process.clock.seconds(), self._config
        if await self._is_watched():
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = now
        is_quiet = self._empty_since is not None and now - self._empty_since >= QUIET_SECONDS
        if not is_quiet and config.sleep_hour is None:
            return
        sleeper = self._sleeper = self._sleeper or self._make_sleeper()
        end = await sleeper.maybe(QuietSigns(now, self._empty_since, utc_offset=self._utc_offset))
        from mud_assistant.assistant.memory.sleep.night import NightEnd  # noqa: PLC0415  (`_make_sleeper` has loaded it)

        if end in {NightEnd.NOT_DUE, NightEnd.OVER}:
            self._sleeper, self._not_before = None, now + LOOK_AGAIN_SECONDS
        else:
            _log.info("the night of {name} ended: {end}", name=self._context.body.me.name, end=end.value)

    async def _is_watched(self) -> bool:
        try:
            scene = await self._context.body.world.look()
        except ToolFailed:
            return False
        return any(not person.is_ai for person in scene.people)

    def _make_sleeper(self) -> Sleeper:
        from mud_assistant.assistant.memory.sleep.night import Sleeper  # noqa: PLC0415  (many assistants never have a night)

        context, config = self._context, self._config
        plan = SleepPlan(sleep_hour=config.sleep_hour, sleep_calls=config.sleep_calls, quiet_seconds=QUIET_SECONDS)
        room = context.model.config.context_tokens - 2 * plan.tokens_out
        plan = replace(plan, tokens_in=min(plan.tokens_in, room))

        async def ask(messages: Sequence[Message], schema: JSONObject) -> str:
            return await ask_for_itself(
                context, messages, max_tokens=plan.tokens_out, seconds=ANSWER_SECONDS, schema=schema
            )

        settings = context.settings
        aliases = (settings.name, *settings.aliases)
        return Sleeper(self._stored, self._stored, ask, context.body.me, plan, aliases=aliases)


@asynccontextmanager
async def forgetting(context: RunContext, sleep: Sleep, principal_id: str) -> AsyncIterator[None]:
    """Forget this principal, or everybody for "", in this context. Raises JournalError.

    Nothing that is under way outlives it: no night that has read it, nothing shown to watchers.
    """
    await sleep.forgotten(principal_id)  # before the file is rewritten: it holds what a model said of them
    try:
        yield
    finally:
        context.process.watchers.forget(context.body.me.id)
        context.speech.questions.forget(principal_id)
        context.tools.following.forget(principal_id)
        context.speech.talk.forget_turns()
    await sleep.forgotten(principal_id)
