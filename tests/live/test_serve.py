"""`mud-assistant serve` and `trial --page` as their user has them: one address, no trace of it in the log, Ctrl-C."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from tests.live.command import reactor, run, start

OPEN = "is good for one log-in"


def hello(_: RecordedRequest) -> Step:
    return Reply(calls=(Call("say", {"text": "Good day."}),))


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


async def end(command: Any) -> Any:
    command.transport.signalProcess("INT")
    return await command.ended


async def test_an_assistant_is_served_and_its_journal_looked_at_afterwards(tmp_path: Path) -> None:
    journal, log = str(tmp_path / "sage.journal"), tmp_path / "serve.log"
    async with serve(FakeOllama(reactor, hello), reactor) as url:
        living = start(
            "serve", "--url", url, "--provider", "ollama", "--model", "sage", "--journal", journal, "--port", "0",
            "--log", str(log), folder=str(tmp_path),
        )  # fmt: skip
        await living.saw("thinks with")
        served = await end(living)
    (token,) = re.findall(r"http://127\.0\.0\.1:\d+/#token=(\S+)", served.err)
    assert served.status == 0
    assert token not in log.read_text()
    looking = start("serve", "--journal", journal, "--read-only", "--port", "0", folder=str(tmp_path))
    await looking.saw("only looked at")
    looked = await end(looking)
    assert (looked.status, OPEN in looked.err) == (0, True)


async def test_it_says_what_is_missing_and_teaches_by_examples(tmp_path: Path) -> None:
    missing = await run(["serve", "--read-only"], b"", folder=str(tmp_path))
    assert (missing.status, "--journal FILE" in missing.err) == (78, True)
    absent = await run(["serve", "--read-only", "--journal", "none"], b"", folder=str(tmp_path))
    assert (absent.status, "there is no journal" in absent.err) == (78, True)
    help_text = await run(["serve", "--help"], b"", folder=str(tmp_path))
    assert "examples:" in help_text.out
    assert "--read-only" in help_text.out


async def test_a_trial_has_its_page_beside_it_and_keeps_nothing(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, hello), reactor) as url:
        arguments = ["trial", "--url", url, "--provider", "ollama", "--model", "sage", "--page", "0"]
        ended = await run(arguments, b"Hello Sage\n/quit\n", folder=str(tmp_path))
    assert (ended.status, OPEN in ended.err) == (0, True)
    assert "Good day." in ended.out
    assert is_empty(tmp_path)
