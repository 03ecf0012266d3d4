"""Queue entries for admission to a server, and when each may be admitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from resilience.admission.quota import Quota
from resilience.errors import NotAdmitted

if TYPE_CHECKING:
    from resilience.admission.server import Attempt


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """What one attempt needs for admission: whose turn it takes, on which quota, for how many tokens.

    `patience_until` is the latest start worth waiting for, `deadline_at` when the caller stops waiting; both are in
    clock seconds.
    """

    group: str
    quota: Quota
    tokens: int = 0
    patience_until: float = float("inf")
    deadline_at: float = float("inf")
    is_urgent: bool = False
    is_repeat: bool = False


class QueueEntry:
    """An errand in the queue."""

    __slots__ = ("entered", "errand", "group", "is_urgent")

    def __init__(self, errand: AdmissionRequest, leave: Callable[[QueueEntry], None]) -> None:
        self.errand = errand
        self.group = errand.group
        self.is_urgent = errand.is_urgent
        self.entered: Deferred[Attempt] = Deferred(lambda _: leave(self))

    def refusal(self) -> NotAdmitted | None:
        """Return why it would be refused now; None when it may wait on."""
        errand = self.errand
        return errand.quota.refusal(errand.tokens, errand.patience_until)


class Ready:
    """Tells whether a ticket's quota lets it go now. Remembers when the first of those that must wait may go."""

    def __init__(self, now: float) -> None:
        self._now = now
        self.first_at: float | None = None

    def __call__(self, ticket: QueueEntry) -> bool:
        """Tell whether this ticket may go now."""
        errand = ticket.errand
        if errand.deadline_at <= self._now or errand.quota.is_barred(self._now):
            return False  # its caller will be told soon
        at = errand.quota.ready_at(errand.tokens, self._now)
        if at <= self._now:
            return True
        self.first_at = at if self.first_at is None else min(self.first_at, at)
        return False
