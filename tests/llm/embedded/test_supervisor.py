from __future__ import annotations

import sys
from pathlib import Path

import pytest
from twisted.internet.defer import CancelledError
from twisted.python.failure import Failure

from mud_assistant.llm.embedded.progress import FetchProgress, Phase
from mud_assistant.llm.embedded.server import KEY_VARIABLE
from tests.llm.embedded.rig import READY, Rig, done, failures, refusal


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_the_owners_file_is_served_without_a_fetch(rig: Rig) -> None:
    endpoint = rig.ready()

    process = rig.processes.latest
    assert process.command[:5] == ("serve", "--model", "/models/own.gguf", "--port", "0")
    assert (endpoint.url, endpoint.port, endpoint.model) == ("http://127.0.0.1:4711", 4711, "tiny")
    assert endpoint.own_template
    assert rig.progress == [FetchProgress(Phase.START)]
    assert rig.clock.getDelayedCalls() == []


def test_the_key_is_told_to_the_child_and_to_nobody_else(rig: Rig) -> None:
    endpoint = rig.ready()

    process = rig.processes.latest
    assert process.environment[KEY_VARIABLE] == endpoint.key
    assert len(endpoint.key) >= 32
    assert endpoint.key not in repr(endpoint)
    assert endpoint.key not in " ".join(process.command)
    assert "planted" not in process.environment.values()
    assert process.environment["OMP_WAIT_POLICY"] == "PASSIVE"


def test_the_model_is_fetched_first_and_the_progress_told() -> None:
    rig = Rig(own_file=None)
    started = rig.model.start()
    fetch = rig.processes.latest
    assert fetch.command == ("fetch", "--data-dir", "/data", "--end-with-stdin")

    fetch.says({"note": "trying parts"})
    fetch.says({"progress": "download", "done_bytes": 5, "total_bytes": 10, "source": "parts"})
    fetch.says({"progress": "odd", "done_bytes": 5, "total_bytes": 10, "source": "parts"})
    fetch.says({"model": "/data/tiny.gguf"})
    rig.processes.latest.says(READY)

    assert done(started).model == "tiny"
    assert rig.processes.latest.command[2] == "/data/tiny.gguf"
    assert rig.progress[0] == FetchProgress(Phase.NOTE, note="trying parts")
    assert rig.progress[1].fraction == 0.5
    assert rig.progress[2:] == [FetchProgress(Phase.START)]


def test_nothing_is_fetched_where_nothing_could_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    rig = Rig(own_file=None)
    assert "pip install 'mud-assistant[embedded]'" in str(refusal(rig.model.start()))
    assert rig.processes.started == []


def test_a_fetch_may_take_for_ever_while_it_gets_on() -> None:
    rig = Rig(own_file=None)
    started = rig.model.start()

    for done_bytes in range(100):
        rig.clock.advance(119)
        rig.processes.latest.says({"progress": "download", "done_bytes": done_bytes, "total_bytes": 99, "source": "x"})

    assert not started.called
    rig.clock.advance(121)
    assert "said nothing new" in refusal(started).cause


def test_a_fetch_that_says_the_same_again_stands_still() -> None:
    rig = Rig(own_file=None)
    started = rig.model.start()

    for _ in range(3):
        rig.processes.latest.says({"progress": "download", "done_bytes": 1, "total_bytes": 99, "source": "x"})
        rig.clock.advance(60)

    assert "said nothing new" in refusal(started).cause
    assert rig.processes.latest.signals == ["TERM"]


def test_the_childs_own_error_is_the_cause_and_the_ways_on_are_named() -> None:
    rig = Rig(own_file=None)
    started = rig.model.start()

    rig.processes.latest.says({"error": "the disk is full", "see_stderr": False})
    rig.processes.latest.ends(1)

    error = refusal(started)
    assert error.cause == "the disk is full"
    for way in ("Ollama", "--provider", "--key env:NAME", "--model FILE"):
        assert way in str(error)
    assert len(rig.processes.started) == 1


def test_the_librarys_words_are_added_when_the_child_points_to_them(rig: Rig) -> None:
    started = rig.model.start()

    rig.processes.latest.says({"error": "it could not be loaded", "see_stderr": True})
    rig.crash()

    assert refusal(started).cause == "it could not be loaded (GGML_ASSERT failed)"


def test_an_abort_before_it_is_ready_is_told_with_its_last_words(rig: Rig) -> None:
    started = rig.model.start()

    rig.crash()

    assert refusal(started).cause.endswith("was ended by signal 6: GGML_ASSERT failed")


def test_a_server_that_is_not_ready_in_time_is_ended(rig: Rig) -> None:
    started = rig.model.start()

    rig.clock.advance(120)

    assert "120 seconds" in refusal(started).cause
    assert rig.processes.latest.signals == ["TERM"]


def test_a_python_that_cannot_be_started_is_told(rig: Rig) -> None:
    rig.processes.fault = FileNotFoundError(2, "No such file or directory")

    assert "serve could not be started" in refusal(rig.model.start()).cause
    assert rig.clock.getDelayedCalls() == []


def test_after_a_failed_start_it_can_be_started_again(rig: Rig) -> None:
    started = rig.model.start()
    rig.crash()
    refusal(started)

    assert rig.ready().model == "tiny"
    with pytest.raises(RuntimeError):
        rig.model.start()


def test_cancelling_the_start_ends_the_child_first(rig: Rig) -> None:
    started = rig.model.start()
    rig.processes.latest.obeys = frozenset({"KILL"})

    caught = failures(started)
    started.cancel()
    assert len(caught) == 0
    rig.clock.advance(3)

    assert rig.processes.latest.signals == ["TERM", "KILL"]
    assert [type(error) for error in caught] == [CancelledError]
    assert rig.clock.getDelayedCalls() == []


@pytest.mark.parametrize("own_file", [None, Path("/own.gguf")])
def test_stopping_during_the_start_cancels_it_and_leaves_no_child(own_file: Path | None) -> None:
    rig = Rig(own_file=own_file)
    started = rig.model.start()

    stopped = rig.model.stop()

    assert stopped.called
    assert [type(error) for error in failures(started)] == [CancelledError]
    assert rig.processes.latest.pid is None
    assert len(rig.processes.started) == 1


def test_a_stop_that_is_not_waited_for_is_cancelled_and_no_failure(rig: Rig) -> None:
    rig.ready()
    rig.processes.latest.obeys = frozenset({"KILL"})
    stopped = rig.model.stop()
    assert not stopped.called

    stopped.cancel()

    errors: list[Failure] = []
    stopped.addErrback(errors.append)
    assert [error.type for error in errors] == [CancelledError]
    rig.clock.advance(1000)
    assert rig.processes.latest.pid is None


def test_stop_ends_the_server_for_good(rig: Rig) -> None:
    rig.ready()

    assert rig.model.stop().called
    assert rig.model.stop().called

    rig.clock.advance(1000)
    assert len(rig.processes.started) == 1
    assert (rig.restarted, rig.lost) == ([], [])
