"""The days of those who live in the demo game: whenever a stranger comes, something happens that nobody asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.characters import SHIPPED, read_character
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.tools.text.route import name_words
from tests.assistant.life.lives import Lived, acts, town

HOMES = {"librarian": "library", "baker": "mill", "gardener": "garden", "innkeeper": "inn", "stranger": "road"}


def everybody() -> list[Lived]:
    found = {name: read_character(Path(SHIPPED), name) for name in HOMES}
    return [Lived(one.name, HOMES[name], one.days) for name, one in found.items()]


@pytest.mark.parametrize("hour", range(24))
@pytest.mark.usefixtures("reactor_baseline")
async def test_a_stranger_in_the_first_room_sees_something_within_ten_minutes_at_any_hour(hour: int) -> None:
    async with town(*everybody(), hour=hour) as here:
        here.ann()
        here.pass_by(600, 2.0)
        seen = acts(here.witness, "Sage")
        assert 2 <= len(seen) <= 12
        assert len(set(seen)) >= len(seen) - 1
        assert here.witness.steps == []


@pytest.mark.usefixtures("reactor_baseline")
async def test_in_the_evening_they_meet_at_the_inn_and_at_night_they_are_at_home() -> None:
    async with town(*everybody(), hour=16) as here:
        ann = here.ann("inn")
        found = {}
        for hour in (19.5, 23.9):
            here.until(hour - 1)
            ann.note_typing()
            here.until(hour)
            found[hour] = [here.where(one.name) for one in everybody()]
        assert found == {
            19.5: ["inn", "square", "inn", "inn", "inn"],  # Mira gets as far as the well
            23.9: ["library", "mill", "garden", "inn", "road"],
        }
        assert {line.split()[0].rstrip(":") for line in here.witness.heard} >= {"Sage", "Tom", "Oda", "Venn"}


@pytest.mark.parametrize("name", HOMES)
def test_each_place_is_one_of_the_game_and_no_words_call_another_character(name: str) -> None:
    days = read_character(Path(SHIPPED), name).days
    rooms = [name_words(room.name) for room in HAMLET.rooms]
    assert all(name_words(entry.place) in rooms for entry in days.entries)
    names = {one.name.casefold() for one in everybody()}  # a line with a name in it would wake whoever has the name
    assert not [words for entry in days.entries for words in entry.says if names & set(words_of(words))]
    assert all(
        text[0].islower() and text[-1] == "." for entry in days.entries for text in (entry.begins, *entry.does) if text
    )
