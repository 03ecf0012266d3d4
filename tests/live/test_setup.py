"""`mud-assistant setup` as its user runs it: on pipes, and at a terminal."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.checks.journal import bindings
from mud_assistant.assistant.config.settings import read_settings
from mud_assistant.assistant.journal.files import create
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.surfaces.setup.thinking import unlisted
from mud_assistant.llm.testing import Call, FakeChat, RecordedRequest, Reply, Step, serve
from mud_assistant.tools.web.testing import FakeSearxng, FakeTavily
from tests.live.command import Result, reactor, run, start

KEY = "planted-0123456789-key"
HERE = str(Path(__file__).parents[2])
NOWHERE = "http://127.0.0.1:9/v1"
#: A public address, so that no name is looked up to judge it; a fake reader is all that hears of it.
PAGE = "https://93.184.215.14/"


def greets(request: RecordedRequest) -> Step:
    return Reply(calls=(Call("greet", {"name": "Anna"}),))


@asynccontextmanager
async def server(key: str | None = None) -> AsyncIterator[tuple[FakeChat, str]]:
    fake = FakeChat(reactor, greets, key, models=["owl", "sage"])
    async with serve(fake, reactor) as url:
        yield fake, f"{url}/v1"


async def setup(folder: Path, *answers: str, environment: dict[str, str] | None = None) -> Result:
    given = "".join(f"{answer}\n" for answer in answers).encode()
    result = await run(
        ["setup", "--page", PAGE], given, {"PYTHONPATH": HERE, **(environment or {})}, folder=str(folder)
    )
    assert KEY not in result.out + result.err
    assert "Traceback" not in result.err
    return result


def settings(folder: Path) -> dict[str, Any]:
    text = (folder / "assistant.toml").read_text()
    assert KEY not in text
    read_settings(folder / "assistant.toml", {})
    return tomllib.loads(text)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_a_model_with_a_key_in_a_file(tmp_path: Path) -> None:
    async with server(KEY) as (fake, url):
        result = await setup(tmp_path, "local", url, "yes", "file", KEY, "2", "no", "sage.journal", "no", "yes")
    assert result.status == 0, result
    assert settings(tmp_path) == {
        "model": {"provider": "local", "url": url, "key": "file:keys/local", "model": "sage"},
        "journal": {"file": "sage.journal"},
    }
    assert (tmp_path / "keys" / "local").read_text() == f"{KEY}\n"
    assert stat.S_IMODE((tmp_path / "keys" / "local").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert files(tmp_path) == ["assistant.toml", "keys/.gitignore", "keys/local"]
    assert "   1  owl\n   2  sage\n" in result.out
    assert "ok       model tools: sage calls tools" in result.out
    assert all(request.authorization == f"Bearer {KEY}" for request in fake.requests)


async def test_the_example_of_the_help(tmp_path: Path) -> None:
    async with server() as (_, url):
        result = await setup(tmp_path, "local", url, "no", "owl", "no", "hamlet.journal", "no", "yes")
    assert result.status == 0, result
    assert settings(tmp_path)["model"] == {"provider": "local", "url": url, "model": "owl"}


async def test_a_key_in_the_environment_is_only_named(tmp_path: Path) -> None:
    async with server(KEY) as (_, url):
        answers = ("local", url, "yes", "env", "THE_KEY", "", "no", "none", "yes")
        result = await setup(tmp_path, *answers, environment={"THE_KEY": KEY})
    assert result.status == 0, result
    assert settings(tmp_path)["model"]["key"] == "env:THE_KEY"
    assert files(tmp_path) == ["assistant.toml"]


async def test_the_web_with_two_providers_in_order_and_what_each_needs(tmp_path: Path) -> None:
    tavily, searxng = FakeTavily(reactor, key=KEY), FakeSearxng(reactor)
    tavily.pages = {PAGE: "An example."}
    async with server() as (_, url), serve(tavily, reactor) as at, serve(searxng, reactor) as engine:
        (tmp_path / "assistant.toml").write_text(f"[web.providers.tavily]\nurl = '{at}'\n")
        web = ("yes", "searxng, tavily", "tavily", engine, "yes", "file", KEY)
        result = await setup(tmp_path, "yes", "local", url, "no", "owl", *web, "none", "yes")
    assert result.status == 0, result
    assert settings(tmp_path)["web"] == {
        "search_provider": ["searxng", "tavily"],
        "read_provider": ["tavily"],
        "providers": {"searxng": {"url": engine}, "tavily": {"url": at, "key": "file:keys/tavily"}},
    }
    for part in ("search searxng: searxng answers", "search tavily: tavily answers", "read tavily: tavily reads"):
        assert f"ok       {part}" in result.out


OLD = """\
# The hamlet.
[assistant]
name = "Willow"   # our own

