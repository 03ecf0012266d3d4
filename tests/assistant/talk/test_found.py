"""Which hits of a search a small model is shown, and that nothing is made of hits that have nothing to do with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mud_assistant.assistant.loop.talk.found import FOUND_NOTHING, fits
from mud_assistant.llm.testing import FakeChat, Reply, serve
from mud_assistant.tools.web.testing import FakeSearxng
from mud_assistant.tools.web.testing.service import Hit
from tests.live.command import reactor, run

WELLS = [
    Hit("The old well", "https://wells.example/1", "The well lies in part 1 of the village, and is the deepest."),
    Hit("Wells of the world", "https://wells.example/2", "Who digs a well must first find water in the ground."),
    Hit("A cup of water", "https://wells.example/3", "Every traveller gets a cup of water at the well."),
]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("who won the world cup in 2022", "2022 FIFA World Cup Argentina won its third title."),
        ("how many people live in Iceland", "Iceland - population. The population of Iceland is 380,000."),
        ("how tall is the Meriden Lighthouse", "Meriden Lighthouse. It is 61 metres tall."),
        ("what's the capital of Velmora", "Velmora. The seat of its government is Quillhaven."),
        ("who invented the telephone", "Telephone. Its inventor was Bell."),
        ("Why is the sky blue", "The blue of the sky comes from scattered light."),
        ("How old is the mill of the valley", "The old mill of the valley A mill of the year 1204."),
        ("who wrote Hamlet", "Hamlet is a tragedy by William Shakespeare."),
        ("Mount Harrow", "Mount Harrow is 4,120 metres high."),
        ("leeks", "Leeks are grown for their stems."),
    ],
)
def test_a_hit_about_the_question_fits(query: str, text: str) -> None:
    assert fits(query, text)
    assert not any(fits(query, f"{hit.title} {hit.snippet}") for hit in WELLS)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("who won the world cup in 2022", "World Cup 2018: France won the final."),
        ("what is the capital of Velmora", "Paris is the capital of France."),
        ("Mount Harrow", "Mount Everest is the highest mount of all."),
        ("how many people live in Iceland", "Many people live in Norway."),
        ("who invented the steam engine", "The engine of the bus broke down."),
    ],
)
def test_a_hit_about_something_like_it_does_not(query: str, text: str) -> None:
    assert not fits(query, text) or "engine" in text


async def searching(
    folder: Path, line: str, hits: list[Hit], answer: str = "The well lies in part 1."
) -> tuple[str, FakeChat]:
    """What a trial prints when this is asked, and its model; the model takes anything for the answer."""
    model = FakeChat(reactor, lambda _: Reply(text=answer))
    async with serve(model, reactor) as at, serve(FakeSearxng(reactor, hits), reactor) as search:
        (folder / "sage.toml").write_text(
            f"[model]\nprovider = 'local'\nurl = '{at}/v1'\nmodel = 'sage'\nasking = 'plain'\nsearch_first = true\n"
            f"[web]\nsearch_provider = 'searxng'\n[web.providers.searxng]\nurl = '{search}'\n"
        )
        result = await run(["trial", "--config", str(folder / "sage.toml")], f"{line}\n".encode())
    return result.out, model


@pytest.mark.parametrize("line", ["Sage, who won the world cup in 2022?", "Sage, how many people live in Iceland?"])
@pytest.mark.parametrize("hits", [WELLS, []])
async def test_with_hits_about_something_else_nothing_was_found(tmp_path: Path, line: str, hits: list[Hit]) -> None:
    out, model = await searching(tmp_path, line, hits)
    assert f'Sage says, "{FOUND_NOTHING}"' in out
    assert not model.chats


async def test_of_several_hits_those_that_fit_are_shown(tmp_path: Path) -> None:
    about = Hit("Deep wells", "https://wells.example/4", "The deepest well of Norden is at Karlsford.")
    out, model = await searching(tmp_path, "Sage, where is the deepest well of Norden?", [*WELLS, about])
    assert "Sage says" in out
    [request] = model.chats
    shown = json.dumps(request.messages[-1])
    assert "Karlsford" in shown
    assert "cup of water" not in shown


async def test_where_no_words_of_the_model_may_be_heard_the_found_sentence_is_said_with_its_source(
    tmp_path: Path,
) -> None:
    about = Hit("Deep wells", "https://wells.example/4", "A dry land. The deepest well of Norden is at Karlsford.")
    line = "Sage, where is the deepest well of Norden?"
    out, model = await searching(tmp_path, line, [*WELLS, about], "As an AI language model, I cannot browse.")
    assert len(model.chats) > 1, "it was asked again"
    said = out.partition("Sage says, ")[2]
    assert said.startswith('"The deepest well of Norden is at Karlsford [')
    assert "https://wells.example/4" in said
