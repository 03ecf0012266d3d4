"""What the command `game` shows of what its Server fetches behind the talk, and where that is done at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mud_assistant.assistant.command_line import parser
from mud_assistant.assistant.models.offer import VARIABLE, deciding
from mud_assistant.assistant.surfaces.game.command import _worth
from mud_assistant.assistant.surfaces.game.folder import GameFolder
from mud_assistant.assistant.surfaces.game.making import Maker

TOLD = "Sage has a better model now: Qwen2.5-Coder-1.5B-Instruct Q4_K_M."


def test_the_lines_of_the_log_are_shown_without_their_time() -> None:
    logged = [
        "2026-11-26 15:02:11 [..] Qwen2.5 is no line of ours",
        "2026-11-26 15:02:12 [..] in the background: 25 % of Qwen2.5-Coder-1.5B-Instruct Q4_K_M is here.",
        f"2026-11-26 15:04:12 [..] in the background: {TOLD}",
    ]
    logged.append("2026-11-26 15:04:13 [..] the embedded model: download 50 % of 2019 MB")
    assert _worth(logged) == [
        "in the background: 25 % of Qwen2.5-Coder-1.5B-Instruct Q4_K_M is here.",
        f"in the background: {TOLD}",
        "the embedded model: download 50 % of 2019 MB",
    ]


@pytest.mark.parametrize(
    ("environment", "is_watched", "decided"),
    [
        ({}, True, "yes"),
        ({}, False, "no"),
        ({"CI": "true"}, True, "no"),
        ({VARIABLE: "no"}, True, "no"),
        ({VARIABLE: "yes", "CI": "true"}, False, "yes"),
    ],
)
def test_it_is_fetched_where_somebody_watches_unless_the_owner_says_otherwise(
    environment: Mapping[str, str], is_watched: bool, decided: str
) -> None:
    assert deciding(environment, is_watched=is_watched)[VARIABLE] == decided


def test_the_game_hears_of_it_by_its_environment(tmp_path: Path) -> None:
    maker = Maker(deciding({}, is_watched=True), print)
    assert maker.launcher(GameFolder(tmp_path)).environment[VARIABLE] == "yes"


@pytest.mark.parametrize("command", ["trial", "game"])
def test_small_is_the_name_of_a_model(command: str) -> None:
    assert parser().parse_args([command, "--small"]).model == "small"
    with pytest.raises(SystemExit):
        parser().parse_args([command, "--small", "--model", "better"])
