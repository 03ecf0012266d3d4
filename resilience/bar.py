"""What was refused and is not asked again for a while: a key, or a model that is not there. Pure.

    refused                          not asked until `until`: `first_seconds`, doubled with each refusal in a row up to
                                     `longest_seconds`
    the time is over                 one request may find out; the others are refused until that one has ended
    that one is refused              the next time is twice as long
    ... answered                     all is forgotten
    ... ended in another way         the next request may find out
    lifted (settings or key are new) all is forgotten

Refusals of what was sent before the first one came back say nothing new.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf


@dataclass(frozen=True, slots=True)
class BarConfig:
    """How long a refusal holds, in seconds."""

    first_seconds: float = 300.0
    longest_seconds: float = 3600.0


@dataclass(slots=True, kw_only=True)
class Bar:
    """Why something is not asked, empty when it is. `until` is in clock seconds."""

    barred: str = ""
    until: float = inf
    refusals: int = 0
    is_probing: bool = False
    times: BarConfig = field(default_factory=BarConfig)

    def holds(self, now: float) -> bool:
        """Whether nothing may be asked now."""
        return bool(self.barred) and (self.is_probing or now < self.until)

    def refused(self, why: str, now: float) -> bool:
        """Note a refusal; True when that is news."""
        if self.barred and not self.is_probing and now < self.until:
            return False
        self.refusals += 1
        pause = min(self.times.longest_seconds, self.times.first_seconds * 2 ** min(self.refusals - 1, 32))
        self.barred, self.until, self.is_probing = why, now + pause, False
        return True

    def asked(self) -> bool:
        """Note that a request goes out; True when it is the one that finds out whether the refusal still holds."""
        is_probe = bool(self.barred) and not self.is_probing
        self.is_probing = self.is_probing or is_probe
        return is_probe

    def undecided(self) -> None:
        """The request that was to find out has ended without saying anything of it."""
        self.is_probing = False

    def lift(self) -> None:
        """Forget it."""
        self.barred, self.until, self.refusals, self.is_probing = "", inf, 0, False
