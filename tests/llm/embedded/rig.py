"""An embedded model whose children exist only in a test, and how its start came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.progress import Endpoint, FetchProgress
from mud_assistant.llm.embedded.supervisor import Commands, EmbeddedModel
from tests.llm.embedded.processes import FakeProcesses

READY = {"url": "http://127.0.0.1:4711", "model": "tiny", "own_template": True}
COMMANDS = Commands(("fetch",), ("serve",))


@dataclass
class Rig:
    """An embedded model whose children exist only in the test."""

    own_file: Path | None = Path("/models/own.gguf")
    clock: Clock = field(default_factory=Clock)
    processes: FakeProcesses = field(default_factory=FakeProcesses)
    progress: list[FetchProgress] = field(default_factory=list)
    restarted: list[Endpoint] = field(default_factory=list)
    lost: list[EmbeddedUnavailable] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = EmbeddedModel(
            self.processes,
            self.clock,
            environment={"PATH": "/bin", "OPENAI_API_KEY": "planted"},
            data_dir=Path("/data"),
            model_file=self.own_file,
            threads=2,
            on_progress=self.progress.append,
            on_restart=self.restarted.append,
            on_lost=self.lost.append,
            commands=COMMANDS,
        )

    def ready(self) -> Endpoint:
        """The endpoint of a model that was started and is ready."""
        started = self.model.start()
        self.processes.latest.says(READY)
        return done(started)

    def crash(self) -> None:
        self.processes.latest.grumbles("0.1 E GGML_ASSERT failed\n")
        self.processes.latest.ends(signal=6)


def done(started: Deferred[Endpoint]) -> Endpoint:
    endpoint = started.result
    assert isinstance(endpoint, Endpoint)
    return endpoint


def failures(started: Deferred[Endpoint]) -> list[BaseException | None]:
    """Filled with what the start fails with, once it does; consumes the failure."""
    caught: list[BaseException | None] = []

    def keep(failure: Failure) -> None:
        caught.append(failure.value)

    started.addErrback(keep)
    return caught


def refusal(started: Deferred[Endpoint]) -> EmbeddedUnavailable:
    """Why a start failed; consumes the failure."""
    (error,) = failures(started)
    assert isinstance(error, EmbeddedUnavailable)
    return error
