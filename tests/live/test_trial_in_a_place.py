"""`mud-assistant trial --place FILE`: the owner's own rooms, things and character."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.worlds.embedded.place_file import PlaceFileError, place_of, read_place
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from tests.live.command import Result, reactor, run

HARBOUR = Path(__file__).parents[2] / "docs" / "places" / "harbour.toml"
ROOM = {"key": "a", "name": "A Room"}
HELLO = b"Hello Bertil!\n"


async def trial(place: Path, given: bytes, *options: str) -> tuple[Result, list[RecordedRequest]]:
    """What a trial in this place printed, and what its model was asked."""
    fake = FakeOllama(reactor, lambda _: _aye())
    async with serve(fake, reactor) as url:
        result = await run(("trial", "--url", url, "--model", "sage", "--place", str(place), *options), given)
    return result, [request for request in fake.requests if request.path == "/api/chat"]


def _aye() -> Step:
    return Reply(calls=(Call("say", {"text": "Aye."}),))


async def test_the_rooms_things_and_the_character_are_the_owners() -> None:
    result, asked = await trial(HARBOUR, HELLO + b"/look tide board\n/go west\n/look\n")
    assert result.status == 0, result.err
    assert "The Stone Quay" in result.out
    assert 'Bertil says, "Aye."' in result.out
    assert "high water at six" in result.out
    assert "The Harbour Office" in result.out
    assert 'Lotta says to you, "Tickets are four coins.' in result.out
    assert "harbour master" in json.dumps([dict(message) for message in asked[-1].messages])


async def test_json_is_read_too_and_a_name_of_the_command_line_goes_before(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"name": "Bertil", "rooms": [ROOM]}))
    result, _ = await trial(file, b"Hello Una!\n", "--name", "Una")
    assert "A Room" in result.out
    assert 'Una says, "Aye."' in result.out


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("none.toml", None, "cannot be read: No such file or directory"),
        ("p.yaml", "rooms: []", "must be a file that ends in .toml or .json"),
        ("p.toml", "rooms = [", "is no TOML"),
        ("p.json", "{", "is no JSON"),
        ("p.json", json.dumps({"rooms": [{**ROOM, "exits": {"up": "attic"}}]}), "rooms[0].exits.up: there is no room"),
    ],
)
async def test_a_place_that_cannot_be_used_is_explained(tmp_path: Path, name: str, text: str | None, told: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    result = await run(("trial", "--place", str(tmp_path / name)), b"")
    assert result.status == 2
    assert told in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "F: give a table with `rooms`"),
        ({}, "F: rooms: this is missing"),
        ({"rooms": []}, "F: rooms: give a list of at least one room"),
        ({"rooms": [{"key": "a"}]}, "F: rooms[0].name: this is missing"),
        ({"rooms": [{**ROOM, "exit": {}}]}, "F: rooms[0].exit: there is no such field; those there are: key, name,"),
        ({"rooms": [ROOM], "person": "x"}, "F: person: there is no such field; those there are: name, persona, rooms,"),
        ({"rooms": [ROOM, ROOM]}, "F: rooms[1].key: there is a room 'a' already"),
        ({"rooms": [{**ROOM, "things": {"lamp": 3}}]}, "F: rooms[0].things.lamp: give"),
        ({"rooms": [ROOM], "name": "@@"}, "F: name: give letters, digits"),
        ({"rooms": [ROOM], "residents": [{"name": "B", "room": "c"}]}, "F: residents[0].room: there is no room 'c'"),
        (
            {"rooms": [ROOM], "name": "Bo", "residents": [{"name": "bo", "room": "a"}]},
            "F: residents[0].name: 'bo' is somebody else's name already",
        ),
    ],
)
def test_a_mistake_is_told_with_its_field(data: Any, told: str) -> None:
    with pytest.raises(PlaceFileError) as raised:
        place_of(data, "F")
    assert str(raised.value).startswith(told)


def test_a_file_that_is_too_large_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("#" * 1_000_001)
    with pytest.raises(PlaceFileError, match="too large"):
        read_place(tmp_path / "p.toml")
