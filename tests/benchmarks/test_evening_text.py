"""Evenings as they are written down, and how one is held at telnet prompts: those of a game of this test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from benchmarks.evening import Evening, Pace
from benchmarks.evening_players import EveningError, Visitor, rooms_to, seen_of
from benchmarks.evening_text import RESIDENTS, evening_talk
from benchmarks.talk_sheet import make_sheet
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET

SHARED = Path("../shared/data/talk/evening.md")
TEXT = """# An evening

Two players (O: the owner's account, B: Bea), one line at a time. 12: not a part.

1. O: say Hello · B: whisper Sage = I am here. · pose nods.
   · page Sage = Hm?
2. O: say two? (with B at once: say three?) · south · *restart* · B (at the inn): say Oda, why? · O: say Oda, when?

Then ten minutes of your own.
"""


def heard(file: Path, text: str = TEXT) -> list[list[tuple[str, ...]]]:
    """Who, how, and what, in each turn."""
    file.write_text(text)
    return [[(line["who"], line["how"], line["text"]) for line in turn["heard"]] for turn in evening_talk(file).turns]


def test_who_says_what_and_when_the_game_restarts_is_read(tmp_path: Path) -> None:
    both = [("Owner", "comes", ""), ("Bea", "comes", "")]
    assert heard(tmp_path / "evening.md") == [
        both,
        [("Owner", "say", "Hello")],
        [("Bea", "whisper", "I am here.")],
        [("Bea", "emote", "nods.")],
        [("Bea", "page", "Hm?")],
        [("Owner", "say", "two?"), ("Bea", "say", "three?")],
        [("Owner", "go", "south")],
        both,
        [("Bea", "goes to", "the inn")],
        [("Bea", "say", "Oda, why?")],
        [("Owner", "goes to", "Oda")],
        [("Owner", "say", "Oda, when?")],
    ]
    evening = evening_talk(tmp_path / "evening.md")
    assert evening.people == ("Owner", "Bea")
    assert evening.turns[2]["heard"][0]["to"] == "Sage"
    assert evening.turns[2]["heard"][0]["command"] == "whisper Sage = I am here."


def test_what_is_no_evening_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="its parts are numbered"):
        heard(tmp_path / "evening.md", "O: say Hello")
    with pytest.raises(ValueError, match="nobody is C: name them"):
        heard(tmp_path / "evening.md", "1. C: say Hello")


@pytest.mark.skipif(not SHARED.exists(), reason="the evening that is handed in beside the repository is not there")
def test_the_evening_that_is_handed_in_is_read_whole() -> None:
    evening = evening_talk(SHARED)
    lines = [line for turn in evening.turns for line in turn["heard"]]
    assert evening.people == ("Owner", "Bea")
    assert sum(line["how"] == "comes" for line in lines) == 6
    assert sum(line["how"] in {"say", "whisper", "emote"} for line in lines) == 39
    assert not [line for line in lines if line["how"] == "does"]


def test_only_what_a_character_says_and_does_is_its_answer() -> None:
    seen = seen_of(
        [
            'Sage thinks ...\nBea says, "Sage?"\nSage says, "Yes, "quite"."\nSage gives Bea a map.\nSage is still th',
            'Sage says, "Yes, "quite"."\nSage whispers: "Psst."\nSagebrush burns.\nSage is waking up, and so on.\n',
        ],
        ["Sage", "Oda"],
    )
    assert seen.words == [
        {"who": "Sage", "how": "say", "text": 'Yes, "quite".'},
        {"who": "Sage", "how": "emote", "text": "gives Bea a map."},
        {"who": "Sage", "how": "whisper", "text": "Psst."},
    ]
    assert seen.notices == ["Sage thinks ...", "Sage is waking up, and so on."]


def test_the_way_to_a_place_or_a_resident_is_found() -> None:
    assert rooms_to("library", "the inn", RESIDENTS) == [("south", "square"), ("south", "inn")]
    assert [room for _, room in rooms_to("attic", "Mira", RESIDENTS)] == ["library", "square", "mill"]
    assert rooms_to("inn", "Oda", RESIDENTS) == []
    for nowhere in ("the moon", "nobody"):
        with pytest.raises(EveningError, match="there is no way"):
            rooms_to("library", nowhere, RESIDENTS)
    with pytest.raises(EveningError, match="there is no way"):
        rooms_to("", "Oda", RESIDENTS)


class Prompt:
    """A prompt of a game on a clock: a line that is typed shows, after some seconds, what the script has for it."""

    def __init__(self, clock: Clock, script: Mapping[str, list[tuple[float, str]]]) -> None:
        self._clock = clock
        self._script = script
        self.text = "You become Owner.\nThe Old Library(#2)\n"
        self.typed: list[tuple[float, str]] = []

    def type(self, line: str) -> None:
        self.typed.append((round(self._clock.seconds(), 1), line))
        for seconds, text in self._script.get(line, ()):
            self._clock.callLater(seconds, self._show, text)

    def _show(self, text: str) -> None:
        self.text += f"{text}\n"


def held(
    file: Path, text: str, script: Mapping[str, list[tuple[float, str]]]
) -> tuple[list[dict[str, Any]], list[Prompt]]:
    """The turns of an evening, held on a clock, and the prompts of each start of the game."""
    file.write_text(text)
    clock, prompts = Clock(), list[Prompt]()

    async def enter() -> dict[str, Visitor]:
        prompts.append(Prompt(clock, script))
        return {"Owner": Visitor("Owner", prompts[-1])}

    evening = Evening(clock, enter, Pace(wait=20, quiet=4, pause=10), ("Sage", "Oda"))
    ignore: Callable[[str], None] = lambda _: None  # noqa: E731
    playing = Deferred.fromCoroutine(evening.hold(evening_talk(file), ignore))
    turns: list[list[dict[str, Any]]] = []
    playing.addCallback(turns.append)
    for _ in range(6000):
        if turns:
            break
        clock.advance(0.05)
    return turns[0], prompts


def test_each_line_waits_for_the_answer_to_the_one_before_or_twenty_seconds(tmp_path: Path) -> None:
    script = {
        "say one": [(1.0, "Sage thinks ..."), (3.0, "Sage nods."), (5.0, 'Sage says, "One."')],
        "say two": [(19.0, "Sage is still thinking about it.")],
    }
    turns, ((prompt), again) = held(
        tmp_path / "e.md", "1. O: say one · say two · say three · *restart* · say four", script
    )
    (_, first), (_, second), (_, third) = prompt.typed
    assert (first, second, third) == ("say one", "say two", "say three")
    begun = [at for at, _ in prompt.typed]
    assert begun[0] == pytest.approx(10, abs=0.2)
    assert begun[1] - begun[0] == pytest.approx(9, abs=0.2)  # the answer after five, and four of quiet
    assert begun[2] - begun[1] == pytest.approx(20, abs=0.2)
    assert [line for _, line in again.typed] == ["say four"]
    assert turns[1]["first"] == pytest.approx(3, abs=0.1)
    assert turns[1]["seconds"] == pytest.approx(5, abs=0.1)
    assert [one["text"] for one in turns[1]["words"]] == ["nods.", "One."]
    assert turns[1]["notices"] == ["Sage thinks ..."]
    assert (turns[2]["words"], turns[2]["first"]) == ([], None)


def test_a_player_walks_to_whom_they_speak_and_a_sheet_can_be_made_of_it(tmp_path: Path) -> None:
    script = {
        "south": [(0.5, "The Village Square(#3)"), (1.2, "The Halfway Inn(#5)")],
        "say Oda, who?": [(1.0, 'Oda says, "Me."')],
    }
    turns, (prompt,) = held(tmp_path / "e.md", "1. O: say Oda, who?", script)
    assert [line for _, line in prompt.typed] == ["south", "south", "say Oda, who?"]
    assert [turn["room"] for turn in turns] == ["library", "inn", "inn"]
    make_sheet([evening_talk(tmp_path / "e.md")], {"run": {"e": {"turns": turns}}}, tmp_path / "s.md", 1, "words")
    text = (tmp_path / "s.md").read_text()
    assert f"Place: the village, {HAMLET.rooms[0].name}" not in text
    assert "Place: the village, The Halfway Inn\n\nBefore:\n> (Owner comes in)\n" in text
    assert "Heard:\n> Owner: Oda, who?\n\nAnswer:\n> Oda: Me.\n\nMark:\n" in text
