from __future__ import annotations

import json
from math import inf, nan

import pytest
from twisted.internet.task import Clock

from mud_assistant.resilience import ResilienceError
from mud_assistant.resilience.amounts import Account, Allowance, Amount
from mud_assistant.resilience.budget.ledger import AccountState, Ledger, ReservationEnded
from mud_assistant.resilience.errors import BudgetSpent

DAY = 86_400
NOON = 20_000 * DAY + DAY // 2
UNLIMITED = Account("all", Allowance())
ONE = Amount(calls=1, tokens=10, money=0.1)


class Times:
    """A clock and a wall clock that may be set."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.wall_ahead = float(NOON)

    def wall(self) -> float:
        return self.clock.seconds() + self.wall_ahead


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def ledger(times: Times) -> Ledger:
    return Ledger(times.clock.seconds, times.wall)


def refusal(ledger: Ledger, accounts: list[Account], estimate: Amount) -> BudgetSpent:
    with pytest.raises(BudgetSpent) as caught:
        ledger.reserve(accounts, estimate)
    return caught.value


def test_an_estimate_is_reserved_until_the_use_is_known(ledger: Ledger) -> None:
    reservation = ledger.reserve([UNLIMITED], ONE)
    assert (ledger.reserved("all"), ledger.spent("all")) == (ONE, Amount())
    used = Amount(calls=1, tokens=7, money=0.05)
    reservation.settle(used)
    assert (ledger.reserved("all"), ledger.spent("all")) == (Amount(), used)


def test_what_is_released_was_never_used(ledger: Ledger) -> None:
    ledger.reserve([UNLIMITED], ONE).release()
    assert (ledger.reserved("all"), ledger.spent("all")) == (Amount(), Amount())


@pytest.mark.parametrize("first", ["settle", "release"])
@pytest.mark.parametrize("second", ["settle", "release"])
def test_a_reservation_ends_once(ledger: Ledger, first: str, second: str) -> None:
    reservation = ledger.reserve([UNLIMITED], ONE)
    ways = {"settle": lambda: reservation.settle(ONE), "release": reservation.release}
    ways[first]()
    before = ledger.snapshot()
    with pytest.raises(ReservationEnded):
        ways[second]()
    assert ledger.snapshot() == before


@pytest.mark.parametrize(
    ("allowance", "what", "limit"),
    [
        (Allowance(calls=2), "calls", 2),
        (Allowance(tokens=29), "tokens", 29),
        (Allowance(money=0.29), "money", 0.29),
        (Allowance(calls=2, tokens=29, money=0.29), "calls", 2),
        (Allowance(calls=3, tokens=29, money=0.29), "tokens", 29),
    ],
)
def test_spent_and_reserved_count_together(ledger: Ledger, allowance: Allowance, what: str, limit: float) -> None:
    account = Account("player:7", allowance)
    ledger.reserve([account], ONE).settle(ONE)
    ledger.reserve([account], ONE)
    error = refusal(ledger, [account], ONE)
    assert (error.account, error.what, error.limit, error.resets_at) == ("player:7", what, limit, DAY / 2)
    assert isinstance(error, ResilienceError)
    assert str(error) == (
        f"the {what} of player:7 are used up for today, or too few for this call (allowed: {limit:g})"
    )


def test_a_rest_smaller_than_the_estimate_is_not_given(ledger: Ledger) -> None:
    account = Account("a", Allowance(tokens=100))
    ledger.reserve([account], Amount(tokens=95))
    assert refusal(ledger, [account], Amount(tokens=6)).what == "tokens"
    ledger.reserve([account], Amount(tokens=5))


def test_all_accounts_pay_or_none(ledger: Ledger) -> None:
    poor = Account("poor", Allowance(calls=0))
    assert refusal(ledger, [UNLIMITED, poor], ONE).account == "poor"
    assert ledger.reserved("all") == ledger.reserved("poor") == Amount()


def test_the_first_account_without_room_is_named(ledger: Ledger) -> None:
    accounts = [UNLIMITED, Account("b", Allowance(money=0)), Account("a", Allowance(calls=0))]
    assert refusal(ledger, accounts, ONE).account == "b"


def test_an_account_named_twice_pays_once(ledger: Ledger) -> None:
    ledger.reserve([UNLIMITED, UNLIMITED], ONE).settle(ONE)
    assert ledger.spent("all") == ONE


def test_use_above_the_estimate_is_booked_and_then_nothing_more_is_given(ledger: Ledger) -> None:
    account = Account("a", Allowance(tokens=100))
    ledger.reserve([account], Amount(tokens=100)).settle(Amount(calls=1, tokens=500))
    assert ledger.spent("a").tokens == 500
    assert refusal(ledger, [account], Amount()).what == "tokens"


def test_ten_times_a_tenth_is_one(ledger: Ledger) -> None:
    account = Account("a", Allowance(money=1.0))
    reservations = [ledger.reserve([account], Amount(money=0.1)) for _ in range(10)]
    assert refusal(ledger, [account], Amount(money=0.000_001)).what == "money"
    for reservation in reservations:
        reservation.release()
    assert ledger.reserved("a") == Amount()


def test_small_costs_add_up_without_drift(ledger: Ledger) -> None:
    for _ in range(10_000):
        ledger.reserve([UNLIMITED], Amount(money=0.3)).settle(Amount(money=0.000_000_15))
    assert ledger.spent("all").money == pytest.approx(0.0015, abs=1e-9)
    assert ledger.reserved("all").money == 0


def test_a_price_beyond_all_numbers_can_be_kept_and_read_again(times: Times, ledger: Ledger) -> None:
    for _ in range(2):
        ledger.reserve([UNLIMITED], Amount(calls=1, money=1e308)).settle(Amount(calls=1, money=1.5e308))
    ledger.reserve([UNLIMITED], Amount(calls=1, money=1e308))
    exported = json.loads(json.dumps(ledger.export(), allow_nan=False))
    after = Ledger(times.clock.seconds, times.wall)
    after.restore(exported)
    assert after.spent("all").calls == 3
    assert after.export() == exported


def test_check_tells_whether_the_smallest_call_would_be_refused(ledger: Ledger) -> None:
    account = Account("a", Allowance(tokens=10))
    ledger.reserve([account], Amount(tokens=9))
    assert ledger.check([account]) is None
    ledger.reserve([account], Amount(tokens=1))
    refused = ledger.check([UNLIMITED, account])
    assert refused is not None
    assert (refused.account, refused.what) == ("a", "tokens")
    assert ledger.reserved("a") == Amount(tokens=10)


def test_check_counts_what_was_used_before_today(ledger: Ledger) -> None:
    account = Account("a", Allowance(calls=3, money=1.0))
    ledger.reserve([account], ONE).settle(ONE)
    assert ledger.check([account], Amount(calls=1, money=0.9)) is None
    for before, what in ((Amount(calls=2), "calls"), (Amount(money=1.5), "money")):
        refused = ledger.check([account], before)
        assert refused is not None
        assert refused.what == what
    assert ledger.spent("a") == ONE


def test_the_seconds_until_a_day_are_those_of_the_owners_clock(times: Times) -> None:
    ledger = Ledger(times.clock.seconds, times.wall, utc_offset_seconds=2 * 3600)
    assert ledger.seconds_until(ledger.day + 1) == 10 * 3600
    assert ledger.seconds_until(ledger.day + 3) == 2 * DAY + 10 * 3600
    assert ledger.seconds_until(ledger.day) == 0


def test_check_notes_nothing(ledger: Ledger) -> None:
    ledger.check([UNLIMITED])
    assert ledger.snapshot() == ()


def test_midnight_begins_anew(times: Times, ledger: Ledger) -> None:
    account = Account("a", Allowance(calls=1))
    ledger.reserve([account], ONE).settle(ONE)
    times.clock.advance(DAY / 2 - 1)
    assert refusal(ledger, [account], ONE).resets_at == DAY / 2
    times.clock.advance(1)
    assert ledger.check([account]) is None
    assert ledger.snapshot() == ()
    ledger.reserve([account], ONE)


def test_midnight_is_where_the_owner_lives(times: Times) -> None:
    ledger = Ledger(times.clock.seconds, times.wall, utc_offset_seconds=2 * 3600)
    ledger.reserve([UNLIMITED], ONE).settle(ONE)
    assert ledger.snapshot()[0].resets_at == 10 * 3600
    times.clock.advance(10 * 3600 - 1)
    assert ledger.spent("all") == ONE
    times.clock.advance(1)
    assert ledger.spent("all") == Amount()


def test_a_call_over_midnight_belongs_to_the_day_it_began_in(times: Times, ledger: Ledger) -> None:
    account = Account("a", Allowance(calls=1))
    settled = ledger.reserve([account], ONE)
    released = ledger.reserve([UNLIMITED], ONE)
    times.clock.advance(DAY / 2)
    today = ledger.reserve([account], ONE)
    settled.settle(ONE)
    released.release()
    assert (ledger.spent("a"), ledger.reserved("a")) == (Amount(), ONE)
    today.settle(ONE)
    assert ledger.spent("a") == ONE


def test_a_wall_clock_set_back_gives_no_fresh_budget(times: Times, ledger: Ledger) -> None:
    account = Account("a", Allowance(calls=1))
    times.clock.advance(DAY)
    ledger.reserve([account], ONE).settle(ONE)
    times.wall_ahead -= DAY
    assert refusal(ledger, [account], ONE).resets_at == DAY + 1.5 * DAY
    times.clock.advance(1.5 * DAY - 1)
    assert ledger.check([account]) is not None
    times.clock.advance(1)
    assert ledger.check([account]) is None


def test_the_snapshot_is_sorted_and_shows_the_last_allowance(ledger: Ledger) -> None:
    first, last = Account("b", Allowance(calls=5)), Account("b", Allowance(calls=0))
    ledger.reserve([first, UNLIMITED], ONE).settle(ONE)
    refusal(ledger, [last], ONE)
    assert ledger.snapshot() == (
        AccountState("all", ONE, Amount(), Allowance(), DAY / 2),
        AccountState("b", ONE, Amount(), Allowance(calls=0), DAY / 2),
    )


def test_what_was_spent_and_what_was_on_its_way_outlives_the_process(times: Times, ledger: Ledger) -> None:
    ledger.reserve([UNLIMITED], ONE).settle(ONE)
    ledger.reserve([UNLIMITED, Account("other", Allowance())], ONE)
    ledger.reserve([Account("unused", Allowance())], ONE).release()
    kept = json.loads(json.dumps(ledger.export()))
    later = Ledger(times.clock.seconds, times.wall)
    later.restore(kept)
    assert later.snapshot() == (
        AccountState("all", ONE + ONE, Amount(), None, DAY / 2),
        AccountState("other", ONE, Amount(), None, DAY / 2),
    )
    assert later.export() == kept


def test_what_is_restored_adds_to_what_was_spent_since(times: Times, ledger: Ledger) -> None:
    ledger.reserve([UNLIMITED], ONE).settle(ONE)
    later = Ledger(times.clock.seconds, times.wall)
    later.reserve([UNLIMITED], ONE).settle(ONE)
    later.restore(ledger.export())
    assert later.spent("all") == ONE + ONE


def test_an_earlier_day_is_not_restored(times: Times, ledger: Ledger) -> None:
    ledger.reserve([UNLIMITED], ONE).settle(ONE)
    times.wall_ahead += DAY
    later = Ledger(times.clock.seconds, times.wall)
    later.restore({"day": 20_000, "spent": {"all": ONE.plain()}})
    assert (later.day, later.snapshot()) == (20_001, ())


def test_a_wall_clock_set_back_before_a_restart_gives_no_fresh_budget(times: Times, ledger: Ledger) -> None:
    account = Account("a", Allowance(calls=1))
    ledger.reserve([account], ONE).settle(ONE)
    times.wall_ahead -= DAY
    later = Ledger(times.clock.seconds, times.wall)
    later.reserve([account], ONE)
    later.restore(ledger.export())
    assert later.day == 20_000
    assert refusal(later, [account], ONE).resets_at == 1.5 * DAY
    times.clock.advance(1.5 * DAY)
    assert later.check([account]) is None


def test_a_call_over_midnight_is_not_exported_as_the_new_days(times: Times, ledger: Ledger) -> None:
    ledger.reserve([UNLIMITED], ONE)
    times.clock.advance(DAY / 2)
    assert ledger.export() == {"day": 20_001, "spent": {}}


@pytest.mark.parametrize(
    "kept",
    [
        None,
        [],
        {},
        {"day": 20_000},
        {"spent": {}},
        {"day": "20000", "spent": {}},
        {"day": True, "spent": {}},
        {"day": 20_000, "spent": []},
        {"day": 20_000, "spent": {1: ONE.plain()}},
    ],
)
def test_a_malformed_budget_is_refused_with_a_sentence(ledger: Ledger, kept: object) -> None:
    with pytest.raises(ValueError, match="a kept budget has a whole number as its day"):
        ledger.restore(kept)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        {},
        {"calls": 1, "tokens": 1},
        {"calls": -1, "tokens": 1, "money": 0.0},
        {"calls": 1, "tokens": -1, "money": 0.0},
        {"calls": 1.5, "tokens": 1, "money": 0.0},
        {"calls": True, "tokens": 1, "money": 0.0},
        {"calls": 1, "tokens": "1", "money": 0.0},
        {"calls": 1, "tokens": 1, "money": None},
        {"calls": 1, "tokens": 1, "money": -0.1},
        {"calls": 1, "tokens": 1, "money": nan},
        {"calls": 1, "tokens": 1, "money": inf},
        {"calls": 1, "tokens": 1, "money": 10**400},
    ],
)
def test_a_malformed_amount_is_refused_and_nothing_is_added(ledger: Ledger, plain: object) -> None:
    with pytest.raises(ValueError, match="amount"):
        ledger.restore({"day": 20_000, "spent": {"a": ONE.plain(), "b": plain}})
    assert ledger.snapshot() == ()
