"""What was spent: rows by day, assistant, player, model and key, and the pace to the end of the month."""

from __future__ import annotations

from assistant.page.values.common import Ceiling, Used, Value


class UsageRowView(Value):
    """What one account used on one day. `day` is an ISO date; `key` its id, `name` what people call it."""

    day: str
    by: str
    key: str
    name: str
    used: Used


class Pace(Value):
    """How the month goes: what is spent, what it will be at this pace, and what its daily limits allow."""

    month: str
    days_over: int
    days_in_month: int
    spent: Used
    expected: Used
    ceiling: Ceiling = Ceiling()


class UsageAnswer(Value):
    """Rows from day `since` to day `until`, both included. `by` is day, assistant, player, model or key."""

    by: str
    since: str
    until: str
    utc_offset_hours: float
    rows: tuple[UsageRowView, ...]
    total: Used
    pace: Pace
    #: The limit of one day for all assistants together.
    ceiling: Ceiling = Ceiling()
