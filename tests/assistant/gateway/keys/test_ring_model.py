"""A ring of keys against a model of it: histories of requests, spending and keys, under clocks that go back too.

The model says for each request whether it is admitted, and if not, why. It knows nothing of how the ring finds out.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.task import Clock

from mud_assistant.assistant.gateway.keys import Admission, KeyLimits, KeyRing, KeyStore, StoredKeys
from mud_assistant.assistant.gateway.keys.ring import changed_keys
from mud_assistant.assistant.gateway.keys.spending import KeySpending
from mud_assistant.assistant.service.usage_store import UsageRow
from mud_assistant.llm.dialects.failures import Failure, FailureKind, RequestRefused
from mud_assistant.resilience import Account, Allowance, Amount, Ledger
from tests.assistant.gateway.keys.rings import HERE, NOON
from tests.assistant.page.desk import run_now
from tests.effort import times

HOUR, DAY = 3600.0, 86_400
#: How long what was read of the month counts, in seconds: what was spent at midnight is written down later.
READ_AGAIN = 300.0
LIMITS = {
    "free": KeyLimits(per_second=3, in_flight=2),
    "daily": KeyLimits(day=Allowance(calls=4, tokens=900), in_flight=3),
    "monthly": KeyLimits(month=Allowance(calls=9), per_second=5),
    "both": KeyLimits(day=Allowance(calls=3), month=Allowance(tokens=1500), in_flight=1),
    "short": KeyLimits(expires=date(2026, 11, 23)),
}
NAMES = st.sampled_from(list(LIMITS))


@dataclass
class KeyModel:
    """What is true of one key."""

    secret: str
    limits: KeyLimits
    #: Requests that may still be made at once, and since when that is so.
    pace: float = 0.0
    paced_at: float = 0.0
    is_revoked: bool = False
    #: Whether the ring could have read that.
    is_revoked_known: bool = False
    admitted: list[Admission] = field(default_factory=list)


class RingHistory(RuleBasedStateMachine):
    """The ring and the model of it."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.clock, self.wall = Clock(), Clock()
        self.wall.advance(NOON)
        self.store = KeyStore(Path(self.folder.name) / "keys.json")
        self.ledger = Ledger(self.clock.seconds, self.wall.seconds)
        spending = KeySpending(self.ledger, self.wall.seconds, self._usage)
        self.ring = KeyRing(self._read, spending, self.clock, self.wall.seconds)
        self.spending = spending
        self.keys = {
            name: KeyModel(self.store.add(name, limits, NOON, secrets.token_bytes), limits, float(limits.per_second))
            for name, limits in LIMITS.items()
        }
        self.stored = self.store.load()
        self.today = int(NOON // DAY)
        self.used: Counter[tuple[str, str]] = Counter()  # today, by key and kind
        self.days: defaultdict[int, Counter[tuple[str, str]]] = defaultdict(Counter)  # what is written of earlier days
        self.month: Counter[tuple[str, str]] = Counter()  # of the earlier days, as it was read last
        self.read_day, self.read_at = -1, 0.0
        self.refresh()

    async def _read(self, known: StoredKeys | None) -> StoredKeys | None:
        return changed_keys(self.store, known)

    async def _usage(self, days: int) -> Sequence[UsageRow]:
        written = {**self.days, self.today: self.used}  # of today and of other months too
        return [
            UsageRow(date(1970, 1, 1) + timedelta(day), f"key:{name}", used[name, "calls"], used[name, "tokens"], 0.0)
            for day, used in written.items()
            for name in LIMITS
        ]

    # Time.

    @rule(seconds=st.sampled_from([0.1, 0.4, 2.0, 60.0, 299.0, HOUR, 5 * HOUR, DAY, 9.0 * DAY]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.wall.advance(seconds)
        self._turn()

    @rule()
    def midnight_comes_soon_after_a_look(self) -> None:
        self.time_passes((2 * DAY - 60.0 - self.wall.seconds() % DAY) % DAY)
        self.refresh()
        self.time_passes(100.0)
        self.refresh()

    @rule(seconds=st.sampled_from([-90.0, -HOUR, -7 * HOUR, -3.0 * DAY, 30.0, 7 * HOUR]))
    def the_wall_clock_is_set(self, seconds: float) -> None:
        self.wall.advance(seconds)
        self._turn()

    @rule(seconds=st.sampled_from([-0.5, -60.0]))
    def the_clock_goes_back(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _turn(self) -> None:
        """Begin a new day when there is one. No day comes back."""
        day = int(self.wall.seconds() // DAY)
        if day > self.today:
            self.days[self.today] += self.used
            self.used, self.today = Counter(), day

    # Requests.

    @rule(name=NAMES)
    def ask(self, name: str) -> None:
        key = self.keys[name]
        expected = self._expected(key, name)
        try:
            admission = self.ring.admit(key.secret, "", HERE)
        except RequestRefused as refused:
            failure: Failure | None = refused.failure
        else:
            failure = None
            key.admitted.append(admission)
        assert (failure.kind if failure else None) is expected, (name, failure, expected)
        if failure is not None and failure.kind is FailureKind.BUDGET:
            assert failure.retry_after == self._until_the_budget_ends(key, name)

    @rule(name=NAMES, pause=st.sampled_from([0.0, 0.05, 0.1, 0.25]))
    def ask_often(self, name: str, pause: float) -> None:
        for _ in range(8):
            self.ask(name)
            self.clock.advance(pause)
            for admission in self.keys[name].admitted:
                admission.release()
            self.keys[name].admitted.clear()

    def _expected(self, key: KeyModel, name: str) -> FailureKind | None:
        """Why a request is refused now, None when it is admitted."""
        limits = key.limits
        today = datetime.fromtimestamp(self.wall.seconds(), UTC).date()
        if key.is_revoked_known or (limits.expires is not None and today > limits.expires):
            return FailureKind.NO_KEY
        left = self._pace(key)
        if left < 1.0 - 1e-5:
            return FailureKind.TOO_MANY
        key.pace, key.paced_at = max(0.0, left - 1.0), self.clock.seconds()
        if limits.month.is_limited and self.read_day != self.today:
            return FailureKind.OVERLOADED
        if self._is_used_up(limits.month, name, with_month=True) or self._is_used_up(limits.day, name):
            return FailureKind.BUDGET
        return FailureKind.TOO_MANY if len(key.admitted) >= limits.in_flight else None

    def _until_the_budget_ends(self, key: KeyModel, name: str) -> float:
        """The seconds until the month ends when it is used up, else until the day does."""
        today = date(1970, 1, 1) + timedelta(self.today)
        end = today + timedelta(1)
        if self._is_used_up(key.limits.month, name, with_month=True):
            end = date(today.year + today.month // 12, today.month % 12 + 1, 1)
        return (end - date(1970, 1, 1)).days * DAY - self.wall.seconds()

    def _pace(self, key: KeyModel) -> float:
        passed = max(0.0, self.clock.seconds() - key.paced_at)
        return min(float(key.limits.per_second), key.pace + passed * key.limits.per_second)

    def _is_used_up(self, allowed: Allowance, name: str, *, with_month: bool = False) -> bool:
        used = self.used + self.month if with_month else self.used
        limits = {"calls": allowed.calls, "tokens": allowed.tokens}
        return any(limit is not None and used[name, kind] >= limit for kind, limit in limits.items())

    @rule(name=NAMES, tokens=st.sampled_from([1, 100, 700]), again=st.booleans(), spends=st.booleans())
    def a_request_ends(self, name: str, tokens: int, *, again: bool, spends: bool) -> None:
        key = self.keys[name]
        if not key.admitted:
            return
        admission = key.admitted.pop()
        if spends:  # as its call booked it: what was used counts, even if it is more than was left
            self.ledger.reserve([Account(f"key:{name}", Allowance())], Amount()).settle(Amount(1, tokens))
            self.used[name, "calls"] += 1
            self.used[name, "tokens"] += tokens
        admission.release()
        if again:
            admission.release()

    # What is written elsewhere.

    @rule(name=NAMES, days_ago=st.integers(1, 3), tokens=st.sampled_from([5, 600, 1500]))
    def an_earlier_day_is_written_late(self, name: str, days_ago: int, tokens: int) -> None:
        self.days[self.today - days_ago] += Counter({(name, "calls"): 1, (name, "tokens"): tokens})

    @rule()
    def refresh(self) -> None:
        run_now(self.ring.refresh())
        for key in self.keys.values():
            key.is_revoked_known = key.is_revoked
        if self.read_day != self.today or not 0 <= self.wall.seconds() - self.read_at < READ_AGAIN:
            first = self.today - (date(1970, 1, 1) + timedelta(self.today)).day + 1
            self.month = Counter()
            for day, used in self.days.items():
                if first <= day < self.today:
                    self.month += used
            self.read_day, self.read_at = self.today, self.wall.seconds()

    @precondition(lambda self: not self.keys["free"].is_revoked)
    @rule()
    def a_key_is_revoked(self) -> None:
        self.store.revoke("free", self.wall.seconds())
        self.keys["free"].is_revoked = True

    # What holds at any time.

    @invariant()
    def the_same_is_spent_and_under_way(self) -> None:
        assert self.ledger.day == self.today
        for name, key in self.keys.items():
            use = self.ring._uses.get(key.secret.split("_")[1])
            assert (use.in_flight if use else 0) == len(key.admitted)
            today = self.ledger.spent(f"key:{name}") + self.ledger.reserved(f"key:{name}")
            assert (today.calls, today.tokens) == (self.used[name, "calls"], self.used[name, "tokens"])
            for what in ("calls", "tokens"):
                left = self.spending.left(self.stored.named(name), what)
                assert (left and left.left) == self._left(key.limits, name, what)

    def _left(self, limits: KeyLimits, name: str, what: str) -> int | None:
        """What is left of the limit that ends first, None without one."""
        spans = ((limits.day, self.used), (limits.month, self.used + self.month))
        found = ((getattr(limit, what), used[name, what]) for limit, used in spans)
        return min((max(0, limit - used) for limit, used in found if limit is not None), default=None)

    def teardown(self) -> None:
        self.folder.cleanup()


RingHistory.TestCase.settings = settings(max_examples=times(48), stateful_step_count=50, deadline=None)
TestRingHistory = RingHistory.TestCase
