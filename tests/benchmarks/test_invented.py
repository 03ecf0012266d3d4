"""What counts as invented, and what as taken from an example; and the benchmark as its user runs it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.invented import ITEMS, Answer, items_of, judge_answer, told
from benchmarks.talk_stage import Item
from mud_assistant.llm.testing import Call, FakeOllama, OllamaModel, Reply, serve
from tests.live.command import reactor, start

FRONT = ["What is on the samovar?", "Its tap looks like a newt, if you bend down to it."]


def judge(said: str, item: Item | None = None) -> Answer:
    turn = {"words": [{"how": "say", "text": said}]}
    return judge_answer(item or items_of(ITEMS, voice=False)[0], {"turns": [turn], "front": FRONT})


@pytest.mark.parametrize(
    ("said", "invented"),
    [
        ("Forty nest boxes and a grain bin.", ()),
        ("There is no table here.", ()),
        ("I keep a candle beside the grain bin, and two lamps.", ("candle", "lamp")),
    ],
)
def test_a_thing_that_no_text_names_is_invented_unless_it_is_denied(said: str, invented: tuple[str, ...]) -> None:
    assert judge(said).invented == invented


def test_a_noun_or_five_words_of_an_example_are_found() -> None:
    assert judge("I own a samovar.").nouns == ("samovar",)
    assert judge("Its tap looks like a feather.").copied
    assert not judge("I keep pigeons on the roof.").copied


def test_what_the_character_says_in_examples_of_its_own_is_known() -> None:
    own = items_of(ITEMS, voice=True)[0]
    own = replace(own, written={**own.written, "voice": {"Tea?": "The samovar is on."}})
    assert judge("The samovar is on.", own).nouns == ()


def test_the_last_line_holds_the_shares_of_the_lines_that_were_answered() -> None:
    answers = [Answer("a", "A lamp.", ("lamp",), (), False), Answer("b", "Yes.", (), (), False)]
    found = json.loads(told([*answers, Answer("c", "", (), (), False)], [1.0], [9]).splitlines()[-1])
    assert (found["lines"], found["answered"], found["invented"], found["of_examples"]) == (3, 2, 0.5, 0)


async def test_it_asks_with_tools_when_told_to(tmp_path: Path) -> None:
    def script(request: Any) -> Reply:
        assert request.body["tools"]
        return Reply(calls=(Call("say", {"text": "There is a candle."}),))

    models = {"sage:0.5b": OllamaModel()}
    async with serve(FakeOllama(reactor, script, models), reactor) as url:
        given = ("--tools", "--sample", "1", "--answers", str(tmp_path / "answers.jsonl"))
        model = ("--provider", "ollama", "--url", url, "--model", "sage:0.5b")
        # Without the embedding model, which the benchmark takes where it was fetched: no model is judged here.
        nowhere = {"XDG_DATA_HOME": str(tmp_path / "nothing")}
        line = (*given, "--", *model)
        result = await start(*line, module="benchmarks.invented", environment=nowhere, folder=str(Path.cwd())).ended
    assert json.loads(result.out.splitlines()[-1])["invented"] == 1.0, result.err
