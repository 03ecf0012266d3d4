"""The embedded model as the rest of the program sees it: start it, learn its address, stop it.

start -> fetch process -> server process -> Endpoint
                               | dies
                               +-> wait -> server process -> on_restart(Endpoint)   at most 3 times in 10 minutes
                                                             on_lost(EmbeddedUnavailable) after that
"""

from __future__ import annotations

import secrets
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct
from twisted.internet.defer import CancelledError, Deferred, FirstError, gatherResults
from twisted.internet.interfaces import IReactorProcess, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from mud_assistant.llm.embedded.child import Answer, Child, Conversation, child_environment, ending
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.hub_name import TOKEN_VARIABLE, wants_token
from mud_assistant.llm.embedded.progress import Endpoint, FetchProgress, Phase, read_progress
from mud_assistant.llm.embedded.server import KEY_VARIABLE, LIBRARY, NO_LIBRARY, PASSIVE_WAITING, default_threads
from mud_assistant.llm.messages import JSONObject
from mud_assistant.resilience.child import module_command

#: The time in which restarts are counted, in seconds.
WINDOW_SECONDS = 600.0
#: Seconds to wait before the first, second and third restart within the window.
DELAYS_SECONDS = (1.0, 4.0, 16.0)

_log = Logger()


class Commands(Struct, frozen=True):
    """How the two child processes are started."""

    fetch: tuple[str, ...]
    server: tuple[str, ...]

    @classmethod
    def of(cls, python: str, *, embeddings: bool = False, gently: bool = False) -> Commands:
        """Return commands that run our own modules with the given Python.

        `embeddings`: serve sentence vectors. `gently`: fetch at the lowest priority, behind something else.
        """
        fetch, server = (module_command(python, f"mud_assistant.llm.embedded.{part}") for part in ("fetch", "server"))
        return cls((*fetch, "--gently") if gently else fetch, (*server, "--embeddings") if embeddings else server)


