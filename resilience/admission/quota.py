"""What one credential may ask of one model: what the server has said of its limits, and what it has refused. Pure.

The limits are in `Quota`. A refusal, of a key or of a model that is not there, holds for a while (`Revocation`):

    refused                          not asked until `until`: `first_seconds`, doubled with each refusal in a row up to
                                     `longest_seconds`
    the time is over                 one request goes out as a probe; the others are refused until it has ended
    the probe is refused             the next time is twice as long
    the probe is answered            all is forgotten
    the probe ends in another way    the next request is the probe
    lifted (settings or key are new) all is forgotten

A key is refused for everybody, a model is missing for who asked for it: the others find out by requests of their own.

A request that was sent before the first refusal came back says nothing new when it is refused too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from msgspec import Struct

from mud_assistant.resilience.admission.pace import LearnedPace, RateLimitSnapshot, RateLimitWindow
from mud_assistant.resilience.errors import CoolingDown, NotAdmitted, NotThere, Revoked


class RevocationConfig(Struct, frozen=True):
    """How long a refusal holds, in seconds."""

    first_seconds: float = 300.0
    longest_seconds: float = 3600.0


@dataclass(slots=True, kw_only=True)
class Revocation:
    """A refusal that holds for now. `revoked` is the reason, empty when there is none; `until` is in clock seconds."""

    revoked: str = ""
    until: float = inf
    refusals: int = 0
    is_probing: bool = False
    times: RevocationConfig = field(default_factory=RevocationConfig)

    def holds(self, now: float) -> bool:
        """Tell whether nothing may be asked now."""
        return bool(self.revoked) and (self.is_probing or now < self.until)

    def refused(self, why: str, now: float) -> bool:
        """Note a refusal. Return True when it is news."""
        if self.revoked and not self.is_probing and now < self.until:
            return False
        self.refusals += 1
        pause = min(self.times.longest_seconds, self.times.first_seconds * 2 ** min(self.refusals - 1, 32))
        self.revoked, self.until, self.is_probing = why, now + pause, False
        return True

    def asked(self) -> bool:
        """Note that a request goes out. Return True when it is the probe for whether the refusal still holds."""
        is_probe = bool(self.revoked) and not self.is_probing
        self.is_probing = self.is_probing or is_probe
        return is_probe

    def undecided(self) -> None:
        """Note that the probe has ended without showing whether the refusal still holds."""
        self.is_probing = False

    def lift(self) -> None:
        """Forget the refusal."""
        self.revoked, self.until, self.refusals, self.is_probing = "", inf, 0, False


#: How long a missing model is not asked for. Short, because it may be fetched any moment and asking is cheap.
MISSING = RevocationConfig(60.0, 600.0)
#: For how many askers it is known that a model is missing, per model.
_MAX_ASKERS = 1_000


@dataclass(slots=True)
class Credential(Revocation):
    """One key at one server. `revoked` is what the server said when it refused the key, empty while it did not."""

    name: str


class Reserved(Struct, frozen=True):
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
    #: Whether the server has what is asked for, the model: by the names of those who were told that it has not. Each
    #: finds out alone, for a request may name a model of its own that is missing.
    missing: dict[str, Revocation] = field(default_factory=dict)
    requests: RateLimitWindow = field(default_factory=RateLimitWindow)
    tokens: RateLimitWindow = field(default_factory=RateLimitWindow)
    pace: LearnedPace = field(default_factory=LearnedPace)
    #: Called with the seconds of each wait that this process was asked for.
    on_cool: Callable[[float], None] | None = None

    def cool(self, until: float, why: str) -> bool:
        """Ask nothing until `until`, because the server said so here. Return True when that is news."""
        is_news = self.heed(until, why)
        if is_news and self.on_cool is not None:
            self.on_cool(until - self.now())
        return is_news

    def heed(self, until: float, why: str) -> bool:
        """Ask nothing until `until`, because the server said so to another process. Return True when that is news."""
        if until <= self.cool_until:
            return False
        self.cool_until, self.cool_why = until, why
        return True

    def forgive(self) -> None:
        """Forget every refusal, every wait the server asked for, and every known limit."""
        self.credential.lift()
        self.missing.clear()
        self.cool_until, self.cool_why = 0.0, ""
        self.requests, self.tokens, self.pace = RateLimitWindow(), RateLimitWindow(), LearnedPace()

    def missing_for(self, asker: str) -> Revocation:
        """Return whether the model is there for who has this name. Names that were added long ago are forgotten."""
        held = self.missing.get(asker)
        if held is None:
            if len(self.missing) >= _MAX_ASKERS:
                del self.missing[next(iter(self.missing))]
            held = self.missing[asker] = Revocation(times=MISSING)
        return held

    def refusal(self, tokens: int, patience_until: float, asker: str = "") -> NotAdmitted | None:
        """Return why a request of so many tokens is refused; None when it may go by `patience_until`, clock seconds."""
        now = self.now()
        if self.is_revoked(now, asker):
            return self._revoked_error(now, asker)
        until = self.ready_at(tokens, now)
        if until <= max(patience_until, now):
            return None
        why = self.cool_why if until == self.cool_until else "its limit is used up"
        return CoolingDown(f"asked to wait {until - now:.0f} s: {why}", until, why)

    def is_revoked(self, now: float, asker: str = "") -> bool:
        """Tell whether this asker may ask nothing now: the key was refused, or the model is not there for them."""
        return self.credential.holds(now) or (asker in self.missing and self.missing[asker].holds(now))

    def _revoked_error(self, now: float, asker: str) -> NotAdmitted:
        revocation = self.credential if self.credential.holds(now) else self.missing[asker]
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

    def send(self, tokens: int, asker: str = "") -> Reserved:
        """Count a request of so many tokens that goes out."""
        now = self.now()
        self.pace.send(now)
        probed: tuple[Revocation, ...] = ()
        if self.credential.revoked or asker in self.missing:
            refusals = (self.credential, self.missing.get(asker))
            probed = tuple(held for held in refusals if held is not None and held.revoked and held.asked())
        return Reserved(self.requests.send(1, now), self.tokens.send(tokens, now), probed)

    def ended(self, reserved: Reserved, *, well: bool) -> None:
        """Note that a request has ended. When it was answered, the refusals it probed are lifted."""
        for revocation in reserved.probed:
            if well:
                revocation.lift()
            else:
                revocation.undecided()

    def refused(self, until: float | None) -> None:
        """Note that the server refused a request for coming too often, and asked for a wait `until` then."""
        self.pace.refused(self.now(), until)

    def apply(self, reserved: Reserved, requests: RateLimitSnapshot | None, tokens: RateLimitSnapshot | None) -> None:
        """Note what the response to that request said of the limits."""
        if requests is not None:
            self.requests.apply(requests, reserved.requests)
        if tokens is not None:
            self.tokens.apply(tokens, reserved.tokens)
