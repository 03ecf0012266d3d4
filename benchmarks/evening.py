"""Holds a talk that is written down as an evening in the game of `mud-assistant game`, and notes what was answered.

    python -m benchmarks.evening EVENING.md --answers OUT.jsonl -- --provider ollama --model qwen3:4b
    python -m benchmarks.talk EVENING.md --answers OUT.jsonl OTHER.jsonl --sheet SHEET.md

The game is made new, started, restarted where the file says so, and stopped at the end. What stands behind `--` are
options of `mud-assistant game`; without any it is the game as it ships. The people are players at telnet prompts.
Each line waits for the answer to the one before, or for --wait seconds. How a file is written stands in
benchmarks/evening_text.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater, react

from benchmarks.evening_players import EveningError, Seen, Visitor, rooms_to, seen_of
from benchmarks.evening_text import FIRST_CHARACTER, RESIDENTS, evening_talk
from benchmarks.figures import percentile
from benchmarks.talk_stage import Item, Turn

#: How often it is looked whether something came, in seconds.
_LOOK_SECONDS = 0.05
#: How long a walk from one room to the next, or a command that nobody answers, may take to show, in seconds.
STEP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: how long an answer is waited for, how long it is quiet behind one, how long one reads at an arrival."""

    wait: float = 20.0
    quiet: float = 4.0
    pause: float = 10.0


USUAL = Pace()


class Evening:
    """One evening. `enter` starts the game, or restarts it, and returns the players by their names."""

    # Any: the reactor as clock, and a coroutine.
    def __init__(self, clock: Any, enter: Callable[[], Any], pace: Pace, characters: Sequence[str]) -> None:
        self._clock = clock
        self._enter = enter
        self._pace = pace
        self._characters = characters
        self._players: dict[str, Visitor] = {}

    async def hold(self, item: Item, tell: Callable[[str], None]) -> list[dict[str, Any]]:
        """Play the talk, and return what was said and done in each turn. Raises EveningError."""
        turns = []
        for number, turn in enumerate(item.turns, 1):
            played = await self._turn(turn)
            turns.append(played)
            lines = " / ".join(f"{line['who']}: {line['command'] or line['how']}" for line in turn["heard"])
            words = " / ".join(f"{one['who']}: {one['text']}" for one in played["words"])
            tell(f"{number}/{len(item.turns)} {lines} -> {words or '(nothing)'}")
        return turns

    async def _turn(self, turn: Turn) -> dict[str, Any]:
        first = turn["heard"][0]
        if first["how"] == "comes":
            self._players = await self._enter()
            people = list(self._players.values())
            return await self._watched(people, 0, self._pace.pause, [0 for _ in people])
        people = [self._players[line["who"]] for line in turn["heard"]]
        at = people[0].room
        marks = [one.mark for one in people]
        if first["how"] == "goes to":
            await self._walk(people[0], first["text"])
            played = await self._watched(people, 0, self._pace.quiet, marks)
        else:
            for player, line in zip(people, turn["heard"], strict=True):
                player.type(line["command"])
            spoken = first["how"] not in {"go", "does"}
            most = self._pace.wait if spoken else min(STEP_SECONDS, self._pace.wait)
            played = await self._watched(people, len(people) if spoken else 0, most, marks)
        return played | ({"at": at} if at else {})

    async def _walk(self, player: Visitor, where: str) -> None:
        """Walk to a resident or to a place, one room after the other. Raises EveningError."""
        for direction, room in rooms_to(player.room, where, RESIDENTS):
            player.type(direction)
            begun = self._clock.seconds()
            while player.room != room:
                if self._clock.seconds() - begun > self._pace.wait:
                    raise EveningError(f"{player.name} could not go {direction}: {player.text[-300:]!r}")
                await deferLater(self._clock, _LOOK_SECONDS)

    async def _watched(
        self, people: Sequence[Visitor], wanted: int, most: float, marks: Sequence[int]
    ) -> dict[str, Any]:
        """Wait `most` seconds, or until so many answers came and it is quiet; return what these people saw."""
        begun = self._clock.seconds()
        first, last, seen = None, begun, Seen([], [])
        while True:
            now = self._clock.seconds()
            found = seen_of([one.text[mark:] for one, mark in zip(people, marks, strict=True)], self._characters)
            if len(found.words) > len(seen.words):
                first, last = (now if first is None else first), now
            seen = found
            answered = wanted and len(seen.words) >= wanted
            if now - begun >= most or (answered and now - last >= self._pace.quiet):
                break
            await deferLater(self._clock, _LOOK_SECONDS)
        return {
            "words": seen.words,
            "acts": [],
            "seconds": round((last if seen.words else self._clock.seconds()) - begun, 2),
            "first": None if first is None else round(first - begun, 2),
            "prompt_tokens": [],
            "output_tokens": 0,
            "room": people[0].room,
            "held": {},
            "carried": [],
            "notices": seen.notices,
        }