class _Restarts:
    """Limits the restarts of a child that died: at most 3 in 10 minutes, each after a longer wait."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._at: deque[float] = deque()

    def next_delay(self) -> float | None:
        """Return the seconds to wait before the next restart, or None when no restart is left.

        The restart is counted at once.
        """
        now = self._clock.seconds()
        while self._at and now - self._at[0] >= WINDOW_SECONDS:
            self._at.popleft()
        if len(self._at) >= len(DELAYS_SECONDS):
            return None
        delay = DELAYS_SECONDS[len(self._at)]
        self._at.append(now)
        return delay


def _ignore(_: object) -> None:
    """Ignore news that has no listener."""


def _unwrap(failure: Failure) -> Failure:
    """Return the failure within the one of `gatherResults`: a cancelled wait is no failed one."""
    return failure.value.subFailure if isinstance(failure.value, FirstError) else failure


class EmbeddedModel:
    """One embedded model. `start` and `stop` may each be called again after the other.

    In a running program `processes` and `clock` are both the reactor. `environment` is what the children inherit, less
    its secrets. `data_dir` holds the fetched model file. `model_name` says which model of `models.py` or of a hub that
    is, empty for the default one. `model_file` is the owner's own; nothing is fetched then. `context_tokens` is the
    length of the context.
    """

    def __init__(
        self,
        processes: IReactorProcess,
        clock: IReactorTime,
        *,
        environment: Mapping[str, str],
        data_dir: Path,
        model_file: Path | None = None,
        model_name: str = "",
        threads: int | None = None,
        context_tokens: int = 4096,
        on_progress: Callable[[FetchProgress], None] = _ignore,
        on_restart: Callable[[Endpoint], None] = _ignore,
        on_lost: Callable[[EmbeddedUnavailable], None] = _ignore,
        commands: Commands | None = None,
    ) -> None:
        self._processes = processes
        self._clock = clock
        self._environment = child_environment(environment)
        #: What only the process that fetches is told: the key of a hub.
        self._fetching = {TOKEN_VARIABLE: environment[TOKEN_VARIABLE]} if wants_token(model_name, environment) else {}
        self._data_dir = data_dir
        self._model_file = model_file
        self._named = ("--model-name", model_name) if model_name else ()
        self._threads = threads or default_threads()
        self._context_tokens = context_tokens
        self._on_progress = on_progress
        self._on_restart = on_restart
        self._on_lost = on_lost
        self._commands = commands or Commands.of(sys.executable)
        self._key = secrets.token_urlsafe(32)
        self._restarts = _Restarts(clock)
        self._children: set[Child] = set()
        self._work: Deferred[Endpoint] | Deferred[None] | None = None
        self._running = False

    def start(self) -> Deferred[Endpoint]:
        """Start the model. Fires with where it answers, once it does. Cancelling ends the child process first.

        Fails with EmbeddedUnavailable. The total time of a download is not limited, but the time without progress is.
        """
        if self._running:
            raise RuntimeError("the embedded model was started already")
        self._running = True
        started = Deferred.fromCoroutine(self._start())
        self._work = started
        return started

    def fetch(self) -> Deferred[Path]:
        """Fetch the model's file, serving nothing. Fires with its path. Cancelling ends the child process first.

        Fails with EmbeddedUnavailable.
        """
        return Deferred.fromCoroutine(self._fetch())

    def stop(self) -> Deferred[None]:
        """Stop the model. Fires when no child process is left. A start in progress fails with CancelledError."""
        self._running = False
        children = tuple(self._children)
        work, self._work = self._work, None
        if work is not None:
            work.cancel()
        gone = [child.stop() for child in children]
        return gatherResults(gone, consumeErrors=True).addCallbacks(_ignore, _unwrap)

    async def _start(self) -> Endpoint:
        try:
            path = self._model_file or await self._fetch()
            self._on_progress(FetchProgress(Phase.START))
            return await self._serve(path, 0)
        except (EmbeddedUnavailable, CancelledError):
            self._running = False
            raise

    async def _fetch(self) -> Path:
        if find_spec(LIBRARY) is None:  # half a gigabyte that nothing here can run
            raise EmbeddedUnavailable(NO_LIBRARY)

        def listen(record: JSONObject) -> Path | None:
            if progress := read_progress(record):
                talk.keep_waiting(progress)
                self._on_progress(progress)
            model = record.get("model")
            return Path(model) if isinstance(model, str) else None

        talk = Conversation(self._clock, "the process that fetches the model", listen)
        command = (*self._commands.fetch, "--data-dir", str(self._data_dir), *self._named, "--end-with-stdin")
        path = await self._ask(talk, command, self._environment | self._fetching)
        await talk.child.stop()
        self._children.discard(talk.child)
        return path

    async def _serve(self, path: Path, port: int) -> Endpoint:
        def listen(record: JSONObject) -> Endpoint | None:
            url, model = record.get("url"), record.get("model")
            if isinstance(url, str) and isinstance(model, str):
                return Endpoint(url, self._key, model, own_template=record.get("own_template") is True)
            return None

        talk = Conversation(self._clock, "the process that serves the model", listen)
        command = (
            *self._commands.server,
            *("--model", str(path), "--port", str(port)),
            *("--threads", str(self._threads), "--ctx", str(self._context_tokens)),
        )
        secret = {KEY_VARIABLE: self._key, PASSIVE_WAITING[0]: PASSIVE_WAITING[1]}
        endpoint = await self._ask(talk, command, self._environment | secret)
        talk.child.on_end = lambda: self._died(talk.child, path, endpoint.port)
        _log.info("the local model {model} answers at {url}", model=endpoint.model, url=endpoint.url)
        return endpoint

    async def _ask(self, talk: Conversation[Answer], command: Sequence[str], environment: Mapping[str, str]) -> Answer:
        """Return what the child answers. Its process counts as ours until it is gone."""
        self._children.add(talk.child)
        try:
            talk.child.spawn(self._processes, command, environment)
            return await talk.result()
        except OSError as error:
            talk.forget()
            self._children.discard(talk.child)
            raise EmbeddedUnavailable(f"{command[0]} could not be started ({error.strerror})") from error
        except (EmbeddedUnavailable, CancelledError):
            self._children.discard(talk.child)
            raise

    def _died(self, child: Child, path: Path, port: int) -> None:
        self._children.discard(child)
        if not self._running:
            return
        cause = f"the process that serves the model {ending(child)}"
        _log.warn("the local model is down: {cause}", cause=cause)
        work = Deferred.fromCoroutine(self._recover(path, port, cause))
        self._work = work
        work.addErrback(_log_unless_cancelled)

    async def _recover(self, path: Path, port: int, cause: str) -> None:
        """Start the server again, on the same port and with the same key, while restarts are left."""
        while (delay := self._restarts.next_delay()) is not None:
            await deferLater(self._clock, delay)
            try:
                endpoint = await self._serve(path, port)
            except EmbeddedUnavailable as error:
                cause = error.cause
                _log.warn("the local model did not come back: {cause}", cause=cause)
                continue
            self._on_restart(endpoint)
            return
        self._running = False
        self._on_lost(EmbeddedUnavailable(f"it failed too often in ten minutes, the last time because {cause}"))


def _log_unless_cancelled(failure: Failure) -> None:
    """Log a failed restart, unless `stop` cancelled it."""
    if failure.check(CancelledError) is None:
        _log.failure("restarting the local model failed", failure)
