"""`mud-assistant trial` as its user runs it, with a second model and with a budget."""

from __future__ import annotations

from pathlib import Path

from mud_assistant.llm.testing import FakeOllama, HttpError, serve
from tests.live.command import reactor, run
from tests.live.test_trial_on_fakes import TWO_LINES, ollama, says

DEAD = "http://127.0.0.1:1"


def settings(folder: Path, text: str) -> str:
    """The folder, with these settings in it."""
    (folder / "assistant.toml").write_text(text)
    return str(folder)


def two_models(first: str, second: str) -> str:
    model = 'provider = "ollama"\nmodel = "sage"\nmax_attempts = 1\nurl = '
    return f'[model]\n{model}"{first}"\n[[fallback]]\n{model}"{second}"\n'


async def test_a_dead_first_model_is_stood_in_for_and_the_status_shows_both(tmp_path: Path) -> None:
    async with ollama(says("I am Sage.", "Books.")) as (fake, url):
        folder = settings(tmp_path, two_models(DEAD, url))
        result = await run(["trial"], TWO_LINES + b"/status\n", folder=folder)
    assert result.status == 0, result.err
    assert 'Sage says, "I am Sage."' in result.out
    assert 'Sage says, "Books."' in result.out
    assert "could not think" not in result.out
    assert len(fake.chats) == 2
    assert f"When that fails: Ollama at {url}" in result.err
    assert "cannot connect" in result.err
    for line in (
        f"{DEAD}: failed ",
        "cannot connect",
        f"{url}: answers normally",
        "Used today by all assistants: 2 calls",
    ):
        assert line in result.out
    assert "Traceback" not in result.out + result.err


async def test_a_first_model_that_dies_on_the_way_is_stood_in_for(tmp_path: Path) -> None:
    async with ollama([*says("I am Sage."), HttpError(500)]) as (first, url):
        second = FakeOllama(reactor, says("Books."))
        async with serve(second, reactor) as other:
            result = await run(["trial"], TWO_LINES, folder=settings(tmp_path, two_models(url, other)))
    assert result.status == 0, result.err
    assert 'Sage says, "I am Sage."' in result.out
    assert 'Sage says, "Books."' in result.out
    assert (len(first.chats), len(second.chats)) == (2, 1)


async def test_when_no_model_answers_the_first_cause_is_told(tmp_path: Path) -> None:
    result = await run(["trial"], b"Hello\n", folder=settings(tmp_path, two_models(DEAD, "http://127.0.0.1:2")))
    assert result.status == 2
    assert f"cannot connect to {DEAD}" in result.err
    assert "Traceback" not in result.err


async def test_a_budget_ends_in_character_with_the_cause_for_the_operator(tmp_path: Path) -> None:
    async with ollama(says("I am Sage.")) as (fake, url):
        folder = settings(tmp_path, "[budget.player]\ncalls = 1\n")
        result = await run(["trial", "--url", url], TWO_LINES + b"And now?\n/status\n", folder=folder)
    assert result.status == 0, result.err
    assert len(fake.chats) == 1
    assert result.out.count("Sage stifles a yawn") == 1
    assert result.out.count("(Sage was not asked: the calls of player:1 are used up for today") == 2
    assert "Used today by Visitor: 1 of 1 call" in result.out


async def test_a_mistake_in_the_second_fallback_is_told_with_its_line(tmp_path: Path) -> None:
    text = "[[fallback]]\nmodel = 'a'\n\n[[fallback]]\nmodle = 'b'\n"
    result = await run(["trial"], b"Hello\n", folder=settings(tmp_path, text))
    assert result.status == 2
    assert "assistant.toml, line 5: fallback[1].modle: there is no such setting" in result.err