def _asked(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options of the benchmark, and those of the game behind `--`."""
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.evening", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("evening", type=Path, help="the talk as it is written down")
    parser.add_argument("--answers", type=Path, required=True, metavar="OUT", help="where the answers are written")
    parser.add_argument("--folder", type=Path, help="where the game is made, and stays (default: it does not stay)")
    parser.add_argument("--python", default=_usual_python(), help="whose game it is (default: that of make game)")
    parser.add_argument("--wait", type=float, default=USUAL.wait, help="seconds for an answer (default: 20)")
    parser.add_argument("--quiet", type=float, default=USUAL.quiet, help="seconds of quiet that end one (default: 4)")
    parser.add_argument("--pause", type=float, default=USUAL.pause, help="seconds before the first line (default: 10)")
    return parser.parse_args(words[:at]), list(words[at + 1 :])


def _usual_python() -> str:
    of_the_game = Path(".venv-game/bin/python").absolute()
    return str(of_the_game) if of_the_game.exists() else sys.executable


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


async def _main(reactor: Any, asked: argparse.Namespace, of_the_game: Sequence[str]) -> None:
    try:
        item = evening_talk(asked.evening)
        turns = await _held(reactor, item, asked, of_the_game)
        record = json.dumps({"id": item.id, "turns": turns}, ensure_ascii=False)
        asked.answers.write_text(record + "\n", encoding="utf-8")
    except (EveningError, OSError, ValueError) as error:
        _tell(f"benchmarks.evening: {error}")
        raise SystemExit(2) from error
    firsts = sorted(turn["first"] for turn in turns if turn["first"] is not None)
    median = f", the first word after {percentile(firsts, 0.5):.1f} s in the median" if firsts else ""
    _tell(f"{len(firsts)} of {len(turns)} turns were answered{median}")


async def _held(
    reactor: Any, item: Item, asked: argparse.Namespace, of_the_game: Sequence[str]
) -> list[dict[str, Any]]:
    """Hold the evening in a game that is not left running. Raises EveningError and OSError."""
    from benchmarks.evening_game import EveningGame  # noqa: PLC0415  (imports the reactor)

    if asked.answers.exists():
        raise EveningError(f"{asked.answers} is there already: name another file")
    with tempfile.TemporaryDirectory() as passing:
        folder = (asked.folder or Path(passing) / "game").absolute()
        game = EveningGame(reactor, folder, asked.python, of_the_game, _tell)
        pace = Pace(asked.wait, asked.quiet, asked.pause)
        evening = Evening(reactor, lambda: game.enter(item.people), pace, (FIRST_CHARACTER, *RESIDENTS))
        try:
            return await evening.hold(item, _tell)
        finally:
            await game.stop()


if __name__ == "__main__":
    options, behind = _asked(sys.argv[1:])
    react(lambda reactor: Deferred.fromCoroutine(_main(reactor, options, behind)), ())
