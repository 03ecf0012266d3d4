"""A server's door under test: who stands in the queue, who was let in, who was sent away; time is a Clock's."""

from __future__ import annotations

from random import Random
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience import Attempt, BreakerConfig, InFlightConfig, Upstream, UpstreamConfig, Verdict
from mud_assistant.resilience.admission.attempt import AdmissionRequest
from mud_assistant.resilience.admission.quota import Credential, Quota

#: The server failed the attempt; it told us to slow down.
SICK = Verdict("down", is_failure=True)
THROTTLED = Verdict("slow down", throttled=True)


class Door:
    """One server, asked by callers with names; all ask for one model unless told otherwise."""

    def __init__(
        self,
        *,
        breaker: BreakerConfig | None = None,
        cap: int = 1,
        queue: int = 100,
        start_seconds: float = 0.0,
        start_burst: int = 1,
    ) -> None:
        self.clock = Clock()
        config = UpstreamConfig(
            breaker or BreakerConfig(),
            InFlightConfig(most=cap, first=cap),
            queue=queue,
            start_seconds=start_seconds,
            start_burst=start_burst,
        )
        self.upstream = Upstream("http://a:1", self.clock, Random(1), config)  # noqa: S311  (jitter)
        self.quota = self.new_quota("sage")
        #: The names of those let in, in order, and their attempts.
        self.entered: list[str] = []
        self.attempts: dict[str, Attempt] = {}
        #: What those who were sent away were told, by name.
        self.refused: dict[str, BaseException] = {}

    def new_quota(self, lane: str) -> Quota:
        """The limits of one more model."""
        return Quota(lane, self.clock.seconds, Credential("k"))

    def ask(
        self, name: str, group: str = "", *, quota: Quota | None = None, urgent: bool = False, **request: Any
    ) -> Any:
        """A caller of this name asks to be let in; cancel what comes back to have it go away again."""
        entered = self.upstream.enter(AdmissionRequest(group or name, quota or self.quota, is_urgent=urgent, **request))

        def let_in(attempt: Attempt) -> None:
            self.entered.append(name)
            self.attempts[name] = attempt

        def refused(failure: Failure) -> None:
            assert failure.value is not None
            self.refused[name] = failure.value

        return entered.addCallbacks(let_in, refused)

    def end(self, *names: str) -> None:
        """The attempts of these are over, well."""
        for name in names:
            self.attempts.pop(name).succeeded()

    def fail(self, name: str, verdict: Verdict = SICK) -> None:
        """The attempt of this one failed."""
        self.attempts.pop(name).failed(verdict)

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits, nothing is on its way, and no timer is left."""
        state = (len(self.upstream.queue), self.upstream.in_flight.used, self.upstream.breaker.permits_out)
        return state == (0, 0, 0) and self.clock.getDelayedCalls() == []

    def was_cancelled(self, name: str) -> bool:
        """Whether this one went away by itself."""
        return isinstance(self.refused.get(name), CancelledError)
