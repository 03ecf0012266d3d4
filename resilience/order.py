"""What is said of a call before it is made: whom it asks, for whom, what it may use, how its failures are judged."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from resilience.amounts import Account, Amount
from resilience.backoff import RetryConfig
from resilience.upstream import Passage, UpstreamConfig
from resilience.verdict import Judge

T = TypeVar("T")

#: One try at a call, made with the passage it was let in by.
Attempt = Callable[[Passage], Coroutine[Deferred[Any], Any, T]]


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a call is made: `name` takes turns with other names, and who is urgent goes first.

    `accounts` pay for it. One that `gives_way` is made only while no other call wants its server, and ended by the next
    one that does; nobody pays for it.
    """

    name: str = ""
    is_urgent: bool = True
    accounts: tuple[Account, ...] = ()
    gives_way: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a call asks: a server, a name for the credential (never the key), and what of it the limits are on."""

    origin: str
    credential: str = ""
    lane: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """One call. `estimate` is what an attempt is thought to use; its tokens also count against the server's limits.

    `upstream` is how a server is treated that is asked for the first time.
    """

    target: Target
    judge: Judge
    caller: Caller = field(default_factory=Caller)
    estimate: Amount = field(default_factory=lambda: Amount(calls=1))
    retry: RetryConfig = field(default_factory=RetryConfig)
    upstream: UpstreamConfig | None = None
