"""Says orders to a character, and lines that only look like orders, and counts which deeds come of them.

    python -m benchmarks.orders --answers OUT.jsonl -- --provider embedded --model small

Each line is said in a fresh world. Half of the lines were there when the rules and the question were tuned ("tune");
the other half, in another place, was only measured ("held"). FILE may have lines and places of your own, in the form of
orders.jsonl beside this module. What stands behind `--` are the options of `mud-assistant trial`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from benchmarks.figures import percentile
from benchmarks.talk import CANNOT_START, play
from benchmarks.talk_stage import Item, as_place
from mud_assistant.assistant.worlds.embedded.place_file import place_of

OWN_LINES = Path(__file__).parent / "orders.jsonl"
PARTS = ("tune", "held")


def read_lines(path: Path, part: str = "", sample: int = 0) -> list[Item]:
    """Return the lines of a file, each as a talk of one turn; only those of `part`, if it is given. Blocks.

    Raises PlaceFileError, OSError, KeyError and ValueError.
    """
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    places = {one["place"]: one for one in records if one["kind"] == "place"}
    lines = [one for one in records if one["kind"] == "line" and part in {"", one["part"]}]
    if 0 < sample < len(lines):
        lines = [lines[at * len(lines) // sample] for at in range(sample)]
    return [_item(one, places[one["place"]]) for one in lines]


def _item(line: Mapping[str, Any], place: dict[str, Any]) -> Item:
    """Return a line as an item. It is to the character, whose name need not stand in it."""
    people = tuple(line["people"])
    heard = {"who": people[0], "how": "say", "text": line["line"], "to": True}
    turn = {"heard": [heard], "expect": {"deeds": line["wanted"]}}
    written = place_of(as_place(place), str(place["place"]))
    return Item(f"{line['part']}: {line['line']}", line["language"], written, people, (turn,), place)


def deeds_of(turn: Mapping[str, Any]) -> set[str]:
    """Return the deeds that were tried in a turn: names of tools, and of the game's commands."""
    return {
        str(act["args"]["command"]).partition(" ")[0] if act["tool"] == "execute_command" else act["tool"]
        for act in turn["acts"]
        if act["tool"] not in {"say", "whisper", "look"}
    }


def told(items: Sequence[Item], records: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table: for each part and language the orders that were found, the others that were obeyed, seconds."""
    rows = ["part  language  orders found  others obeyed  seconds: order, other"]
    kinds = dict.fromkeys((item.id.partition(":")[0], item.category) for item in items)
    for part, language in kinds:
        found: dict[bool, list[bool]] = {True: [], False: []}
        seconds: dict[bool, list[float]] = {True: [], False: []}
        for item in items:
            turns = records.get(item.id, {}).get("turns")
            if (item.id.partition(":")[0], item.category) != (part, language) or not turns:
                continue
            wanted, deeds = set(item.turns[0]["expect"]["deeds"]), deeds_of(turns[0])
            found[bool(wanted)].append(bool(wanted & deeds) if wanted else bool(deeds))
            seconds[bool(wanted)].append(turns[0]["seconds"])
        rows.append(
            f"{part:5} {language:9} {_share(found[True]):>13} {_share(found[False]):>14}"
            f"  {percentile(seconds[True], 0.5):.2f}, {percentile(seconds[False], 0.5):.2f}"
        )
    return "\n".join(rows)


def _share(right: Sequence[bool]) -> str:
    return f"{sum(right)}/{len(right)} {100 * sum(right) // max(1, len(right))}%"


def _asked(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options of the benchmark, and those of the model behind `--`."""
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.orders", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lines", type=Path, nargs="?", default=OWN_LINES, help="default: our own, orders.jsonl")
    parser.add_argument("--answers", type=Path, required=True, help="where the answers are written")
    parser.add_argument("--part", choices=PARTS, default="", help="only the lines of this part")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N lines, spread over the file")
    return parser.parse_args(words[:at]), list(words[at + 1 :])


async def _main(reactor: Any, options: argparse.Namespace, model: Sequence[str]) -> None:
    try:
        items = read_lines(options.lines, options.part, options.sample)
        records = await play(reactor, items, options.answers, model)
    except CANNOT_START as error:
        sys.stderr.write(f"benchmarks.orders: {error}\n")
        raise SystemExit(2) from error
    print(told(items, records))


if __name__ == "__main__":
    asked, of_the_model = _asked(sys.argv[1:])
    react(lambda reactor: Deferred.fromCoroutine(_main(reactor, asked, of_the_model)), ())
