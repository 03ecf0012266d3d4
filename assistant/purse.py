"""Who pays for a model call: all assistants together, the assistant, and the player it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from assistant.config import AllowanceConfig, BudgetConfig
from resilience import Account, Allowance, Caller
from tools import Kind, Principal

#: The account of all assistants of the process.
TOTAL = "all assistants"


@dataclass(frozen=True, slots=True)
class Purse:
    """The budgets of one assistant."""

    budget: BudgetConfig = field(default_factory=BudgetConfig)

    def caller(self, me: Principal, requester: Principal | None) -> Caller:
        """On whose behalf the assistant asks its model. A person who waits comes first."""
        is_person = requester is not None and requester.kind in {Kind.PLAYER, Kind.OPERATOR}
        accounts = [Account(TOTAL, _allowance(self.budget.total)), Account(me.id, _allowance(self.budget.assistant))]
        if requester is not None:
            accounts.append(Account(requester.id, _allowance(self.budget.player)))
        return Caller(me.id, is_urgent=is_person, accounts=tuple(accounts))


def _allowance(config: AllowanceConfig) -> Allowance:
    return Allowance(config.calls, config.tokens, config.money)
