"""What one credential may ask of one model, as far as the server has said, and whether the credential is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from resilience.admission.learned_pace import LearnedPace
from resilience.admission.rate_limit_window import RateLimitSnapshot, RateLimitWindow
from resilience.admission.revocation import Revocation, RevocationConfig
from resilience.errors import CoolingDown, NotAdmitted, NotThere, Revoked

#: How long a missing model is not asked for. Short, because it may be fetched any moment and asking is cheap.
MISSING = RevocationConfig(60.0, 600.0)


@dataclass(slots=True)
class Credential(Revocation):
    """One key at one server. `revoked` is what the server said when it refused the key, empty while it did not."""

    name: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """What a request took from a quota, to match it with the response.

    `probed` are the refusals for which the request is the probe.
    """

    requests: int
    tokens: int
    probed: tuple[Revocation, ...] = ()


@dataclass(slots=True)
class Quota:
    """The limits of one (credential, model). Times in clock seconds; `now` gives them."""

    name: str
    now: Callable[[], float]
    credential: Credential
    cool_until: float = 0.0
    cool_why: str = ""
    #: Whether the server has what is asked for: the model.
    missing: Revocation = field(default_factory=lambda: Revocation(times=MISSING))
    requests: RateLimitWindow = field(default_factory=RateLimitWindow)
    tokens: RateLimitWindow = field(default_factory=RateLimitWindow)
    pace: LearnedPace = field(default_factory=LearnedPace)

    def cool(self, until: float, why: str) -> bool:
        """Ask nothing until `until`. Return True when that is news."""
        if until <= self.cool_until:
            return False
        self.cool_until, self.cool_why = until, why
        return True

    def forgive(self) -> None:
        """Forget every refusal, every wait the server asked for, and every known limit."""
        self.credential.lift()
        self.missing.lift()
        self.cool_until, self.cool_why = 0.0, ""
        self.requests, self.tokens, self.pace = RateLimitWindow(), RateLimitWindow(), LearnedPace()

    def refusal(self, tokens: int, patience_until: float) -> NotAdmitted | None:
        """Return why a request of so many tokens is refused; None when it may go by `patience_until`, clock seconds."""
        now = self.now()
        if self.is_revoked(now):
            return self._revoked_error(now)
        until = self.ready_at(tokens, now)
        if until <= max(patience_until, now):
            return None
        why = self.cool_why if until == self.cool_until else "its limit is used up"
        return CoolingDown(f"asked to wait {until - now:.0f} s: {why}", until, why)

    def is_revoked(self, now: float) -> bool:
        """Tell whether nothing may be asked now: the key was refused, or what is asked for is not there."""
        return self.credential.holds(now) or self.missing.holds(now)

    def _revoked_error(self, now: float) -> NotAdmitted:
        revocation = self.credential if self.credential.holds(now) else self.missing
        wait = max(0.0, revocation.until - now)
        again = f"it is asked again in {wait:.0f} s" if 0 < wait < float("inf") else "it is asked again just now"
        if revocation is self.credential:
            if wait == float("inf"):
                again = "it is not asked again by itself"
            return Revoked(f"the key was refused and has not changed since; {again}", revocation.revoked)
        return NotThere(f"it was not there; {again}", revocation.revoked)

    def ready_at(self, tokens: int, now: float) -> float:
        """Return when a request of so many tokens may go; not after `now` when it may go at once."""
        by_requests = self.pace.ready_at(now) if self.requests.left is None else self.requests.ready_at(1, now)
        return max(self.cool_until, by_requests, self.tokens.ready_at(tokens, now))

    def send(self, tokens: int) -> Reserved:
        """Count a request of so many tokens that goes out."""
        now = self.now()
        self.pace.send(now)
        probed = tuple(held for held in (self.credential, self.missing) if held.revoked and held.asked())
        return Reserved(self.requests.send(1, now), self.tokens.send(tokens, now), probed)

    def accepted(self) -> None:
        """Note that the server answered a request."""
        self.pace.accepted(self.now())

    def ended(self, reserved: Reserved, *, well: bool) -> None:
        """Note that a request has ended. When it was answered, the refusals it probed are lifted."""
        for revocation in reserved.probed:
            if well:
                revocation.lift()
            else:
                revocation.undecided()

    def refused(self) -> None:
        """Note that the server refused a request for coming too often."""
        self.pace.refused(self.now())

    def apply(self, reserved: Reserved, requests: RateLimitSnapshot | None, tokens: RateLimitSnapshot | None) -> None:
        """Note what the response to that request said of the limits."""
        if requests is not None:
            self.requests.apply(requests, reserved.requests)
        if tokens is not None:
            self.tokens.apply(tokens, reserved.tokens)
