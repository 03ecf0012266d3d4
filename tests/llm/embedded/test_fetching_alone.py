"""A fetch without a server: at the lowest priority, and with the key of a hub where it is needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock

from mud_assistant.llm.embedded import fetch
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.progress import FetchProgress, Phase
from mud_assistant.llm.embedded.supervisor import Commands, EmbeddedModel
from tests.llm.embedded.processes import FakeProcesses
from tests.llm.embedded.rig import READY

HUB = "hf:tiny/Tiny-GGUF:Q4_K_M"
SECRET = "planted-key"


class Alone:
    """A model of which only the fetch is wanted."""

    def __init__(self, name: str) -> None:
        self.processes, self.progress = FakeProcesses(), list[FetchProgress]()
        self.model = EmbeddedModel(
            self.processes,
            Clock(),
            environment={"PATH": "/bin", "HF_TOKEN": SECRET, "HF_ENDPOINT": "https://mirror.example"},
            data_dir=Path("/data"),
            model_name=name,
            on_progress=self.progress.append,
            commands=Commands.of("python", gently=True),
        )


def test_it_fires_with_the_file_and_serves_nothing() -> None:
    alone = Alone("better")
    fetched = alone.model.fetch()
    child = alone.processes.latest
    assert child.command[-6:] == ("--gently", "--data-dir", "/data", "--model-name", "better", "--end-with-stdin")
    child.says({"progress": "download", "done_bytes": 5, "total_bytes": 10, "source": "parts"})
    child.says({"model": "/data/better.gguf"})
    assert fetched.result == Path("/data/better.gguf")
    assert [step.phase for step in alone.progress] == [Phase.DOWNLOAD]
    assert len(alone.processes.started) == 1
    assert child.pid is None


def test_a_fetch_that_fails_can_be_begun_again() -> None:
    alone = Alone("better")
    first = alone.model.fetch()
    alone.processes.latest.says({"error": "the connection ended too early"})
    alone.processes.latest.ends(status=1)
    first.addErrback(lambda failure: str(failure.trap(EmbeddedUnavailable)))
    second = alone.model.fetch()
    alone.processes.latest.says({"model": "/data/better.gguf"})
    assert second.result == Path("/data/better.gguf")
    assert len(alone.processes.started) == 2


def test_cancelling_ends_the_process() -> None:
    alone = Alone("better")
    fetched = alone.model.fetch()
    fetched.addErrback(lambda failure: failure.trap(CancelledError))
    fetched.cancel()
    assert alone.processes.latest.signals == ["TERM"]
    assert alone.processes.latest.pid is None


def test_the_key_of_a_hub_goes_to_the_process_that_fetches_from_it_alone() -> None:
    alone = Alone(HUB)
    started = alone.model.start()
    fetching = alone.processes.latest
    assert fetching.environment["HF_TOKEN"] == SECRET
    assert fetching.environment["HF_ENDPOINT"] == "https://mirror.example"
    fetching.says({"model": "/data/hub/tiny.gguf"})
    serving = alone.processes.latest
    assert serving is not fetching
    assert "HF_TOKEN" not in serving.environment
    serving.says(READY)
    assert started.result
    alone.model.stop()
    pinned = Alone("better")
    pinned.model.fetch().addErrback(lambda failure: failure.trap(EmbeddedUnavailable))
    assert "HF_TOKEN" not in pinned.processes.latest.environment
    pinned.model.stop()


def test_the_process_gives_way_to_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(os, "nice", given.append)
    monkeypatch.setenv(fetch.SOURCES_VARIABLE, "file")
    assert fetch.main(["--data-dir", str(tmp_path), "--gently"]) == 1
    assert given == [19]
    assert fetch.main(["--data-dir", str(tmp_path)]) == 1
    assert given == [19]
