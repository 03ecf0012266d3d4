"""The providers that a chain asks in turn, and the health of each: see `chain.py`."""

from __future__ import annotations

import random as random_module
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from resilience import Deadline, DeadlineExceeded
from tools.web.advice import reason_of
from tools.web.errors import FALLS_THROUGH, ErrorKind, WebError
from tools.web.source.health import CoolDown, ProviderHealth
from tools.web.source.pacing import started
from tools.web.source.protocol import (
    USUAL_SECONDS,
    seconds_of,
)
from tools.web.source.served import ErrorInfo

_log = Logger()
P = TypeVar("P", bound="_Named")
A = TypeVar("A")
#: Rereads the key of the provider of this name; tells whether it is another one, which is used from then on.
HasNewKey = Callable[[str], Awaitable[bool]]
#: Kinds that only money or a person can mend are reported last.
_HOPELESS = {ErrorKind.QUOTA: 1, ErrorKind.AUTH: 2}


class _Named(Protocol):
    """A search provider or a reader."""

    name: str


@dataclass(frozen=True, slots=True)
class ChainOptions:
    """The options of a chain: how it asks, and how it asks again after failures (`cool_down`).

    Each provider has the time it says it needs in all (`providers.seconds_of`); one behind a gate counts it from its
    turn on. `patience_seconds` is for a provider that does not say.

    With `empty_falls_through` the next provider is asked when a search finds nothing. When none finds anything, the
    empty result is the answer.
    """

    patience_seconds: float = USUAL_SECONDS
    empty_falls_through: bool = False
    cool_down: CoolDown = field(default_factory=CoolDown)


@dataclass(frozen=True, slots=True)
class _Served(Generic[A]):
    """An answer, who gave it, and what went wrong before."""

    answer: A
    by: str
    failed: tuple[ErrorInfo, ...]


class _Link(Generic[P]):
    """One provider and its health."""

    def __init__(self, provider: P, standing: ProviderHealth) -> None:
        self.provider = provider
        self.standing = standing
        #: When it failed last, and how; None when its last answer was good.
        self.last: tuple[float, ErrorInfo] | None = None


