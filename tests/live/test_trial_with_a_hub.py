"""A model of a hub on loopback, through the real commands: asked for before it is fetched, told by setup and doctor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.surfaces.agreeing import require_agreement
from tests.live.command import run
from tests.llm.embedded.fake_hub import REPOSITORY, FakeHub, hub_on_loopback

NAME = f"hf:{REPOSITORY}:Q4_K_M"
COST = "Tiny-Q4_K_M.gguf of tiny/Tiny-GGUF is fetched once: 0 MB, about 1 minute at 10 MB/s"
TRIAL = ("trial", "--model", NAME)


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with hub_on_loopback() as told:
        yield told


def around(hub: FakeHub, folder: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(folder), "HF_ENDPOINT": hub.url, "no_proxy": "*"}


async def test_without_a_terminal_a_yes_on_the_command_line_is_needed(hub: FakeHub, tmp_path: Path) -> None:
    result = await run(TRIAL, b"", around(hub, tmp_path))
    assert result.status == 2
    assert f"{COST}; the hub names the licence apache-2.0. Give --yes" in result.err
    assert not (tmp_path / "mud-assistant").exists()


async def test_with_it_the_file_comes_with_progress_and_is_served(hub: FakeHub, tmp_path: Path) -> None:
    result = await run((*TRIAL, "--yes"), b"", around(hub, tmp_path))
    assert "fetching Tiny-Q4_K_M.gguf of tiny/Tiny-GGUF, once: 0 MB" in result.err
    assert "fetching the embedded model from 127.0.0.1: 100 %" in result.err
    assert "loading the embedded model ..." in result.err
    assert "the model file Tiny-Q4_K_M.gguf could not be loaded" in result.err  # it holds no numbers
    assert result.status == 2
    hub.asked.clear()
    again = await run(TRIAL, b"", around(hub, tmp_path))  # it is here: nothing is asked and nothing fetched
    assert "loading the embedded model ..." in again.err
    assert hub.asked == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (f"hf:{REPOSITORY}:Q8_0", "tiny/Tiny-GGUF has no Q8_0; it has: Q4_K_M"),
        ("hf:no/such:Q4_K_M", "127.0.0.1 has no repository no/such"),
        ("hf:no", "'hf:no' does not name a model of a hub: write hf:OWNER/REPO:QUANT"),
    ],
)
async def test_a_name_that_means_nothing_is_refused_before_anything_starts(
    hub: FakeHub, tmp_path: Path, name: str, told: str
) -> None:
    for command in ("trial", "game"):
        result = await run((command, "--model", name), b"", around(hub, tmp_path), str(tmp_path))
        assert result.status == 2
        assert told in result.err


@pytest.mark.parametrize(("answer", "agreed"), [("yes", True), ("Y", True), ("no", False), ("", False)])
def test_at_a_terminal_the_owner_is_asked_with_size_and_licence(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, *, agreed: bool
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return answer

    def require() -> None:
        require_agreement(NAME, {"HF_ENDPOINT": hub.url}, agreed=False, ask=ask, is_terminal=True)

    if agreed:
        require()
    else:
        with pytest.raises(AssistantError, match="was not fetched"):
            require()
    assert asked == [f"{COST}; the hub names the licence apache-2.0. Fetch it? (yes/no) "]


async def test_setup_asks_for_the_size_and_writes_the_name(hub: FakeHub, tmp_path: Path) -> None:
    given = f"embedded\nhf:{REPOSITORY}:q4_k_m\nyes\nno\nnone\nyes\n".encode()
    result = await run(("setup",), given, around(hub, tmp_path), str(tmp_path))
    assert "The first start fetches Tiny-Q4_K_M.gguf (0 MB" in result.out
    assert f'model = "{NAME}"' in (tmp_path / "assistant.toml").read_text()
    assert "unknown  model file: the first start fetches Tiny-Q4_K_M.gguf of tiny/Tiny-GGUF" in result.out


async def test_the_settings_refuse_a_name_that_means_nothing(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text('[model]\nmodel = "hf:nothing"\n')
    result = await run(("doctor",), b"", {}, str(tmp_path))
    assert "does not name a model of a hub" in result.out
    assert "line 2" in result.out


@pytest.mark.parametrize("is_begun", [False, True])
async def test_the_doctor_tells_what_is_used_what_is_missing_and_the_command(tmp_path: Path, *, is_begun: bool) -> None:
    models = tmp_path / "mud-assistant" / "models"
    work = models / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf.work"
    work.mkdir(parents=True)
    if is_begun:
        (work / "upstream.part").write_bytes(bytes(3_000_000))
    (tmp_path / "assistant.toml").write_text('[model]\nprovider = "embedded"\n')
    result = await run(("doctor",), b"", {"XDG_DATA_HOME": str(tmp_path)}, str(tmp_path))
    better, vectors = (
        next(line for line in result.out.splitlines() if f"model {what}" in line) for what in ("better", "vectors")
    )
    assert "Qwen2.5-Coder-1.5B-Instruct Q4_K_M is not there" in better
    assert better.endswith("by hand: python -m mud_assistant.llm.embedded.fetch --model-name better")
    assert ("3 MB are here" in better) is is_begun
    assert vectors.endswith("by hand: python -m mud_assistant.llm.embedded.fetch --model-name sentences")
