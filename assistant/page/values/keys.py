"""The virtual keys of the gateway: what each may do and what it used, and a new one with its secret."""

from __future__ import annotations

from mud_assistant.assistant.page.values.common import Value
from mud_assistant.resilience import Allowance, Amount

#: Requests of one key at the same time, and messages in a second, unless said otherwise.
_AT_ONCE, _PER_SECOND = 64, 100


class NewGatewayKey(Value, frozen=True):
    """The body of a new key. Without `models` it may use all; `expires` is its last day in UTC, such as 2027-01-31."""

    name: str
    models: tuple[str, ...] = ()
    per_day: Allowance = Allowance()
    per_month: Allowance = Allowance()
    at_once: int = _AT_ONCE
    per_second: int = _PER_SECOND
    expires: str = ""
    note: str = ""


class GatewayKeyView(Value, frozen=True, kw_only=True):
    """A key and what it used. `state` is in use, revoked or expired; `may` says its limits in words.

    `created` and `revoked` are in seconds since 1970. `today` and `month` are None when they cannot be read.
    """

    name: str
    state: str
    may: str
    models: tuple[str, ...] = ()
    per_day: Allowance = Allowance()
    per_month: Allowance = Allowance()
    at_once: int
    per_second: int
    expires: str = ""
    note: str = ""
    created: float
    revoked: float | None = None
    today: Amount | None = None
    month: Amount | None = None


class GatewayKeyMade(Value, frozen=True):
    """A key that was just made. `secret` is what a program sends; it is shown this once and kept nowhere."""

    name: str
    secret: str
    sentence: str

    def __repr__(self) -> str:
        """Return a text without the secret, for a log."""
        return f"GatewayKeyMade(name={self.name!r})"
