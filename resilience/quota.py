"""What one credential may ask of one model, as far as the server has said; and whether the credential is any good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from resilience.allowance import Allowance, Told
from resilience.errors import Barred, CoolingDown, NotAdmitted
from resilience.learned_pace import LearnedPace


@dataclass(slots=True)
class Credential:
    """One key at one server. `barred` is what the server said when it refused the key, empty while it did not."""

    name: str
    barred: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a request took from a quota, for the response to be matched with it."""

    requests: int
    tokens: int


@dataclass(slots=True)
class Quota:
    """One (credential, model). Times in clock seconds; `now` gives them."""

    name: str
    now: Callable[[], float]
    credential: Credential
    cool_until: float = 0.0
    cool_why: str = ""
    requests: Allowance = field(default_factory=Allowance)
    tokens: Allowance = field(default_factory=Allowance)
    pace: LearnedPace = field(default_factory=LearnedPace)

    def cool(self, until: float, why: str) -> bool:
        """Leave the server alone until then; True when that is news."""
        if until <= self.cool_until:
            return False
        self.cool_until, self.cool_why = until, why
        return True

    def forgive(self) -> None:
        """Forget every refusal and every wish to wait."""
        self.credential.barred = ""
        self.cool_until, self.cool_why = 0.0, ""
        self.requests, self.tokens, self.pace = Allowance(), Allowance(), LearnedPace()

    def refusal(self, tokens: int, patience_until: float) -> NotAdmitted | None:
        """Why a request of so many tokens is refused; None when it may go by `patience_until`, in clock seconds."""
        if self.credential.barred:
            return Barred("the key was refused and has not changed since", self.credential.barred)
        now = self.now()
        until = self.ready_at(tokens, now)
        if until <= max(patience_until, now):
            return None
        why = self.cool_why if until == self.cool_until else "its limit is used up"
        return CoolingDown(f"asked to wait {until - now:.0f} s: {why}", until, why)

    def ready_at(self, tokens: int, now: float) -> float:
        """When a request of so many tokens may go; not after `now` when it may at once."""
        by_requests = self.pace.ready_at(now) if self.requests.left is None else self.requests.ready_at(1, now)
        return max(self.cool_until, by_requests, self.tokens.ready_at(tokens, now))

    def send(self, tokens: int) -> Sent:
        """A request of so many tokens goes out."""
        now = self.now()
        self.pace.send(now)
        return Sent(self.requests.send(1, now), self.tokens.send(tokens, now))

    def taken(self) -> None:
        """The server answered a request."""
        self.pace.taken(self.now())

    def refused(self) -> None:
        """The server refused a request for coming too often."""
        self.pace.refused(self.now())

    def tell(self, sent: Sent, requests: Told | None, tokens: Told | None) -> None:
        """The response to that request says this of the limits."""
        if requests is not None:
            self.requests.tell(requests, sent.requests)
        if tokens is not None:
            self.tokens.tell(tokens, sent.tokens)
