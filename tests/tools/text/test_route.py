"""The way to a room: the nearest that fits, in few steps, and never a search without end."""

from __future__ import annotations

import pytest

from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.testing import now
from mud_assistant.tools.text.route import MAX_ROOMS, search_route

MAP = {
    "The Camp": {"east": "The Well", "north": "The Ruins"},
    "The Well": {"west": "The Camp", "north": "The White Shrine"},
    "The Ruins": {"south": "The Camp", "down": "The Kitchen"},
    "The White Shrine": {"south": "The Well", "up": "The Dome"},
    "The Kitchen": {},
    "The Dome": {"up": "The Kitchen"},
}


def ways(room: str) -> list[tuple[str, str, str]]:
    return [(way, behind, behind) for way, behind in MAP[room].items()]


@pytest.mark.parametrize(
    ("place", "room", "steps"),
    [
        ("the well", "The Well", ("east",)),
        ("the white shrine", "The White Shrine", ("east", "north")),
        ("shrines", "The White Shrine", ("east", "north")),
        ("inn tavern kitchen", "The Kitchen", ("north", "down")),
        ("the dome of the shrine", "The Dome", ("east", "north", "up")),
    ],
)
def test_the_nearest_room_that_fits_is_found(place: str, room: str, steps: tuple[str, ...]) -> None:
    assert now(search_route("The Camp", ways, place))[:2] == (room, steps)


@pytest.mark.parametrize("place", ["the mill", "", "the", "?!"])
def test_what_is_nowhere_is_refused(place: str) -> None:
    with pytest.raises(ToolFailed, match="No way to"):
        now(search_route("The Camp", ways, place))


def test_a_search_ends_and_lets_others_work_meanwhile() -> None:
    looked: list[int] = []
    pauses: list[None] = []

    def endless(room: int) -> list[tuple[str, str, int]]:
        looked.append(room)
        return [("on", f"Room {room + 1}", room + 1)]

    async def pause() -> None:
        pauses.append(None)

    with pytest.raises(ToolFailed):
        now(search_route(0, endless, "the mill", pause))
    assert len(looked) == MAX_ROOMS
    assert len(pauses) == MAX_ROOMS // 10
