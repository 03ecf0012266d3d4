"""The model in use, and how its server is treated."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from twisted.internet.defer import Deferred

from assistant.config import ModelConfig
from llm import LLMProvider
from llm.embedded.progress import Endpoint
from resilience import BreakerConfig, InFlightConfig, Limits, UpstreamConfig

#: Requests on their way at once. A server of one's own queues what is more, where no player can come first.
_IN_FLIGHT = {"ollama": 4, "local": 4}


class Served(Protocol):
    """A model whose server is ours to start and to stop."""

    def start(self) -> Deferred[Endpoint]:
        """Where it answers. Fails with EmbeddedUnavailable; cancelling it ends what was begun."""
        ...

    def stop(self) -> Deferred[None]:
        """Fires when nothing of it runs any more."""
        ...


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The model in use, and in one line why it is this one."""

    provider: LLMProvider
    why: str
    config: ModelConfig
    embedded: Served | None = None
    #: Tools this model is better off without.
    withheld: frozenset[str] = frozenset()
    #: Whether it answered when it was chosen.
    is_there: bool = True
    #: Gives its key as it is by now, empty when there is none to be had.
    reread_key: Callable[[], Awaitable[str]] | None = None

    @property
    def limits(self) -> Limits:
        """The limits of one exchange with it."""
        config = self.config
        return Limits(
            config.connect_seconds,
            config.first_byte_seconds,
            config.idle_seconds,
            progress_seconds=config.progress_seconds,
        )

    @property
    def upstream(self) -> UpstreamConfig:
        """How its server is treated.

        A call counts as hanging after half the time that the server has for a sign of life. The owner's own cap is
        used from the beginning; the usual one is approached.
        """
        config = self.config
        most = config.max_in_flight or (1 if self.embedded else _IN_FLIGHT.get(self.provider.name, 32))
        hang = min(config.first_byte_seconds, config.idle_seconds) / 2
        return UpstreamConfig(
            BreakerConfig(hang_seconds=hang), InFlightConfig(most, config.max_in_flight or InFlightConfig().first)
        )
