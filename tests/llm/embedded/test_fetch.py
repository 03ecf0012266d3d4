from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request

import pytest

from mud_assistant.llm.embedded.child import child_environment
from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetch import SOURCES_VARIABLE, fetch, source_order
from mud_assistant.llm.embedded.fetching.models import default_data_dir
from mud_assistant.llm.embedded.fetching.opener import HttpAnswer
from tests.llm.embedded.stage import CONTENT, Stage

#: A fetch of the small model of the test, as a process of its own.
SCRIPT = """
import json, sys
from pathlib import Path
from mud_assistant.llm.embedded import fetch
from mud_assistant.llm.embedded.fetching import models
pins = json.loads(sys.argv[1])
parts = tuple(models.Part(**part) for part in pins.pop("parts"))
fetch.DEFAULT_MODEL = models.ModelFile(**pins, parts=parts)
sys.exit(fetch.main(sys.argv[2:]))
"""
#: A pip that says where it is and then never ends.
ENDLESS_PIP = """
import os, sys, time
fifo = os.open(os.environ["FIFO"], os.O_WRONLY)
os.write(fifo, b"here")
while True:
    time.sleep(60)
"""


def offline(_request: Request, _timeout_seconds: float) -> HttpAnswer:
    raise URLError(OSError(101, "Network is unreachable"))


def start(stage: Stage, environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    pins = json.dumps({**vars_of(stage.model), "parts": [vars_of(part) for part in stage.model.parts]})
    return subprocess.Popen(
        [sys.executable, "-P", "-c", SCRIPT, pins, "--data-dir", str(stage.data_dir), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment(environment),
    )


def vars_of(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__slots__}  # type: ignore[attr-defined]  # a slotted class


def last(output: str) -> dict[str, object]:
    line: dict[str, object] = json.loads(output.splitlines()[-1])
    return line


@pytest.fixture
def hanging(stage: Stage, tmp_path: Path) -> dict[str, str]:
    """An environment in which pip hangs, after it wrote into a fifo."""
    package = tmp_path / "path" / "pip"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(ENDLESS_PIP)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    extra = {"PYTHONPATH": str(package.parent), "FIFO": str(fifo), SOURCES_VARIABLE: "file,parts"}
    return stage.environment | extra


def test_the_sources_are_tried_in_the_given_order() -> None:
    assert source_order(" parts, file ") == ("parts", "file")


@pytest.mark.parametrize("text", ["", ",", "file,torrent"])
def test_an_unknown_source_is_named_as_the_owners_mistake(text: str) -> None:
    with pytest.raises(SourceFailed, match=SOURCES_VARIABLE):
        source_order(text)


def test_the_default_folder_is_the_owners() -> None:
    assert default_data_dir().name == "models"
    assert default_data_dir().is_absolute()


def test_a_trusted_file_is_taken_as_it_is(stage: Stage) -> None:
    stage.store().path.write_bytes(CONTENT)

    path = fetch(stage.store(), ("file", "upstream", "parts"), {}, offline)

    assert path == stage.store().path
    assert stage.notes() == []


def test_the_next_source_is_tried_with_a_note(stage: Stage) -> None:
    path = fetch(stage.store(), ("file", "upstream", "parts"), stage.environment, offline)

    assert path.read_bytes() == CONTENT
    assert stage.notes() == [
        "fetching Tiny, once: 0 MB, about 1 minute at 10 MB/s",
        "upstream: Network is unreachable; trying parts",
    ]


def test_a_file_that_is_not_the_pinned_one_is_replaced(stage: Stage) -> None:
    stage.store().path.write_bytes(CONTENT[::-1])

    path = fetch(stage.store(), ("file", "parts"), stage.environment, offline)

    assert path.read_bytes() == CONTENT


def test_the_error_names_every_source_and_what_to_do(stage: Stage) -> None:
    stage.store().path.write_bytes(b"foreign")

    with pytest.raises(SourceFailed, match=r"not the pinned file; upstream: Network is unreachable.*start again"):
        fetch(stage.store(), ("file", "upstream"), {}, offline)

    assert stage.store().path.read_bytes() == b"foreign"


def test_the_process_ends_with_the_path_of_the_model(stage: Stage) -> None:
    with start(stage, stage.environment | {SOURCES_VARIABLE: "file,parts"}) as process:
        output, _ = process.communicate()

    assert process.returncode == 0
    assert last(output) == {"model": str(stage.data_dir / "tiny.gguf")}


def test_the_process_ends_with_one_error_line(stage: Stage) -> None:
    with start(stage, stage.environment | {SOURCES_VARIABLE: "file"}) as process:
        output, _ = process.communicate()

    assert process.returncode == 1
    assert "not there yet" in str(last(output)["error"])


def test_a_second_process_waits_for_the_first(stage: Stage) -> None:
    with stage.store().locked(), start(stage, stage.environment | {SOURCES_VARIABLE: "file"}) as process:
        assert process.stdout is not None
        assert "another process" in json.loads(process.stdout.readline())["note"]
        stage.store().path.write_bytes(CONTENT)
        assert json.loads(process.stdout.readline())["source"] == "another process"
        process.terminate()

    with start(stage, stage.environment | {SOURCES_VARIABLE: "file"}) as process:
        output, _ = process.communicate()
    assert "model" in last(output)


def test_two_processes_at_once_both_get_the_file(stage: Stage) -> None:
    environment = stage.environment | {SOURCES_VARIABLE: "file,parts"}

    with start(stage, environment) as one, start(stage, environment) as two:
        outputs = [process.communicate()[0] for process in (one, two)]

    assert [last(output) for output in outputs] == [{"model": str(stage.data_dir / "tiny.gguf")}] * 2
    assert (stage.data_dir / "tiny.gguf").read_bytes() == CONTENT


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_pip(stage: Stage, hanging: dict[str, str], number: signal.Signals) -> None:
    with start(stage, hanging) as process, Path(hanging["FIFO"]).open("rb") as fifo:
        assert fifo.read(4) == b"here"
        process.send_signal(number)

        assert fifo.read() == b""  # pip has gone, and its end of the pipe with it
        process.communicate()

    assert process.returncode == 128 + number


def test_it_ends_itself_and_pip_when_its_stdin_is_closed(stage: Stage, hanging: dict[str, str]) -> None:
    with start(stage, hanging, "--end-with-stdin") as process, Path(hanging["FIFO"]).open("rb") as fifo:
        assert fifo.read(4) == b"here"
        process.communicate()

        assert fifo.read() == b""

    assert process.returncode == 128 + signal.SIGTERM


def test_what_had_come_is_kept_when_it_is_ended(stage: Stage, hanging: dict[str, str]) -> None:
    kept = stage.store().work / "sample-part1-0.9.0.whl"
    kept.parent.mkdir()
    wheel = stage.links / "sample_part1-0.9.0-py3-none-any.whl"
    kept.write_bytes(wheel.read_bytes())
    with start(stage, hanging) as process, Path(hanging["FIFO"]).open("rb") as fifo:
        fifo.read(4)
        process.terminate()
        process.communicate()
    wheel.unlink()

    path = fetch(stage.store(), ("file", "parts"), stage.environment, offline)

    assert path.read_bytes() == CONTENT
