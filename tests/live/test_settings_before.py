"""The programs with a settings file of the version before: it goes on working, and they say what the names are now."""

from __future__ import annotations

from pathlib import Path

from llm.testing import FakeOllama, HttpError, serve, simple_sage
from tests.live.command import reactor, run

#: The product of this checkout, wherever the command runs.
HERE = {"PYTHONPATH": str(Path(__file__).parents[2])}
SETTINGS = """
[model]
provider = "ollama"
url = "{url}"
model = "sage"
[assistant]
excuse = "hums."
needs = {{ move = 0 }}
"""
RENAMED = (
    "assistant.excuse is now called assistant.fallback_line",
    "assistant.needs is now called assistant.required_permission",
)


def write(folder: Path, url: str) -> None:
    (folder / "assistant.toml").write_text(SETTINGS.format(url=url))


async def test_the_doctor_says_what_settings_are_called_now(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, simple_sage), reactor) as url:
        write(tmp_path, url)
        result = await run(["doctor"], b"", HERE, folder=str(tmp_path))
    (line,) = [line for line in result.out.splitlines() if "settings:" in line]
    assert line == f"ok       settings: assistant.toml is valid; {'; '.join(RENAMED)}"


async def test_a_trial_uses_them_and_logs_what_they_are_called_now(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, lambda _: HttpError(400, "broken")), reactor) as url:
        write(tmp_path, url)
        result = await run(["trial", "--log", "log"], b"Hello Sage\n", HERE, folder=str(tmp_path))
    assert "Sage hums." in result.out, result
    log = (tmp_path / "log").read_text()
    assert [sentence for sentence in RENAMED if log.count(sentence) != 1] == []
