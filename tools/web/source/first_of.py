"""Several providers in order of preference: the first one that can answer does.

When a provider fails in a way that another may not (`FALLS_THROUGH`), the next one is asked; a wrong query and a
refused address end the chain. A provider that failed is left alone for a while (`state.py`). The answer says who
served it and what went wrong before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.tools.web.errors import FALLS_THROUGH, ErrorKind, WebError
from mud_assistant.tools.web.results import reason_of
from mud_assistant.tools.web.source.answers import ErrorInfo, ProviderAnswer
from mud_assistant.tools.web.source.paced import Paced
from mud_assistant.tools.web.source.protocol import USUAL_SECONDS

_log = Logger()
Q = TypeVar("Q")
A = TypeVar("A", bound=ProviderAnswer)
#: Rereads the key of the provider of this name; tells whether it is another one, which is used from then on.
HasNewKey = Callable[[str], Awaitable[bool]]
#: Kinds that only money or a person can mend are reported last.
_HOPELESS = {ErrorKind.QUOTA: 1, ErrorKind.AUTH: 2}


class FirstOf(Generic[Q, A]):
    """Asks providers in order.

    When an answer is not enough by `is_enough`, such as an empty one, the next provider is asked. If none has a better
    one, it is the answer. `has_new_key` rereads the key of the named provider and tells whether it has changed.
    """

    def __init__(
        self,
        sources: Sequence[Paced[Q, A]],
        clock: IReactorTime,
        *,
        is_enough: Callable[[A], bool] | None = None,
        has_new_key: HasNewKey | None = None,
    ) -> None:
        if not sources:
            raise ValueError("a chain needs at least one provider")
        self.name = ",".join(source.name for source in sources)
        self.total_seconds = sum(source.total_seconds or USUAL_SECONDS for source in sources)
        self._sources = tuple(sources)
        self._clock = clock
        self._is_enough = is_enough
        self._has_new_key = has_new_key

    async def ask(self, query: Q) -> A:
        """Return the first answer that is enough, else the first answer.

        Raises WebError, with every reason when all failed. May be cancelled.
        """
        failed: dict[Paced[Q, A], ErrorInfo] = {}
        lacking: A | None = None
        has_asked = False
        for source in self._sources:
            await self._reread_key(source)
            if not source.state.is_ready:
                failed[source] = source.state.why_not(source.name)
                continue
            has_asked = True
            answer = await self._try(source, query, failed)
            if answer is not None and (self._is_enough is None or self._is_enough(answer)):
                return answer
            lacking = answer if lacking is None else lacking
        if not has_asked and (source_to_try := self._least_paused()) is not None:
            lacking = await self._try(source_to_try, query, failed)
        if lacking is None:
            raise join_errors(tuple(failed.values()), self._clock.seconds())
        return lacking

    def describe_failures(self, what: str, now: float) -> list[str]:
        """Return a line for the owner, with all that is known, for each provider whose last answer was an error."""
        lasts = ((source.name, *source.state.last_failure) for source in self._sources if source.state.last_failure)
        return [f"{what} by {name}: {now - at:.0f} s ago ({last.kind}): {last.message}" for name, at, last in lasts]

    def change_configuration(self, name: str) -> None:
        """Ask the provider of this name again: it has new settings."""
        for source in self._sources:
            if source.name == name:
                source.change_configuration()

    async def _reread_key(self, source: Paced[Q, A]) -> None:
        """Look for a new key when the old one is refused."""
        if source.state.refusal and self._has_new_key is not None and await self._has_new_key(source.name):
            source.change_configuration()

    def _least_paused(self) -> Paced[Q, A] | None:
        """Return the provider whose pause, which we only guessed, ends first."""
        paused = [source for source in self._sources if not source.state.is_out]
        return min(paused, key=lambda source: source.state.after_others_until, default=None)

    async def _try(self, source: Paced[Q, A], query: Q, failed: dict[Paced[Q, A], ErrorInfo]) -> A | None:
        """Return the provider's answer; None, with a note in `failed`, when another provider may do better.

        Raises WebError of a kind that does not fall through.
        """
        failed.pop(source, None)
        try:
            answer = await source.ask(query)
        except WebError as error:
            if error.kind not in FALLS_THROUGH:
                raise
            failed[source] = ErrorInfo.of(error, source.name)
            if error.kind is not ErrorKind.AUTH and len(self._sources) > 1:
                _log_fallback(source, error)
            return None
        return replace(answer, failed=(*failed.values(), *answer.failed))


def _log_fallback(source: Paced[Any, Any], error: WebError) -> None:
    _log.warn("{provider} could not: {cause}", log_event="fallback", provider=source.name, cause=error.message)


def join_errors(failed: Sequence[ErrorInfo], now: float) -> WebError:
    """Return one error for all: the kind that time mends best, with all messages and the earliest time."""
    if len(failed) == 1:
        return failed[0].error()
    chosen = min(failed, key=lambda error: _HOPELESS.get(error.kind, 0))
    times = [error.retry_at for error in failed if error.retry_at is not None and error.retry_at > now]
    reasons = "; ".join(str(error) for error in failed)
    told = "; ".join(dict.fromkeys(reason_of(error.error()) for error in failed))
    return WebError(chosen.kind, f"nobody could: {reasons}", retry_at=min(times, default=None), told=told)
