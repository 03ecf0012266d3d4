"""Budgets that several processes spend: what each of them counts, and who has room. Pure.

Each process says what it counts in an account, and not by how much that changed: saying it twice changes nothing, so a
write whose answer was lost is simply made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from mud_assistant.resilience.amounts import NOTHING, Account, Amount


class AccountUse(Struct, frozen=True):
    """What an account spent on one day, counted from 1970, and what calls in flight may still use."""

    day: int
    account: str
    spent: Amount = NOTHING
    reserved: Amount = NOTHING

    @property
    def most(self) -> Amount:
        """What is spent if every call in flight uses its estimate."""
        return self.spent + self.reserved

    def with_reserved(self, estimate: Amount) -> AccountUse:
        """Return it with one more call in flight."""
        return AccountUse(self.day, self.account, self.spent, self.reserved + estimate)


class ReservationRequest(Struct, frozen=True):
    """An estimate that is wanted from each of these accounts, on this day, or from none."""

    day: int
    accounts: tuple[Account, ...]
    estimate: Amount


class NoRoom(NamedTuple):
    """The account that has no room, in "calls", "tokens" or "money", and how much of that it is allowed."""

    account: str
    what: str
    limit: float


class Booked(NamedTuple):
    """What became of each request, None when it was granted; and what the other processes count."""

    refusals: tuple[NoRoom | None, ...]
    elsewhere: tuple[AccountUse, ...]


class SharedLedger(Protocol):
    """The sums of all processes, stored where each of them can change them. Its methods may raise anything."""

    async def load(self, day: int) -> Sequence[AccountUse]:
        """Return what the other processes count on that day."""
        ...

    async def book(self, uses: Sequence[AccountUse], requests: Sequence[ReservationRequest]) -> Booked:
        """Store what this process counts, in place of what it stored before, and grant requests that have room.

        `uses` names every account of the requests, without the requests themselves; each account on a day is in it
        once. What is granted counts as reserved. When it raises, it is unknown whether all or nothing was stored. Call
        it once at a time, and do not cancel it.
        """
        ...


class UseKey(NamedTuple):
    """What names the sums of an account."""

    day: int
    account: str


def granted(
    uses: Mapping[UseKey, AccountUse],
    elsewhere: Mapping[UseKey, AccountUse],
    requests: Sequence[ReservationRequest],
) -> tuple[dict[UseKey, AccountUse], tuple[NoRoom | None, ...]]:
    """Return what we count when each request with room is granted, in order, and why the others were refused.

    An account has room when what all processes count and the estimate are together within the request's allowance.
    """
    counted = dict(uses)
    refusals = []
    for request in requests:
        refusal = _refusal(counted, elsewhere, request)
        refusals.append(refusal)
        if refusal is None:
            reserve(counted, request)
    return counted, tuple(refusals)


def reserve(counted: dict[UseKey, AccountUse], request: ReservationRequest) -> None:
    """Count the request's estimate in each of its accounts; one that is named twice pays once."""
    for name in dict.fromkeys(account.name for account in request.accounts):
        key = UseKey(request.day, name)
        counted[key] = counted[key].with_reserved(request.estimate)


def _refusal(
    counted: Mapping[UseKey, AccountUse], elsewhere: Mapping[UseKey, AccountUse], request: ReservationRequest
) -> NoRoom | None:
    for account in request.accounts:
        key = UseKey(request.day, account.name)
        others = elsewhere[key].most if key in elsewhere else NOTHING
        exceeded = account.allowance.exceeded(others + counted[key].most + request.estimate)
        if exceeded is not None:
            return NoRoom(account.name, *exceeded)
    return None
