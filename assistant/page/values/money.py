"""What was spent: rows by day, assistant, player, model and key, and the pace to the end of the month."""

from __future__ import annotations

from mud_assistant.assistant.page.values.common import Value
from mud_assistant.resilience import Allowance, Amount


class UsageRowView(Value, frozen=True):
    """What one account used on one day. `day` is an ISO date; `key` its id, `name` what people call it."""

    day: str
    by: str
    key: str
    name: str
    used: Amount


class Pace(Value, frozen=True):
    """How the month goes: what is spent, what it will be at this pace, and what its daily limits allow."""

    month: str
    days_over: int
    days_in_month: int
    spent: Amount
    expected: Amount
    ceiling: Allowance = Allowance()


class UsageAnswer(Value, frozen=True):
    """Rows from day `since` to day `until`, both included. `by` is day, assistant, player, model or key."""

    by: str
    since: str
    until: str
    utc_offset_hours: float
    rows: tuple[UsageRowView, ...]
    total: Amount
    pace: Pace
    #: The limit of one day for all assistants together.
    ceiling: Allowance = Allowance()
