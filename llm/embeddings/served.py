"""The embedded MiniLM as an embedder: its server is started by the first text, and stopped with the service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.embeddings.embedder import MEMORY, Vector
from mud_assistant.llm.embeddings.remote import RemoteEmbedder
from mud_assistant.llm.errors import Unavailable
from mud_assistant.resilience import Caller

#: How many numbers its vectors have, and how many tokens it reads with profit.
MINILM_DIMENSIONS, MINILM_TOKENS = 384, 256
#: After a start that failed, how long no other one is tried, in seconds: each may begin a download.
REST_SECONDS = 600.0


class ServerProcess(Protocol):
    """The process that serves the model."""

    def start(self) -> Deferred[Endpoint]:
        """Start it, and fetch the model first if needed. Fires with its address; fails with EmbeddedUnavailable."""
        ...

    def stop(self) -> Deferred[None]:
        """Stop it; fires when it has ended."""
        ...


class EmbeddedEmbedder:
    """The embedded model of sentence vectors. It costs nothing until it is asked.

    `make_server` gets two functions: one to call with the address after a restart, one to call when the server is gone
    for good. `at` tells `remote` where the server answers, and with which key.
    """

    model = MINILM.name
    dimensions = MINILM_DIMENSIONS

    def __init__(
        self,
        remote: RemoteEmbedder,
        clock: IReactorTime,
        make_server: Callable[[Callable[[Endpoint], None], Callable[[EmbeddedUnavailable], None]], ServerProcess],
        *,
        hide: Callable[[str], object],
    ) -> None:
        """Take `hide`, which is called with the key of the server, so that no log shows it."""
        self._remote = remote
        self._clock = clock
        self._server = make_server(self._is_at, self._is_lost)
        self._hide = hide
        self._is_ready = False
        self._is_starting = False
        self._waiting: list[Deferred[None]] = []
        self._failure: EmbeddedUnavailable | None = None
        self._failed_at = 0.0

    async def embed(self, texts: Sequence[str], caller: Caller = MEMORY) -> list[Vector]:
        """Return the vector of each text, as `Embedder` has it. Cancelling a start leaves it to the others."""
        if any(text.strip() for text in texts):
            await self._ready()
        return await self._remote.embed(texts, caller)

    def stop(self) -> Deferred[None]:
        """Stop the server. Fires when it has ended; those who wait for it are told that it is gone."""
        was_used = self._is_ready or self._is_starting
        self._is_ready = self._is_starting = False
        self._tell_waiting(EmbeddedUnavailable("it was stopped"))
        return self._server.stop() if was_used else succeed(None)

    async def _ready(self) -> None:
        """Wait until the server answers, and start it first. Raises Unavailable."""
        if self._is_ready:
            return
        if self._failure is not None and self._clock.seconds() < self._failed_at + REST_SECONDS:
            raise self._unavailable(self._failure)
        waiter: Deferred[None] = Deferred(lambda gone: self._waiting.remove(gone) if gone in self._waiting else None)
        self._waiting.append(waiter)
        if not self._is_starting:
            self._is_starting, self._failure = True, None
            self._server.start().addCallbacks(self._is_at, self._failed)
        await waiter

    def _is_at(self, endpoint: Endpoint) -> None:
        self._hide(endpoint.key)
        self._remote.provider.rebind(f"{endpoint.url}/v1", endpoint.key)
        self._is_ready, self._is_starting = True, False
        self._tell_waiting(None)

    def _failed(self, failure: Failure) -> None:
        if failure.check(CancelledError):
            return  # by `stop`, which has told those who wait
        self._is_lost(failure.value if isinstance(failure.value, EmbeddedUnavailable) else _internal(failure))

    def _is_lost(self, error: EmbeddedUnavailable) -> None:
        self._is_ready = self._is_starting = False
        self._failure, self._failed_at = error, self._clock.seconds()
        self._tell_waiting(error)

    def _tell_waiting(self, error: EmbeddedUnavailable | None) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if error is None:
                waiter.callback(None)
            else:
                waiter.errback(self._unavailable(error))

    def _unavailable(self, error: EmbeddedUnavailable) -> Unavailable:
        """Return the error for a caller: the cause, without the ways to have another model that talks."""
        return Unavailable(f"the model of sentence vectors is not available: {error.cause}", "embedded", self.model)


def _internal(failure: Failure) -> EmbeddedUnavailable:
    return EmbeddedUnavailable(f"starting it failed ({type(failure.value).__name__})")
