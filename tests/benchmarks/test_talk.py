"""The benchmark of talk as its user runs it, against a scripted model; and the rules that judge what came."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.talk import OWN_ITEMS, figures_of
from benchmarks.talk_judge import Score, judged, repeats, score
from benchmarks.talk_stage import Item, read_items
from mud_assistant.llm.testing import Call, FakeOllama, HttpError, RecordedRequest, Reply, Step, serve
from tests.live.command import Command, Result, reactor, start

PLACE: dict[str, Any] = {
    "kind": "place",
    "place": "cave",
    "name": "Ulla",
    "persona": "You are a hermit. You are short of words, and you know the caves.",
    "rooms": [
        {
            "key": "cave",
            "name": "The Cave",
            "description": "A dry cave. A passage leads north.",
            "exits": {"north": "shaft"},
            "things": {"rope": "A rope of forty feet."},
        },
        {"key": "shaft", "name": "The Shaft", "description": "It is dark.", "exits": {"south": "cave"}, "things": {}},
    ],
}


def item(name: str, line: dict[str, str], expect: dict[str, Any], people: Sequence[str] = ("Ivo",)) -> dict[str, Any]:
    turn = {"heard": [{"who": people[0], "how": "say", **line}], "expect": expect}
    return {"kind": "item", "id": name, "category": name[0], "place": "cave", "people": list(people), "turns": [turn]}


ITEMS = [
    item("t1", {"text": "Ulla, how long is the rope?"}, {"any": ["forty"]}),
    item("t2", {"text": "Can you keep a secret?", "how": "whisper"}, {"way": "whisper"}),
    item("a1", {"text": "Ulla, please go north."}, {"room": "shaft"}),
    item("s1", {"text": "Bo, shall we eat?"}, {"silent": True}, ("Ivo", "Bo")),
]


def scripted(request: RecordedRequest) -> Step:
    """A model that does the three things it is asked for."""
    asked = json.dumps(list(map(dict, request.messages[-3:])))
    if "secret" in asked:
        return Reply(calls=(Call("whisper", {"target": "Ivo", "text": "As the grave."}),))
    if "go north" in asked and "It is dark" not in asked:
        return Reply(calls=(Call("move", {"direction": "north"}),))
    if "rope" in asked:
        return Reply(calls=(Call("say", {"text": "It has forty feet."}),))
    return Reply(calls=(Call("noop", {}),))


def start_talk(folder: Path, *given: str) -> Command:
    """Start the benchmark without the embedding model, which it takes where it was fetched: no model is judged here."""
    nowhere = {"XDG_DATA_HOME": str(folder / "nothing")}
    return start(*given, module="benchmarks.talk", environment=nowhere, folder=str(Path.cwd()))


@asynccontextmanager
async def benchmark(
    folder: Path, items: Sequence[dict[str, Any]] = ITEMS, script: Any = scripted
) -> AsyncIterator[Any]:
    """What runs the benchmark with more options, and the fake model."""
    file = folder / "items.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (PLACE, *items)))
    fake = FakeOllama(reactor, script)
    async with serve(fake, reactor) as url:

        async def play(*options: str) -> Result:
            answers = str(folder / "answers.jsonl")
            model = ("--provider", "ollama", "--url", url, "--model", "sage")
            given = (str(file), "--answers", answers, *options, "--", *model)
            return await start_talk(folder, *given).ended

        yield play, fake


def records(folder: Path) -> dict[str, Any]:
    lines = (folder / "answers.jsonl").read_text().splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


async def test_what_is_said_and_done_is_written_down_for_a_judge(tmp_path: Path) -> None:
    async with benchmark(tmp_path) as (play, _):
        result = await play()
    assert result.status == 0, result.err
    found = records(tmp_path)
    assert set(found) == {"t1", "t2", "a1", "s1"}
    (turn,) = found["t1"]["turns"]
    assert turn["words"] == [{"how": "say", "text": "It has forty feet."}]
    assert turn["acts"] == [{"tool": "say", "args": {"text": "It has forty feet."}, "ok": True, "status": "done"}]
    assert turn["first"] is not None
    assert turn["prompt_tokens"]
    assert turn["output_tokens"] > 0
    assert turn["room"] == "cave"
    assert turn["held"] == {"Ivo": []}
    assert turn["carried"] == []
    assert isinstance(found["t1"]["examples"], list)
    assert found["t2"]["turns"][0]["words"] == [{"how": "whisper", "text": "As the grave."}]
    assert found["a1"]["turns"][0]["room"] == "shaft"
    assert found["s1"]["turns"][0]["words"] == []
    assert "right 4 of 4" in result.out


async def test_what_is_answered_already_is_not_played_again(tmp_path: Path) -> None:
    async with benchmark(tmp_path) as (play, fake):
        await play("--sample", "2")
        first = records(tmp_path)
        with (tmp_path / "answers.jsonl").open("a") as file:
            file.write('{"id": "a1", "tur')  # what a kill leaves
        await play()
        asked = len(fake.requests)
        again = await play()
        assert len(fake.requests) == asked
    found = records(tmp_path)
    assert len(first) == 2
    assert set(found) == {"t1", "t2", "a1", "s1"}
    assert {name: found[name] for name in first} == first
    assert "right 4 of 4" in again.out


async def test_a_model_that_fails_leaves_silence_and_its_cause(tmp_path: Path) -> None:
    async with benchmark(tmp_path, ITEMS[:1], lambda _: HttpError(400, "no")) as (play, _):
        result = await play()
    (record,) = records(tmp_path).values()
    assert all(word["how"] == "emote" for word in record["turns"][0]["words"])  # the excuse is a pose
    assert record["failures"]
    assert "right 0 of 1" in result.out


async def test_an_item_that_cannot_be_played_costs_no_other_and_is_played_again(tmp_path: Path) -> None:
    wrong = item("w1", {"text": "north", "how": "shout"}, {})
    async with benchmark(tmp_path, [wrong, ITEMS[0]]) as (play, _):
        result = await play()
        again = await play()
    assert "shout" in records(tmp_path)["w1"]["error"]
    assert "turns" in records(tmp_path)["t1"]
    assert "error 1" in result.out
    assert "1 of 2 items to play" in again.err


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([{**ITEMS[0], "place": "moon"}], "the place 'moon', which is not in the file"),
        (
            [{**PLACE, "rooms": [{"key": "a", "name": "A", "exits": {"up": "b"}}]}],
            "rooms[0].exits.up: there is no room 'b'",
        ),
    ],
)
async def test_a_file_that_cannot_be_played_is_explained(tmp_path: Path, lines: list[Any], told: str) -> None:
    async with benchmark(tmp_path, lines) as (play, _):
        result = await play()
    assert result.status == 2
    assert told in result.err
    assert "Traceback" not in result.err


def played(words: str = "", how: str = "say", room: str = "cave", acts: Sequence[str] = ()) -> dict[str, Any]:
    """The record of one turn with these words."""
    done = [{"tool": tool, "args": {}, "ok": True, "status": "done"} for tool in acts]
    said = [{"how": how, "text": words}] if words else []
    turn = {"words": said, "acts": done, "room": room, "held": {}, "carried": []}
    return {
        "turns": [{**turn, "seconds": 1.0, "prompt_tokens": [300], "output_tokens": 9}],
        "examples": ["a b c d e f"],
    }


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    file = tmp_path / "items.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (PLACE, *ITEMS)))
    return read_items(file)


@pytest.mark.parametrize(
    ("number", "record", "wrong"),
    [
        (0, played("It has forty feet."), set()),
        (0, played(), {"silent"}),
        (0, played("Ulla, how long is the rope? Forty."), {"parrot"}),
        (0, played("A b c d e: forty."), {"example"}),
        (0, played("Long enough."), {"missed"}),
        (0, {"error": "it broke"}, {"error"}),
        (1, played("I can.", "whisper"), set()),
        (1, played("I can."), {"way"}),
        (2, played(room="shaft", acts=["move"]), set()),
        (2, played("I go."), {"act"}),
        (3, played(), set()),
        (3, played("Yes, let us eat."), {"spoke"}),
    ],
)
def test_the_rules_tell_right_from_wrong(
    items: list[Item], number: int, record: dict[str, Any], wrong: set[str]
) -> None:
    assert judged(items[number], record) == wrong


def test_a_greeting_may_be_returned_and_a_line_may_not() -> None:
    assert not repeats("Good evening to you, friend.", "Good evening!")
    assert repeats("Where does this old road lead to now?", "Where does this old road lead to?")


def test_a_score_becomes_figures_with_limits(items: list[Item]) -> None:
    found = score(items, {"t1": played("Forty."), "t2": played("I can.")})
    assert isinstance(found, Score)
    assert (found.items, found.right) == (4, 1)
    assert found.categories["t"] == (2, 1, {"way": 1})
    share, repeated, seconds, *_ = figures_of(found)
    assert (share.value, share.verdict) == (25, "missed")
    assert (repeated.value, repeated.verdict) == (0, "met")
    assert (seconds.value, seconds.limit) == (1.0, 1.5)


def test_our_own_items_can_be_read() -> None:
    own = read_items(OWN_ITEMS)
    assert len({one.id for one in own}) == len(own) >= 40
    assert len(read_items(OWN_ITEMS, 16)) == 16


async def test_a_file_of_lines_is_one_talk_with_the_character_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("Who are you?\n\nIs it warm in here?\n")
    (tmp_path / "assistant.toml").write_text("[assistant]\ncharacter = 'librarian'\n")
    fake = FakeOllama(reactor, lambda _: Reply(calls=(Call("say", {"text": "It is."}),)))
    async with serve(fake, reactor) as url:
        model = ("--provider", "ollama", "--url", url, "--model", "sage", "--config", str(tmp_path / "assistant.toml"))
        given = (str(tmp_path / "lines.txt"), "--as", "Anna", "--answers", str(tmp_path / "answers.jsonl"))
        played = await start_talk(tmp_path, *given, "--", *model).ended
        sheet = ("--sheet", str(tmp_path / "sheet.md"), "--scale", "3")
        made = await start_talk(tmp_path, *given, *sheet, "--", *model).ended
    assert (played.status, made.status) == (0, 0), played.err + made.err
    (record,) = records(tmp_path).values()
    assert record["id"] == "lines"
    assert ["It is." in str(turn["words"]) for turn in record["turns"]] == [True, True]
    assert "librarian" in str(fake.chats[-1].messages[0])
    assert "Is it warm in here?" in str(fake.chats[-1].messages)
    assert "Who are you?" in str(fake.chats[-1].messages)
    assert (tmp_path / "sheet.md").read_text().count("\nMark:\n") == 2
