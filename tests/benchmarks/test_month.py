"""The parts of the virtual month: its town, its days and its picture."""

from __future__ import annotations

from collections import Counter
from random import Random
from xml.etree import ElementTree as ET

from benchmarks.living_town import many_rooms
from benchmarks.month_plot import PARTS, draw
from benchmarks.month_scenes import ROOMS, some_days
from benchmarks.month_tally import PLACES

SVG = "{http://www.w3.org/2000/svg}"


def test_every_room_of_a_town_has_a_name_of_its_own_and_can_be_reached() -> None:
    place = many_rooms(ROOMS, Random(1))  # noqa: S311
    ways = {room.key: [way.to for way in room.exits] for room in place.rooms}
    seen, waiting = set[str](), [place.rooms[0].key]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += ways[here]
    assert len(seen) == len({room.name for room in place.rooms}) == ROOMS


def test_days_by_chance_are_in_places_of_the_town() -> None:
    names = {room.name for room in many_rooms(ROOMS, Random(1)).rooms}  # noqa: S311
    for seed in range(50):
        days = some_days(Random(seed))  # noqa: S311
        assert {entry.place for entry in days.entries} <= names
        assert [entry.start for entry in days.entries] == sorted(entry.start for entry in days.entries)


def test_the_picture_has_a_bar_for_each_part_of_each_day_and_each_place_of_each_hour() -> None:
    days = [Counter({part: 10 * at + 1 for part, _ in PARTS} | {"tokens": 100 * at + 3}) for at in range(1, 8)]
    hours = [Counter({place: at + 1 for at, place in enumerate(PLACES)}) for _ in range(24)]
    root = ET.fromstring(draw(days, hours))  # noqa: S314
    bars = [bar for bar in root.iter(f"{SVG}rect") if "." in bar.attrib["y"]]
    assert len(bars) == (len(PARTS) + 1) * len(days) + len(PLACES) * len(hours)
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text is not None
    assert "7 days of 20 characters" in title.text
