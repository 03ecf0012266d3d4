"""What thinking may cost: the limits of one run, and the budgets that pay for its model calls.

A run has a limit of steps, seconds, tokens and format errors in a row, checked before each step. The accounts that pay
for a call are those of all assistants together, of the assistant, and of the player it answers. The client of a model
adds an account that only counts what this model used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from mud_assistant.assistant.config.schema import AllowanceConfig, BudgetConfig
from mud_assistant.assistant.events.outcome import Limit
from mud_assistant.llm.response import Usage
from mud_assistant.llm.sending import MODEL_ACCOUNT
from mud_assistant.resilience import Account, Allowance, Caller, Deadline
from mud_assistant.tools import Principal
from mud_assistant.tools.trust import PEOPLE

#: Shares of the context window at which the model is told, softly and then strongly, to finish.
SOFT_ADVICE, STRONG_ADVICE = 0.6, 0.8
#: A run ends after this many steps in a row that brought nothing new.
MAX_STUCK = 3
#: The account of all assistants of the process.
TOTAL = "all assistants"
#: Begins the id of an assistant in a game.
_ASSISTANT = "assistant:"
#: Begins the account of a virtual key of the gateway, and that of what an assistant does of itself.
KEY_ACCOUNT, INITIATIVE_ACCOUNT = "key:", "initiative:"
_MINUTE = 60.0
#: The limit that a player who asks too often has reached.
A_MINUTE = "answers in a minute"


class AccountKind(StrEnum):
    """Whose account it is."""

    TOTAL = "total"
    ASSISTANT = "assistant"
    PLAYER = "player"
    MODEL = "model"
    KEY = "key"
    INITIATIVE = "initiative"


def kind_of_account(name: str) -> AccountKind:
    """Return whose account has this name."""
    if name == TOTAL:
        return AccountKind.TOTAL
    if name.startswith(MODEL_ACCOUNT):
        return AccountKind.MODEL
    if name.startswith(KEY_ACCOUNT):
        return AccountKind.KEY
    if name.startswith(INITIATIVE_ACCOUNT):
        return AccountKind.INITIATIVE
    return AccountKind.ASSISTANT if name.startswith(_ASSISTANT) else AccountKind.PLAYER


class RunLimits(Struct, frozen=True):
    """The limits of one run. Tokens are input and output of all its steps together.

    `seconds` is how long the model may be silent.
    """

    max_steps: int = 5
    seconds: float = 120.0
    max_tokens: int = 60_000
    max_format_errors: int = 3


class Meter:
    """The share of its limits that one run has used."""

    def __init__(self, limits: RunLimits, deadline: Deadline) -> None:
        self._limits = limits
        self.deadline = deadline
        self.steps = 0
        self.tokens = 0
        self.format_errors = 0
        self.stuck = 0
        #: The ids of players for whom nothing more is spent today, or not now.
        self.broke: set[str] = set()
        #: The id of the player whose answer was already counted.
        self.counted = ""

    def reached(self) -> Limit | None:
        """Return the limit that forbids another step, None when there is none."""
        if self.format_errors >= self._limits.max_format_errors:
            return Limit.FORMAT_ERRORS
        if self.steps >= self._limits.max_steps:
            return Limit.STEPS
        if self.stuck >= MAX_STUCK:
            return Limit.NO_PROGRESS
        if self.deadline.remaining() <= 0:
            return Limit.TIME
        if self.tokens >= self._limits.max_tokens:
            return Limit.TOKENS
        return None

    def left(self) -> int:
        """Return how many model calls are left; none once any limit is reached."""
        return self._limits.max_steps - self.steps if self.reached() is None else 0

    def count_step(self, usage: Usage, estimated_tokens: int) -> None:
        """Count one answered model call. The estimate is used when the provider reported no tokens."""
        self.steps += 1
        reported = usage.total_tokens
        self.tokens += estimated_tokens if reported is None else reported

    def take_up(self, step: int, usage: Usage | None) -> None:
        """Count a step of an earlier process: its tokens count, its seconds do not."""
        self.steps = step
        self.tokens += (usage.total_tokens or 0) if usage else 0

    def count_format(self, *, wrong: bool) -> None:
        """Count whether the step's answer could be read; only errors in a row add up."""
        self.format_errors = self.format_errors + 1 if wrong else 0

    def count_progress(self, *, new: bool) -> None:
        """Count whether the step brought anything that the run did not know."""
        self.stuck = 0 if new else self.stuck + 1

    def advice(self, prompt_tokens: int, window_tokens: int) -> str:
        """Return a hint for the model to go with a tool result, empty while there is room."""
        if self.steps + 1 >= self._limits.max_steps:
            return "This is your last step: answer now."
        share = prompt_tokens / window_tokens if window_tokens else 0.0
        if share >= STRONG_ADVICE:
            return "Almost no room is left: answer now, in one call."
        if share >= SOFT_ADVICE:
            return "Room is getting short: come to an answer soon."
        return ""


class Billing:
    """The budgets of one assistant. `minutes` is shared with the other assistants of the process.

    `initiative_share` is the part of the assistant's own budget that it may use for what nobody asked it for.
    """

    def __init__(
        self, budget: BudgetConfig | None = None, minutes: MinuteCounts | None = None, initiative_share: float = 0.0
    ) -> None:
        budget = budget or BudgetConfig()
        self._minutes = minutes
        self._per_minute = budget.player_per_minute
        self._total = total_account(budget)
        self._assistant = allowance_of(budget.assistant)
        self._player = allowance_of(budget.player)
        self._initiative = share_of(self._assistant, initiative_share)

    def caller(self, me: Principal, requester: Principal | None) -> Caller:
        """Return the caller on whose behalf the assistant asks its model. A person who waits comes first."""
        is_person = requester is not None and requester.kind in PEOPLE
        accounts = [self._total, Account(me.id, self._assistant)]
        if requester is not None and is_person:
            accounts.append(Account(requester.id, self._player))
        return Caller(me.id, is_urgent=is_person, accounts=tuple(accounts))

    def caller_of_itself(self, me: Principal) -> Caller:
        """Return the caller for what nobody asked the assistant for. Everybody else comes first."""
        own = Account(f"{INITIATIVE_ACCOUNT}{me.name}", self._initiative)
        return Caller(me.id, is_urgent=False, accounts=(self._total, Account(me.id, self._assistant), own))

    def too_often(self, requester: Principal | None) -> str:
        """Return why a person is not answered now. Empty when they are, and then one answer to them is counted."""
        if self._per_minute is None or self._minutes is None or requester is None or requester.kind not in PEOPLE:
            return ""
        wait = self._minutes.take(requester.id, self._per_minute)
        times = "once" if self._per_minute == 1 else f"{self._per_minute} times"
        return f"{requester.name} is answered {times} a minute, and again in {wait:.0f} s" if wait else ""


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


def total_account(budget: BudgetConfig) -> Account:
    """Return the account of everything that this process asks models for."""
    return Account(TOTAL, allowance_of(budget.total))


def allowance_of(config: AllowanceConfig) -> Allowance:
    """Return the limits of an account as the settings have them."""
    return Allowance(config.calls, config.tokens, config.money)


def share_of(allowance: Allowance, share: float) -> Allowance:
    """Return a part of an allowance. What is unlimited stays so."""
    calls, tokens, money = allowance.calls, allowance.tokens, allowance.money
    return Allowance(
        None if calls is None else int(calls * share),
        None if tokens is None else int(tokens * share),
        None if money is None else money * share,
    )
