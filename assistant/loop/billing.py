"""The accounts that pay for a model call: all assistants together, the assistant, and the player it answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from assistant.config.schema import AllowanceConfig, BudgetConfig
from resilience import Account, Allowance, Caller
from tools import Kind, Principal

#: The account of all assistants of the process.
TOTAL = "all assistants"
#: The kinds of principal that have a player's account: another assistant pays for itself, and things pay nothing.
_PEOPLE = {Kind.PLAYER, Kind.OPERATOR}
_MINUTE = 60.0
#: The limit that a player who asks too often has reached.
A_MINUTE = "answers in a minute"


class MinuteCounts:
    """The answers that each person got in the last minute from all assistants of the process. `now` gives seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._times: dict[str, deque[float]] = {}

    def take(self, who: str, most: int) -> float:
        """Count one answer and return 0, or count nothing and return the seconds until there is room for one."""
        now = self._now()
        for one in [one for one, times in self._times.items() if times[-1] + _MINUTE <= now]:
            del self._times[one]
        times = self._times.setdefault(who, deque())
        while times and times[0] + _MINUTE <= now:
            times.popleft()
        if len(times) >= most:
            return times[-most] + _MINUTE - now
        times.append(now)
        return 0.0


class Billing:
    """The budgets of one assistant. `minutes` is shared with the other assistants of the process."""

    def __init__(self, budget: BudgetConfig | None = None, minutes: MinuteCounts | None = None) -> None:
        budget = budget or BudgetConfig()
        self._minutes = minutes
        self._per_minute = budget.player_per_minute
        self._total = Account(TOTAL, _allowance(budget.total))
        self._assistant = _allowance(budget.assistant)
        self._player = _allowance(budget.player)

    def caller(self, me: Principal, requester: Principal | None) -> Caller:
        """Return the caller on whose behalf the assistant asks its model. A person who waits comes first."""
        is_person = requester is not None and requester.kind in _PEOPLE
        accounts = [self._total, Account(me.id, self._assistant)]
        if requester is not None and is_person:
            accounts.append(Account(requester.id, self._player))
        return Caller(me.id, is_urgent=is_person, accounts=tuple(accounts))

    def too_often(self, requester: Principal | None) -> str:
        """Return why a person is not answered now. Empty when they are, and then one answer to them is counted."""
        if self._per_minute is None or self._minutes is None or requester is None or requester.kind not in _PEOPLE:
            return ""
        wait = self._minutes.take(requester.id, self._per_minute)
        times = "once" if self._per_minute == 1 else f"{self._per_minute} times"
        return f"{requester.name} is answered {times} a minute, and again in {wait:.0f} s" if wait else ""


def _allowance(config: AllowanceConfig) -> Allowance:
    return Allowance(config.calls, config.tokens, config.money)
