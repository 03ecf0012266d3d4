"""Queue entries for admission to a server, and when each may be admitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from twisted.internet.defer import Deferred

from resilience.admission.attempt import Attempt
from resilience.admission.quota import Quota
from resilience.errors import NotAdmitted


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
    """An admission request in the queue. `entered` fires with the attempt, or fails with the refusal."""

    __slots__ = ("entered", "group", "is_urgent", "request")

    def __init__(self, request: AdmissionRequest, leave: Callable[[QueueEntry], None]) -> None:
        self.request = request
        self.group = request.group
        self.is_urgent = request.is_urgent
        self.entered: Deferred[Attempt] = Deferred(lambda _: leave(self))

    def refusal(self) -> NotAdmitted | None:
        """Return why it would be refused now; None when it may wait on."""
        request = self.request
        return request.quota.refusal(request.tokens, request.patience_until)


class Ready:
    """Tells whether an entry's quota lets it go now. Remembers when the first entry that must wait may go."""

    def __init__(self, now: float) -> None:
        self._now = now
        self.first_at: float | None = None

    def __call__(self, entry: QueueEntry) -> bool:
        """Tell whether this entry may go now."""
        request = entry.request
        if request.deadline_at <= self._now or request.quota.is_revoked(self._now):
            return False  # its caller will be told soon
        at = request.quota.ready_at(request.tokens, self._now)
        if at <= self._now:
            return True
        self.first_at = at if self.first_at is None else min(self.first_at, at)
        return False