class Links(Generic[P]):
    """The providers of a chain, and how they are asked in turn."""

    def __init__(
        self,
        providers: Sequence[P],
        cools: Callable[[P], frozenset[ErrorKind]],
        clock: IReactorTime,
        random: random_module.Random,
        manner: ChainOptions,
        *,
        has_new_key: HasNewKey | None,
    ) -> None:
        if not providers:
            raise ValueError("a chain needs at least one provider")
        self._clock = clock
        self._manner = manner
        self._has_new_key = has_new_key
        self._links = [
            _Link(provider, ProviderHealth(clock.seconds, random, cools(provider), manner.cool_down))
            for provider in providers
        ]

    def configuration_changed(self, name: str) -> None:
        """Forget the failures of the provider of this name."""
        for link in self._links:
            if link.provider.name == name:
                link.standing.configuration_changed()

    async def first(self, ask: Callable[[P], Awaitable[A]], is_enough: Callable[[A], bool]) -> _Served[A]:
        """Return the first answer that is enough, else the first answer. Raises WebError when there is none."""
        walk = _Walk(self, ask, is_enough)
        for link in self._links:
            if link.standing.refused and self._has_new_key is not None and await self._has_new_key(link.provider.name):
                link.standing.configuration_changed()
            if link.standing.is_ready:
                await walk.ask(link)
            else:
                walk.failed[link] = self.why_not(link)
            if walk.served is not None:
                return walk.served
        if not walk.has_asked:
            guessed = [link for link in self._links if not link.standing.is_out]
            if guessed:
                await walk.ask(min(guessed, key=lambda link: link.standing.after_others_until))
        served = walk.served or walk.lacking
        if served is None:
            raise joined(tuple(walk.failed.values()), self._clock.seconds())
        return served

    async def ask(self, link: _Link[P], ask: Callable[[P], Awaitable[A]]) -> A:
        """Ask one provider, note the outcome in its health, and return the answer. Raises WebError."""
        seconds = seconds_of(link.provider) or self._manner.patience_seconds
        mark = link.standing.asked()
        try:
            answer = await Deadline.after(self._clock, seconds).bound(started(lambda: ask(link.provider)))
        except DeadlineExceeded as error:
            late = WebError(ErrorKind.TIMEOUT, f"no answer within {seconds:g} s", provider=link.provider.name)
            link.last = self._clock.seconds(), ErrorInfo.of(late)
            self._heard(link, link.standing.failed(mark, ErrorInfo.of(late)), late)
            raise late from error
        except WebError as error:
            error.provider = error.provider or link.provider.name
            if error.kind is not ErrorKind.POLICY:
                link.last = self._clock.seconds(), ErrorInfo.of(error)
            self._heard(link, link.standing.failed(mark, ErrorInfo.of(error)), error)
            raise
        except CancelledError:
            link.standing.cancelled(mark)
            raise
        link.last = None
        link.standing.succeeded(mark)
        return answer

    def _heard(self, link: _Link[P], is_refused: bool, error: WebError) -> None:
        if is_refused:
            _log.error(
                "{provider} refuses the key; left alone for {seconds:.0f} s, or until its settings change: {cause}",
                log_event="credential",
                provider=link.provider.name,
                cause=error.message,
                seconds=link.standing.ready_at - self._clock.seconds(),
            )
        elif error.kind in FALLS_THROUGH and error.kind is not ErrorKind.AUTH and len(self._links) > 1:
            _log.warn(
                "{provider} could not: {cause}",
                log_event="fallback",
                provider=link.provider.name,
                cause=error.message,
            )

    def troubles(self, what: str, now: float) -> list[str]:
        """Return a line, with all that is known, for each provider whose last answer was an error."""
        lasts = ((link.provider.name, *link.last) for link in self._links if link.last is not None)
        return [f"{what} by {name}: {now - at:.0f} s ago ({last.kind}): {last.message}" for name, at, last in lasts]

    def why_not(self, link: _Link[P]) -> ErrorInfo:
        """Return why a provider was not asked."""
        standing, name = link.standing, link.provider.name
        at = standing.ready_at
        wait = max(0.0, at - self._clock.seconds())
        if standing.refused:
            why = f"not asked for another {wait:.0f} s, it refused the key: {standing.refused}"
            return ErrorInfo(ErrorKind.AUTH, why, name, at)
        last = standing.trouble or ErrorInfo(ErrorKind.NETWORK, "it failed lately", name)
        return ErrorInfo(last.kind, f"not asked for another {wait:.0f} s: {last.message}", name, at)


class _Walk(Generic[P, A]):
    """One question on its way along the providers."""

    def __init__(self, links: Links[P], ask: Callable[[P], Awaitable[A]], is_enough: Callable[[A], bool]) -> None:
        self._links = links
        self._ask = ask
        self._is_enough = is_enough
        self.has_asked = False
        self.failed: dict[_Link[P], ErrorInfo] = {}
        self.served: _Served[A] | None = None
        self.lacking: _Served[A] | None = None

    async def ask(self, link: _Link[P]) -> None:
        """Ask this provider and keep the outcome. Raises WebError of a kind that does not fall through."""
        self.has_asked = True
        self.failed.pop(link, None)
        try:
            answer = await self._links.ask(link, self._ask)
        except WebError as error:
            if error.kind not in FALLS_THROUGH:
                raise
            self.failed[link] = ErrorInfo.of(error, link.provider.name)
            return
        served = _Served(answer, link.provider.name, tuple(self.failed.values()))
        if self._is_enough(answer):
            self.served = served
        else:
            self.lacking = self.lacking or served


def joined(failed: Sequence[ErrorInfo], now: float) -> WebError:
    """Return one error for all: the kind that time mends best, with all messages and the earliest time."""
    if len(failed) == 1:
        return failed[0].error()
    chosen = min(failed, key=lambda trouble: _HOPELESS.get(trouble.kind, 0))
    times = [trouble.retry_at for trouble in failed if trouble.retry_at is not None and trouble.retry_at > now]
    reasons = "; ".join(str(trouble) for trouble in failed)
    told = "; ".join(dict.fromkeys(reason_of(trouble.error()) for trouble in failed))
    return WebError(chosen.kind, f"nobody could: {reasons}", retry_at=min(times, default=None), told=told)