[model]
provider = "local"
url = "{url}"
temperature = 0.5
"""


async def test_what_is_there_is_proposed_and_what_is_not_asked_for_stays(tmp_path: Path) -> None:
    async with server() as (_, url):
        old = OLD.format(url=url)
        (tmp_path / "assistant.toml").write_text(old)
        result = await setup(tmp_path, "yes", "", "", "", "sage", "", "none", "")
    assert result.status == 0, result
    assert (tmp_path / "assistant.toml").read_text() == f'{old}model = "sage"\n'


@pytest.mark.parametrize("answers", [("no",), ("yes", "", "", "", "sage", "", "none", "no"), ("yes", ""), ()])
async def test_nothing_is_written_without_a_yes_at_the_end(tmp_path: Path, answers: tuple[str, ...]) -> None:
    async with server() as (_, url):
        old = OLD.format(url=url)
        (tmp_path / "assistant.toml").write_text(old)
        result = await setup(tmp_path, *answers)
    assert result.status == 2
    assert result.err.endswith("; the settings were not written\n")
    assert (tmp_path / "assistant.toml").read_text() == old
    assert files(tmp_path) == ["assistant.toml"]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (("skynet",), "choose one of: auto, embedded, ollama, local"),
        (("local", KEY), "give the address of a server"),
        (("local", NOWHERE, "yes", "env", KEY), "give the name of the environment variable, not the key"),
        (("local", NOWHERE, "yes", "file", "short"), "a key has from 6"),
        (("local", NOWHERE, "yes", "file", f"{KEY} {KEY}"), "a key is one word"),
        (("local", NOWHERE, "no", ""), "the model's name is needed here"),
        (("local", NOWHERE, "no", "owl", "yes", "google"), "choose from: duckduckgo, tavily"),
    ],
)
async def test_a_wrong_answer_ends_a_script_with_its_reason(
    tmp_path: Path, answers: tuple[str, ...], said: str
) -> None:
    result = await setup(tmp_path, *answers)
    assert result.status == 2
    assert said in result.err
    assert files(tmp_path) == []


async def test_a_file_with_a_mistake_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text("[model]\nprovidor = 1\n")
    result = await setup(tmp_path, "yes")
    assert result.status == 2
    assert "mend this first" in result.err
    assert "line 2: model.providor" in result.err


async def test_a_key_is_not_kept_for_another_server(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text(f"[model]\nprovider = 'local'\nurl = '{NOWHERE}'\nkey = 'env:THE_KEY'\n")
    async with server() as (fake, url):
        result = await setup(tmp_path, "yes", "local", url, "yes", "keep", environment={"THE_KEY": KEY})
        assert fake.requests == []
    assert result.status == 2
    assert "choose one of: file, env" in result.err


async def test_a_key_that_is_entered_anew_may_go_to_the_new_server(tmp_path: Path) -> None:
    create(tmp_path / "sage", SCHEMA)
    reference = f"file:{tmp_path}/keys/local"
    with closing(sqlite3.connect(tmp_path / "sage")) as db, db:
        db.execute("INSERT INTO key_bindings VALUES (?, 'https://elsewhere.example:443', 1.0)", (reference,))
    async with server(KEY) as (_, url):
        result = await setup(tmp_path, "local", url, "yes", "file", KEY, "owl", "no", "sage", "no", "yes")
    assert result.status == 0, result
    assert bindings(tmp_path / "sage", 0.0) == {KeyBinding.of(reference, url)}


async def test_what_the_doctor_finds_wrong_is_the_exit_status(tmp_path: Path) -> None:
    result = await setup(tmp_path, "local", NOWHERE, "no", "owl", "no", "none", "yes")
    assert result.status == 1
    assert "The server did not say which models it has" in result.out
    assert "wrong    model server: cannot connect" in result.out
    assert settings(tmp_path)["model"]["model"] == "owl"


async def test_a_file_that_somebody_else_changes_meanwhile_is_left_to_him(tmp_path: Path) -> None:
    command = start("setup", environment={"PYTHONPATH": HERE}, folder=str(tmp_path))
    pipe: Any = command.transport
    pipe.write(f"local\n{NOWHERE}\nno\nowl\nno\nnone\n".encode())
    await command.saw("Write this")
    (tmp_path / "assistant.toml").write_text("# mine\n")
    pipe.write(b"yes\n")
    result = await command.ended
    assert result.status == 2
    assert "was changed by somebody else meanwhile" in result.err
    assert (tmp_path / "assistant.toml").read_text() == "# mine\n"


def on_the_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


async def test_at_a_terminal_a_key_is_not_shown_and_a_wrong_answer_is_asked_for_again(tmp_path: Path) -> None:
    async with server(KEY) as (_, url):
        command = start("setup", environment={"PYTHONPATH": HERE}, folder=str(tmp_path), terminal=True)
        terminal: Any = command.transport
        for question, answer in (
            ("Provider", "skynet"),
            ("choose one of", "local"),
            ("Address", url),
            ("want a key?", "yes"),
            ("kept?", "file"),
            ("it is not shown", KEY),
            ("Model (its", "owl"),
            ("the web?", "no"),
            ("Journal", "none"),
            ("Write this", "yes"),
        ):
            await command.saw(question)
            if answer == KEY:
                await command.saw("not shown): ")
                assert KEY not in on_the_line(terminal.pid)
            terminal.write(f"{answer}\n".encode())
        result = await command.ended
    assert result.status == 0, result
    assert KEY not in result.out + result.err
    assert (tmp_path / "keys" / "local").read_text() == f"{KEY}\n"


@pytest.mark.parametrize("where", ["Provider", "it is not shown", "Write this"])
async def test_ctrl_c_leaves_nothing(tmp_path: Path, where: str) -> None:
    command = start("setup", environment={"PYTHONPATH": HERE}, folder=str(tmp_path), terminal=True)
    terminal: Any = command.transport
    answers = ["local", NOWHERE, "yes", "file", KEY, "owl", "no", "none"]
    questions = ["Provider", "Address", "want a key?", "kept?", "it is not shown", "Model", "the web?", "Journal"]
    for question, answer in zip(questions, answers, strict=True):
        if question == where:
            break
        await command.saw(question)
        terminal.write(f"{answer}\n".encode())
    await command.saw(where)
    os.kill(terminal.pid, signal.SIGINT)
    result = await command.ended
    assert result.status == 130, result
    assert "left; the settings were not written" in result.out + result.err
    assert KEY not in result.out
    assert files(tmp_path) == []


async def test_a_model_that_the_server_does_not_list_is_asked_for_again(tmp_path: Path) -> None:
    async with server() as (_, url):
        command = start(
            "setup",
            "--page",
            PAGE,
            environment={"PYTHONPATH": HERE, "TERM": "xterm"},
            folder=str(tmp_path),
            terminal=True,
        )
        transport: Any = command.transport
        for question, answer in (
            ("Provider", "local"),
            ("Address of the server", url),
            ("want a key", "no"),
            ("Model (", "sgae"),
            ("the server lists no such model; the closest is sage", "sage"),
        ):
            await command.saw(question)
            transport.write(f"{answer}\r".encode())
        await command.saw("web", after="closest is sage")
        transport.write(b"\x03")
        await command.ended


async def test_a_script_is_told_which_model_the_server_has(tmp_path: Path) -> None:
    async with server() as (_, url):
        result = await setup(tmp_path, "local", url, "no", "sgae", "no", "none", "yes")
    assert result.status == 2, result
    assert "the server lists no such model; the closest is sage" in result.err
    assert files(tmp_path) == []


def test_the_closest_names_are_those_that_look_like_it() -> None:
    names = ["openai/gpt-5", "openai/gpt-5-mini", "anthropic/claude-opus", "qwen3:4b", "llama3.1:8b"]
    assert "openai/gpt-5, openai/gpt-5-mini" in unlisted("GPT-5", names)
    assert "the closest is llama3.1:8b." in unlisted("lama3.1:8b", names)
    assert "claude-opus" in unlisted("claude-opsu", names)
    assert "none is called like it" in unlisted("zzz", names)


async def test_finding_by_meaning_is_offered_with_its_size_and_written(tmp_path: Path) -> None:
    async with server() as (_, url):
        answers = ("local", url, "no", "owl", "no", "hamlet.journal", "yes", "yes")
        result = await setup(tmp_path, *answers, environment={"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)})
        assert settings(tmp_path)["memory"] == {"vectors": "embedded"}
        again = ("yes", "", "", "", "owl", "no", "", "no", "yes")
        await setup(tmp_path, *again, environment={"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)})
    assert "(downloads 83 MB, keeps 25 MB)" in result.out
    assert "in a game world 73 and not 68, in long talks 53 and not 47" in result.out
    assert "unknown  memory vectors: the first memory fetches all-MiniLM-L6-v2" in result.out
    assert settings(tmp_path)["memory"] == {"vectors": "off"}
