"""The contract of `tests/contracts/test_world.py` kept by a character of Evennia, in a real game."""

import re

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.tools.testing import Act, now
from tests.contracts import test_world as contract
from tests.contracts.test_world import (  # noqa: F401  (pytest collects them here, with the subject below)
    test_a_clock_has_an_hour_and_goes_forward,
    test_a_line_that_is_no_command_is_refused,
    test_a_player_is_present_who_hears_and_does_not_idle,
    test_a_thing_is_given_and_taken_first_where_it_only_lies_there,
    test_a_thing_is_taken_and_put_down,
    test_everything_in_the_scene_can_be_inspected,
    test_home_is_where_it_started_and_no_place_to_go_from_there,
    test_inspecting_what_is_not_there_says_what_is,
    test_look_shows_the_room_without_oneself,
    test_looking_changes_nothing,
    test_moving_leads_to_another_room_that_is_then_seen,
    test_moving_where_no_exit_is_lists_the_exits_and_stays,
    test_the_way_to_a_room_is_found_by_its_name_without_a_step,
    test_what_is_carried_already_is_not_taken_again,
    test_what_is_done_is_perceived_once_and_in_order,
    test_what_is_not_there_is_not_handled,
    test_whispering_to_who_is_not_there_is_refused,
    test_who_lists_oneself_as_an_ai_and_the_others,
    test_who_somebody_is_can_be_told_wherever_they_are,
)
from tests.evennia.village import Village

pytestmark = pytest.mark.usefixtures("db")

_SEEN = [
    (re.compile(r'Sage says, "(.*)"'), "say", ""),
    (re.compile(r'Sage whispers: "(.*)"'), "whisper", "Anna"),
    (re.compile(r"Sage is leaving Hall, heading for ()Garden\."), "move", "north"),
    (re.compile(r"Sage (.*)"), "emote", ""),
]


@pytest.fixture
def subject() -> contract.Subject:
    village = Village()
    anna, sage = village.player("Anna"), village.assistant()
    village.thing("old map", "A map.")
    anna.raw()
    acts: list[Act] = []

    def witnessed() -> list[Act]:
        acts.extend(map(_act, anna.heard()))
        return acts

    return contract.Subject(EvenniaBody(sage, Clock()), witnessed)


def _act(line: str) -> Act:
    """What Anna reads, as the act it tells of."""
    for pattern, verb, target in _SEEN:
        if found := pattern.fullmatch(line):
            return Act(verb, found.group(1), target)
    raise AssertionError(line)


def test_a_line_is_resolved_without_anything_happening(subject: contract.Subject) -> None:
    by_name, by_alias = now(subject.world.resolve("get map")), now(subject.world.resolve("grab map"))
    assert by_name.line == by_alias.line == "get map"
    assert by_name.name == by_alias.name == "get"
    assert now(subject.world.resolve("py 1")).permission == 5
    assert subject.witnessed() == []


def test_a_resolved_command_runs_and_the_game_prints_something(subject: contract.Subject) -> None:
    assert now(subject.world.execute(now(subject.world.resolve("inventory"))))
