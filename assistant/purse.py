"""Who pays for a model call: all assistants together, the assistant, and the player it answers."""

from __future__ import annotations

from assistant.config import AllowanceConfig, BudgetConfig
from resilience import Account, Allowance, Caller
from tools import Kind, Principal

#: The account of all assistants of the process.
TOTAL = "all assistants"


class Purse:
    """The budgets of one assistant."""

    def __init__(self, budget: BudgetConfig | None = None) -> None:
        budget = budget or BudgetConfig()
        self._total = Account(TOTAL, _allowance(budget.total))
        self._assistant = _allowance(budget.assistant)
        self._player = _allowance(budget.player)

    def caller(self, me: Principal, requester: Principal | None) -> Caller:
        """On whose behalf the assistant asks its model. A person who waits comes first."""
        is_person = requester is not None and requester.kind in {Kind.PLAYER, Kind.OPERATOR}
        accounts = [self._total, Account(me.id, self._assistant)]
        if requester is not None:
            accounts.append(Account(requester.id, self._player))
        return Caller(me.id, is_urgent=is_person, accounts=tuple(accounts))


def _allowance(config: AllowanceConfig) -> Allowance:
    return Allowance(config.calls, config.tokens, config.money)
