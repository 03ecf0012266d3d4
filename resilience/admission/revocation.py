"""Refusals that hold for a while: of a key, or of a model that is not there. Pure.

    refused                          not asked until `until`: `first_seconds`, doubled with each refusal in a row up to
                                     `longest_seconds`
    the time is over                 one request goes out as a probe; the others are refused until it has ended
    the probe is refused             the next time is twice as long
    the probe is answered            all is forgotten
    the probe ends in another way    the next request is the probe
    lifted (settings or key are new) all is forgotten

A request that was sent before the first refusal came back says nothing new when it is refused too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf


@dataclass(frozen=True, slots=True)
class RevocationConfig:
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
