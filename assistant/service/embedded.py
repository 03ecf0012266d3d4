"""Shares the embedded models of a process: one server for each model file, however many assistants use it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from mud_assistant.assistant.models.chosen import EMBEDDED_CONTEXT, Served
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.models import default_data_dir, pinned_name
from mud_assistant.llm.embedded.progress import Endpoint, FetchProgress, Phase
from mud_assistant.llm.embedded.supervisor import Commands, EmbeddedModel

_log = Logger()

#: Makes the server of a model file (None for the usual model), not started. The callback gets its address after a
#: restart.
MakeServed = Callable[[Path | None, Callable[[Endpoint], None]], Served]


class Fetching(Protocol):
    """The process that fetches a model file."""

    def fetch(self) -> Deferred[Path]:
        """Fetch it, and fire with its path. Fails with EmbeddedUnavailable. Cancelling ends the process."""
        ...

    def stop(self) -> Deferred[None]:
        """End it; fires when it has ended."""
        ...


#: Makes the process that fetches a model by its name, not started. The callback gets its progress.
MakeFetch = Callable[[str, Callable[[FetchProgress], None]], Fetching]


# Any: the reactor as clock and as maker of processes.
def embedded_model(
    reactor: Any,
    environment: Mapping[str, str],
    path: Path | None,
    moved: Callable[[Endpoint], None],
    *,
    show: Callable[[FetchProgress], None],
    lost: Callable[[EmbeddedUnavailable], None],
) -> EmbeddedModel:
    """Return the embedded model of a file (None for the usual one), not started. A pinned file is fetched."""
    name = pinned_name(path)
    return EmbeddedModel(
        reactor,
        reactor,
        environment=environment,
        data_dir=default_data_dir(),
        model_file=None if name else path,
        model_name=name,
        context_tokens=EMBEDDED_CONTEXT,
        on_progress=show,
        on_restart=moved,
        on_lost=lost,
    )


# Any: the reactor as clock and as maker of processes.
def gentle_fetch(reactor: Any, environment: Mapping[str, str]) -> MakeFetch:
    """Return a function that makes the real process that fetches a model, at the lowest priority."""

    def make(name: str, show: Callable[[FetchProgress], None]) -> Fetching:
        return EmbeddedModel(
            reactor,
            reactor,
            environment=environment,
            data_dir=default_data_dir(),
            model_name=name,
            on_progress=show,
            commands=Commands.of(sys.executable, gently=True),
        )

    return make


# Any: the reactor as clock and as maker of processes.
def report_to_the_log(reactor: Any, environment: Mapping[str, str]) -> MakeServed:
    """Return a function that makes the real embedded model of a file. The model reports to the log."""
    told: set[str] = set()

    def show(step: FetchProgress) -> None:
        what = _told(step)
        if what not in told:  # a download reports every piece
            told.add(what)
            _log.info("the embedded model: {what}", what=what)

    def lost(error: EmbeddedUnavailable) -> None:
        _log.error("the embedded model is gone: {why}", why=str(error))

    def make(path: Path | None, moved: Callable[[Endpoint], None]) -> Served:
        return embedded_model(reactor, environment, path, moved, show=show, lost=lost)

    return make


def _told(step: FetchProgress) -> str:
    """Say how far a model is, in steps of a quarter."""
    if step.phase is Phase.NOTE or not step.total_bytes:
        return step.note or step.phase
    return f"{step.phase} {int(100 * step.fraction) // 25 * 25} % of {step.total_bytes // 1_000_000} MB"


class _Shared:
    """One server and its users."""

    def __init__(self, make: MakeServed, path: Path | None) -> None:
        self.served = make(path, self._moved)
        self.users: set[ModelLease] = set()
        self.endpoint: Endpoint | None = None
        self.waiting: list[Deferred[Endpoint]] = []
        self._started = False

    def where(self) -> Deferred[Endpoint]:
        """Return where the server answers, and start it for the first user. Fails with EmbeddedUnavailable."""
        if self.endpoint is not None:
            return succeed(self.endpoint)
        waiter: Deferred[Endpoint] = Deferred(lambda gone: self.waiting.remove(gone) if gone in self.waiting else None)
        self.waiting.append(waiter)
        if not self._started:
            self._started = True
            self.served.start().addCallbacks(self._is_at, self._failed)
        return waiter

    def _is_at(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        waiting, self.waiting = self.waiting, []
        for waiter in waiting:
            waiter.callback(endpoint)

    def _failed(self, failure: Failure) -> None:
        """Fail for all users that wait. The next user begins with a new server."""
        waiting, self.waiting = self.waiting, []
        for waiter in waiting:
            waiter.errback(failure)

    def _moved(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        for user in tuple(self.users):
            user.moved(endpoint)


class EmbeddedPool:
    """The servers in use, by model file. `make` makes a server."""

    def __init__(self, make: MakeServed) -> None:
        self._make = make
        self._shared: dict[Path | None, _Shared] = {}

    def lease(self, path: Path | None, moved: Callable[[Endpoint], None]) -> ModelLease:
        """Return a lease of the model of this file, not started."""
        return ModelLease(self, path, moved)

    def take(self, lease: ModelLease) -> Deferred[Endpoint]:
        """Add a user, and return where the model answers. Fails with EmbeddedUnavailable."""
        shared = self._shared.get(lease.path)
        if shared is None:
            shared = self._shared[lease.path] = _Shared(self._make, lease.path)
        shared.users.add(lease)
        return shared.where()

    def change(self, lease: ModelLease, path: Path | None) -> Deferred[None]:
        """Let a user go on with the model of another file, which answers already. Fires as `give_back` does."""
        shared, former = self._shared[path], lease.path
        assert shared.endpoint is not None
        shared.users.add(lease)
        lease.path = path
        lease.moved(shared.endpoint)
        return self._leave(lease, former)

    def give_back(self, lease: ModelLease) -> Deferred[None]:
        """Remove a user, and stop the model after the last one. Fires when it is stopped, or at once if it goes on."""
        return self._leave(lease, lease.path)

    def _leave(self, lease: ModelLease, path: Path | None) -> Deferred[None]:
        shared = self._shared.get(path)
        if shared is None or lease not in shared.users:
            return succeed(None)
        shared.users.discard(lease)
        if shared.users:
            return succeed(None)
        del self._shared[path]
        return shared.served.stop()


class ModelLease:
    """One assistant's use of an embedded model, with the interface of the model itself."""

    def __init__(self, pool: EmbeddedPool, path: Path | None, moved: Callable[[Endpoint], None]) -> None:
        self._pool = pool
        self.path = path
        self.moved = moved

    def start(self) -> Deferred[Endpoint]:
        """Return where the model answers. Fails with EmbeddedUnavailable. A failure or cancelling ends the lease."""
        return self._pool.take(self).addErrback(self._give_up)

    def change(self, path: Path | None) -> Deferred[None]:
        """Go on with the model of another file, which answers already. Fires when the former one needs no more time."""
        return self._pool.change(self, path)

    def stop(self) -> Deferred[None]:
        """End the lease. Fires at once, or when the model is stopped if no other assistant uses it."""
        return self._pool.give_back(self)

    def _give_up(self, failure: Failure) -> Deferred[Endpoint]:
        return self.stop().addCallback(lambda _: failure)
