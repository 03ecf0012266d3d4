"""The values that describe a call before it is made: target, caller, estimate, and how its failures are judged."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from resilience.admission.attempt import Attempt
from resilience.admission.upstream import UpstreamConfig
from resilience.amounts import Account, Amount
from resilience.retry_policy import Judge, RetryConfig

T = TypeVar("T")

#: Makes one attempt at a call, with the attempt that was admitted.
AttemptFunction = Callable[[Attempt], Coroutine[Deferred[Any], Any, T]]


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a call is made: `name` takes turns with other names, and urgent callers go first.

    `accounts` pay for it. A call that `gives_way` is made only while no other call wants its server, and is ended by
    the next one that does; no account pays for it.
    """

    name: str = ""
    is_urgent: bool = True
    accounts: tuple[Account, ...] = ()
    gives_way: bool = False


@dataclass(frozen=True, slots=True)
class CallTarget:
    """What a call asks: a server, a name for the credential (never the key), and the lane that the limits are on."""

    origin: str
    credential: str = ""
    lane: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One call. `estimate` is the expected use of one attempt; its tokens also count against the server's limits.

    `upstream` is the configuration for a server that is asked for the first time.
    """

    target: CallTarget
    judge: Judge
    caller: Caller = field(default_factory=Caller)
    estimate: Amount = field(default_factory=lambda: Amount(calls=1))
    retry: RetryConfig = field(default_factory=RetryConfig)
    upstream: UpstreamConfig | None = None
