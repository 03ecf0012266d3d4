"""Books what a process spends in a ledger that several processes share, and asks there for room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from twisted.logger import Logger

from mud_assistant.resilience.amounts import Account, Amount, Sum
from mud_assistant.resilience.budget.ledger import Ledger, Reservation
from mud_assistant.resilience.budget.shared import (
    AccountUse,
    Booked,
    NoRoom,
    ReservationRequest,
    SharedLedger,
    UseKey,
    reserve,
)
from mud_assistant.resilience.budget.writer import SpendingWriter

_log = Logger()


@dataclass(slots=True, eq=False)
class _Share:
    """What this process counts in one account on one day. Each change puts it among the `changed` ones."""

    key: UseKey
    changed: dict[UseKey, _Share]
    spent: Sum = field(default_factory=Sum)
    reserved: Sum = field(default_factory=Sum)

    def reserve(self, estimate: Amount) -> None:
        self.reserved.add(estimate)
        self.changed[self.key] = self

    def settle(self, estimate: Amount, actual: Amount) -> None:
        self.reserved.take(estimate)
        self.spent.add(actual)
        self.changed[self.key] = self

    def use(self) -> AccountUse:
        return AccountUse(*self.key, self.spent.amount(), self.reserved.amount())


@dataclass(slots=True, eq=False)
class _Asked:
    """A reservation for which room is asked."""

    reservation: Reservation
    accounts: tuple[Account, ...]
    shares: tuple[_Share, ...]
    no_room: NoRoom | None = None

    def request(self) -> ReservationRequest:
        return ReservationRequest(self.reservation.day, self.accounts, self.reservation.estimate)


class SharedWriter(SpendingWriter):
    """Books in `shared` what the calls of this process use, and has room given there to those with a limit.

    A call with a limit has its reservation in `ledger` first, where it may be refused at once, then in `shared`. What
    other processes use comes back with each write, and `ledger` counts it. A write that failed is made again with the
    next one; sums are written and not their changes, so it does not matter whether it was stored after all.

    When a process is killed, its calls in flight stay counted at their estimate: the provider may bill them. That holds
    for a call that had not left yet as well, as nobody can tell the two apart.
    """

    def __init__(self, ledger: Ledger, shared: SharedLedger) -> None:
        super().__init__()
        self._ledger = ledger
        self._shared = shared
        self._asked: list[_Asked] = []
        self._shares: dict[UseKey, _Share] = {}
        #: The shares that may differ from what is stored.
        self._changed: dict[UseKey, _Share] = {}
        self._day = ledger.day

    async def load(self) -> None:
        """Learn what other processes, and former ones, used today. When it cannot be read, log why.

        Then it is learned with the first write.
        """
        try:
            elsewhere = await self._shared.load(self._ledger.day)
        except Exception as error:  # noqa: BLE001  (it may raise anything; each call with a limit asks once more)
            _log.error("what was spent today cannot be read: {cause}", log_event="budget", cause=str(error))
        else:
            self._ledger.learn(elsewhere)

    async def admit(self, reservation: Reservation, accounts: Sequence[Account]) -> None:
        """Wait until the reservation is stored. Raises BudgetSpent without room for it, BudgetUnkept in an outage.

        Cancelling does not stop the write: end the reservation then.
        """
        asked = _Asked(reservation, tuple(accounts), self._shares_of(reservation, accounts))
        self._asked.append(asked)
        await self.write()
        if asked.no_room is not None:
            raise self._ledger.refusal(reservation.day, asked.no_room)

    def note(self, reservation: Reservation, accounts: Sequence[Account]) -> None:
        """Count the reservation of a call without a limit."""
        reservation.count_in(self._shares_of(reservation, accounts))

    async def _write(self) -> Exception | None:
        asked, self._asked = [one for one in self._asked if not one.reservation.has_ended], []
        requests = [one.request() for one in asked]
        shares = {share.key: share for one in asked for share in one.shares} | self._changed
        if not shares:
            return None
        uses = {key: share.use() for key, share in shares.items()}
        self._changed.clear()
        try:
            booked = await self._shared.book(tuple(uses.values()), requests)
        except Exception as error:  # noqa: BLE001  (it may raise anything; nothing cancels us, so it must not either)
            self._changed.update(shares)  # what is stored is unknown
            self._failed(error)
            return error
        self._succeeded()
        self._booked(asked, requests, booked)
        for refusal, request in zip(booked.refusals, requests, strict=True):
            if refusal is None:
                reserve(uses, request)
        self._forget_stored(shares.values(), uses)
        return None

    def _booked(self, asked: Sequence[_Asked], requests: Sequence[ReservationRequest], booked: Booked) -> None:
        """Count what was granted, and what others use."""
        self._ledger.learn(booked.elsewhere)
        for one, no_room in zip(asked, booked.refusals, strict=True):
            one.no_room = no_room
            if no_room is None and not one.reservation.has_ended:
                one.reservation.count_in(one.shares)

    def _forget_stored(self, shares: Iterable[_Share], stored: dict[UseKey, AccountUse]) -> None:
        """Forget that these have changed, where they are as stored; drop those of days long over."""
        for share in shares:
            if share.use() == stored[share.key]:
                self._changed.pop(share.key, None)
            else:
                self._changed[share.key] = share
        if self._day != self._ledger.day:
            self._day = self._ledger.day
            # Yesterday's are still charged. An older one is held by its reservation, and no new one is made.
            self._shares = {key: share for key, share in self._shares.items() if key.day >= self._day - 1}

    def _shares_of(self, reservation: Reservation, accounts: Sequence[Account]) -> tuple[_Share, ...]:
        """Return our sums of each account on the reservation's day; those of one that is named twice are there once."""
        keys = dict.fromkeys(UseKey(reservation.day, account.name) for account in accounts)
        for key in keys:
            if key not in self._shares:
                self._shares[key] = _Share(key, self._changed)
        return tuple(self._shares[key] for key in keys)
