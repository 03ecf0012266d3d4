"""The first thing anyone does with the product, on the real embedded model."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mud_assistant.llm.embedded.fetch import SOURCES_VARIABLE
from mud_assistant.llm.testing import serve
from mud_assistant.tools.web.testing import FakeSearxng, known
from tests.live.command import Result, reactor, run, start

pytestmark = [
    pytest.mark.slow,  # loads the real model and lets it think: seconds for each answer on two cores
    pytest.mark.usefixtures("model_file"),
]
#: No Ollama that happens to run on this machine takes the embedded model's place.
EMBEDDED = ("trial", "--provider", "embedded", "--model", "small")
#: What only the processes of these trials have in their environment: other tests may run model servers beside them.
MARK = uuid4().hex
SOURCES = {SOURCES_VARIABLE: "file,parts", "STARTED_BY": MARK}


def answers(result: Result) -> list[list[str]]:
    """What was said after each line; the sentences of one answer may be said one by one."""
    stretches = re.split(r"^> ", result.out, flags=re.MULTILINE)[1:]
    return [re.findall(r'^Sage says(?: to you)?, "(.+)', stretch, re.MULTILINE) for stretch in stretches]


async def test_sage_answers_both_lines_with_words_of_the_model() -> None:
    result = await run(EMBEDDED, b"Hello Sage, who are you?\nWhat can you see here?\n", SOURCES)
    assert result.status == 0, result.err
    assert [bool(said) for said in answers(result)] == [True, True], result.out
    assert "loading the embedded model" in result.err
    assert "Sage thinks with the embedded model" in result.err
    assert children_of_trials() == []


async def test_two_easy_lines_make_the_right_calls() -> None:
    """Right tools only where a model this small is reliable: a greeting is speech, a whisper a whisper."""
    given = b"/trace\nGood morning, Sage!\n/whisper Do you like it here?\n"
    result = await run(EMBEDDED, given, SOURCES)
    assert any(answers(result)), result.out
    assert "Sage whispers to you" in result.out, result.out
    assert "tokens in" in result.out


async def test_three_of_three_questions_are_answered_from_what_was_found(tmp_path: Path) -> None:
    """Facts that nobody could know without searching, of the service that people can start themselves."""
    lines = [
        ("Sage, how tall is the Meriden Lighthouse?", "61"),
        ("Who invented the steam whisk?", "Barlow"),
        ("What is the capital of Velmora?", "Quillhaven"),
    ]
    async with serve(FakeSearxng(reactor, known), reactor) as url:
        (tmp_path / "assistant.toml").write_text(
            "[assistant]\nrun_seconds = 600\n[web]\nsearch_provider = 'searxng'\n"
            f"[web.providers.searxng]\nurl = '{url}'\n"
        )
        given = "".join(f"{line}\n" for line, _ in lines).encode()
        result = await run([*EMBEDDED, "--config", str(tmp_path / "assistant.toml")], given, SOURCES)
    said = answers(result)
    # A very small model may write a name that it never met in two words.
    told = ["".join(" ".join(words).split()).casefold() for words in said]
    assert [fact.casefold() in one for one, (_, fact) in zip(told, lines, strict=True)] == [True] * 3, result.out


async def test_ctrl_c_while_the_model_loads_leaves_nothing_behind() -> None:
    command = start(*EMBEDDED, environment=SOURCES)
    await command.saw("loading the embedded model")
    transport: Any = command.transport
    transport.signalProcess(signal.SIGINT)
    result = await command.ended
    assert result.status == 0
    assert "Traceback" not in result.err
    assert children_of_trials() == []


async def test_a_file_that_is_no_model_is_told_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "not-a-model.gguf"
    path.write_bytes(b"GGUF and then nothing")
    result = await run([*EMBEDDED, "--model", str(path)], b"Hello\n", SOURCES)
    assert result.status == 2
    assert "three ways on" in result.err
    assert "Traceback" not in result.err


def children_of_trials() -> list[str]:
    """The command lines of model servers that outlived their trial."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                ours = MARK.encode() in (entry / "environ").read_bytes()
            except OSError:
                continue
            if ours and "mud_assistant.llm.embedded.server" in line:
                found.append(line)
    return found
