"""Finds the player whose budget pays for the next answer of a run, and counts the answer for them."""

from __future__ import annotations

from twisted.logger import Logger

from assistant.events.outcome import Limit, LimitReached
from assistant.loop.billing import A_MINUTE
from assistant.loop.run import Run
from assistant.loop.run_context import RunContext
from llm import BudgetReached

_log = Logger()


def count_asker(context: RunContext, run: Run) -> None:
    """Count one answer for the person the run is for, once. Raises BudgetReached when they ask too often."""
    requester = run.requester
    if requester is not None and run.counted != requester.id:
        if why := context.billing.too_often(requester):
            raise BudgetReached(why, account=requester.id, what=A_MINUTE)
        run.counted = requester.id


async def next_payer(context: RunContext, run: Run, spent: BudgetReached) -> LimitReached | None:
    """Turn the run to the next asker, when the budget of the one it was for is used up.

    Return None when it goes on for them, and the outcome when nobody is left to pay.
    """
    is_rate = spent.what == A_MINUTE
    reached = LimitReached(Limit.RATE if is_rate else Limit.BUDGET, spent.message, spent.account)
    requester = run.requester
    if requester is None or spent.account != requester.id:
        return reached
    run.goes_without(requester)
    if run.trigger is None:
        return reached
    _log.warn("{cause}", log_event="budget", cause=spent.message)
    await (context.rate_line if is_rate else context.budget_line).make()
    return None
