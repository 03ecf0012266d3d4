"""Gives assistants to other processes that wait for them, until all run about as many.

Imported only where the journal is in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from mud_assistant.assistant.journal.errors import JournalError
from mud_assistant.assistant.journal.postgres.sharing.placement import TOO_MANY, choose_gift, read_loads, reserve_gifts
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.resilience import Launcher

#: How much time lies between two turns of giving away at least, in seconds, and how many turns are left out when there
#: is nothing to give.
TURN_SECONDS, CALM_TURNS = 5.0, 2

_log = Logger()


class Balancer:
    """Gives assistants away, some in each turn. `mine` returns those of this process that may go, the best first.

    `hand_over` stops one and gives its lease to the process of that name.
    """

    # Any: the reactor as clock.
    def __init__(
        self,
        store: PostgresStore,
        clock: Any,
        mine: Callable[[], Sequence[str]],
        hand_over: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._store = store
        self._mine = mine
        self._hand_over = hand_over
        self._calm = 0
        self._launcher = Launcher()
        self._loop = LoopingCall(self._begin_turn)
        self._loop.clock = clock

    def start(self) -> None:
        """Begin to look every few seconds."""
        self._loop.start(TURN_SECONDS, now=False)

    async def stop(self) -> None:
        """Give no more away."""
        if self._loop.running:
            self._loop.stop()
        await self._launcher.stop()

    def _begin_turn(self) -> Deferred[None]:
        return self._launcher.launch(self._turn(), "sharing assistants with other processes")

    async def _turn(self) -> None:
        if self._calm:
            self._calm -= 1
            return
        try:
            is_done = await self._give_some()
        except JournalError as error:
            _log.warn("no assistant is given away: {why}", why=str(error))
            return
        if not is_done:
            self._calm = CALM_TURNS

    async def _give_some(self) -> bool:
        """Give away what others should run, one after the other. Return False when there is none to give."""
        mine = self._mine()
        if len(mine) < TOO_MANY:
            return False
        process = self._store.process
        if choose_gift(await self._store.read(read_loads), process.id, mine) is None:
            return False
        gifts = await self._store.write(partial(reserve_gifts, leases=self._store.leases, mine=mine))
        for gift in gifts:
            await self._hand_over(*gift)
        return bool(gifts)
