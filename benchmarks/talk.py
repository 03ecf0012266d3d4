"""Plays scripted talks with a character and writes down what it said and did, for a judge to read.

    python -m benchmarks.talk ITEMS.jsonl --answers OUT.jsonl -- --provider ollama --model qwen3:4b
    python -m benchmarks.talk LINES.txt --as Anna --answers OUT.jsonl -- --config assistant.toml
    python -m benchmarks.talk ITEMS.jsonl --answers OUT.jsonl OTHER.jsonl --sheet SHEET.md
    python -m benchmarks.talk --marks ANNA.md BO.md --key SHEET.md.key.json

Each line of ITEMS is a place or an item (docs/models.md shows both). Every item is played in a fresh world with a
fresh character; the model is loaded once. What stands behind `--` are the options of `mud-assistant trial`. Items
that are answered in OUT already are not played again, and the figures are those of all items that are answered in it.

With --as each line of the file is said in one talk to the character of the settings, and no rule judges it. --sheet
plays nothing: it makes a blind sheet of the answers that are there, and --marks reads filled-in sheets.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import react

from benchmarks.evening_text import evening_talk
from benchmarks.figures import Figure, percentile
from benchmarks.talk_judge import Score, score
from benchmarks.talk_lines import lines_talk
from benchmarks.talk_marks import read_key, read_marks
from benchmarks.talk_marks import told as told_marks
from benchmarks.talk_sheet import SCALES, SheetError, make_sheet
from benchmarks.talk_stage import Item, Player, read_items
from mud_assistant.assistant.checks.finding import Problem, Unclear
from mud_assistant.assistant.checks.local_model import file_there, runs_here
from mud_assistant.assistant.command_line import parser as command_parser
from mud_assistant.assistant.config.playing import play as play_character
from mud_assistant.assistant.config.settings import DEFAULT_FILE, read_settings
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.keys.reference import anchor
from mud_assistant.assistant.models.offer import is_there
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.standalone import StandaloneOptions, service_of
from mud_assistant.assistant.surfaces.start_progress import Progress
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.assistant.worlds.embedded.place_file import WrittenPlace, read_place
from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.llm.embedded.fetching.models import default_data_dir
from mud_assistant.resilience import HttpExchange

OWN_ITEMS = Path(__file__).parent / "talk_items.jsonl"
#: Promised for the embedded model on two calm cores: seconds of a turn in the median, and the share of right items.
MOST_SECONDS, LEAST_RIGHT = 1.5, 0.85
#: What ends the program before anything is played.
CANNOT_START = (AssistantError, SheetError, OSError, ValueError)


# Any: the reactor, which has no one interface for time, network and processes.
async def play(reactor: Any, items: Sequence[Item], answers: Path, model: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Play what is not answered yet, append it to `answers`, and return every record of `items` by its id.

    Raises NoModelError, SettingsError and KeyReferenceError. An item that fails is recorded with its error and is
    played again the next time. Cancelling stops what was started.
    """
    known = _answered(answers)
    # By place, so that the model's cache of the unchanging front stays warm.
    left = sorted((one for one in items if "turns" not in known.get(one.id, {})), key=lambda one: one.written["place"])
    if left:
        options = _options(model)
        exchange, service = HttpExchange(reactor), service_of(reactor, options, os.environ, Progress())
        try:
            await service.parts.admit(options.config, options.entered_key)
            models = await service.parts.choose(options.config)
            if is_there(MINILM):
                service.parts.embedder.use_embedded()
            await service.parts.give_meaning()
            _tell(f"{len(left)} of {len(items)} items to play with {models[0].why}")
            try:
                await _each(Player(reactor, options, models, exchange, service.parts), left, answers, known)
            finally:
                for chosen in models:
                    if chosen.embedded is not None:
                        await chosen.embedded.stop()
        finally:
            await service.finish()
            await exchange.close()
    return {one.id: known[one.id] for one in items if one.id in known}


async def _each(player: Player, items: Sequence[Item], answers: Path, known: dict[str, dict[str, Any]]) -> None:
    """Play items one after the other; each is on disk before the next begins."""
    with answers.open("a", encoding="utf-8") as file:
        for number, item in enumerate(items, 1):
            record: dict[str, Any]
            try:
                record = {"id": item.id, **await player.play(item)}
            except CancelledError:
                raise
            except Exception as error:  # noqa: BLE001  (one item that fails must not cost the others)
                record = {"id": item.id, "error": f"{type(error).__name__}: {error}"}
            known[item.id] = record
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            file.flush()
            took = sum(turn["seconds"] for turn in record.get("turns", ()))
            _tell(f"{number}/{len(items)} {item.id} {item.category}: {record.get('error') or f'{took:.1f} s'}")


def _answered(answers: Path) -> dict[str, dict[str, Any]]:
    """The records that are there by their ids; a last line that was cut off by a kill is taken away. Blocks."""
    if not answers.exists():
        return {}
    content = answers.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        answers.write_bytes(whole)
    records = [json.loads(line) for line in whole.splitlines() if line.strip()]
    return {str(record["id"]): record for record in records}


def _options(model: Sequence[str]) -> StandaloneOptions:
    """What `mud-assistant trial` would begin with. Raises AssistantError; SystemExit for an option it does not know."""
    given = command_parser().parse_args(["trial", *model])
    if given.key:
        given.key = anchor(given.key, Path.cwd())
    chosen = {name: getattr(given, name) for name in ("provider", "model", "url", "key") if getattr(given, name)}
    written = read_place(given.place) if given.place else WrittenPlace(HAMLET)
    character = written.character | ({"name": given.name} if given.name else {})
    config = read_settings(given.config, {"model": chosen, "assistant": character, "journal": {"file": ""}})
    file = SettingsFile(given.config or DEFAULT_FILE)
    config = play_character(config, file.folder, name_too=True)
    wall = time.time  # noqa: TID251  (the composition root)
    return StandaloneOptions(config, file, wall, entered_key=given.key or "", place=written.place)


def told(found: Score) -> str:
    """A score as text: a line for each category, then seconds and tokens."""
    rows = [f"{'category':12} items right  wrong"]
    for category, (items, right, labels) in sorted(found.categories.items()):
        wrong = ", ".join(f"{label} {count}" for label, count in sorted(labels.items()))
        rows.append(f"{category:12} {items:5} {right:5}  {wrong}".rstrip())
    rows.append(
        f"right {found.right} of {found.items}; median {percentile(found.seconds, 0.5):.2f} s a turn, "
        f"{percentile(found.prompt_tokens, 0.5):.0f} tokens in a call, "
        f"{percentile(found.output_tokens, 0.5):.0f} out a turn"
    )
    return "\n".join(rows)


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Our own items with the embedded model, a third of them in the quick set. It is not fetched for that."""
    try:
        runs_here()
        file_there("small", default_data_dir(), {})
    except (Problem, Unclear) as why:
        return [Figure("", "talk: items answered right by the embedded model", None, note=str(why))]
    items = read_items(OWN_ITEMS, 0 if full else 16)
    with tempfile.TemporaryDirectory() as folder:
        records = await play(
            reactor, items, Path(folder) / "answers.jsonl", ["--provider", "embedded", "--model", "small"]
        )
    return figures_of(score(items, records))


def figures_of(found: Score) -> list[Figure]:
    """The figures of a score."""
    labels: dict[str, int] = {}
    for _, _, wrong in found.categories.values():
        for label, count in wrong.items():
            labels[label] = labels.get(label, 0) + count
    note = ", ".join(f"{label} {count}" for label, count in sorted(labels.items()))
    share = found.right / found.items
    repeated = labels.get("parrot", 0) + labels.get("example", 0)
    seconds = percentile(found.seconds, 0.5)
    return [
        Figure("", "talk: items answered right", 100 * share, "%", 100 * LEAST_RIGHT, note=note, at_least=True),
        Figure("", "talk: items with a line or an example repeated", repeated, "", 0),
        Figure("", "talk: a turn, median, wall time", seconds, "s", MOST_SECONDS),
        Figure("", "talk: tokens of the prompt of a call, median", percentile(found.prompt_tokens, 0.5)),
        Figure("", "talk: tokens of the answers of a turn, median", percentile(found.output_tokens, 0.5)),
    ]


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _asked(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options of the benchmark, and those of the model behind `--`."""
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.talk", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", type=Path, nargs="?", default=OWN_ITEMS, help="default: our own, talk_items.jsonl")
    parser.add_argument("--answers", type=Path, nargs="+", metavar="OUT", help="where the answers are, or are written")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N items, spread over the file")
    parser.add_argument("--as", dest="who", metavar="NAME", help="who says the lines of a file that is no JSON")
    reading = parser.add_argument_group("to be read by people")
    reading.add_argument("--sheet", type=Path, metavar="FILE", help="write a blind sheet of the answers that are there")
    reading.add_argument("--seed", type=int, default=1, metavar="N", help="another order of the sheet (default: 1)")
    reading.add_argument("--scale", choices=SCALES, default="words", help="marks by words, or from 0 to 3")
    reading.add_argument("--marks", type=Path, nargs="+", metavar="FILE", help="read the marks of filled-in sheets")
    reading.add_argument("--key", type=Path, metavar="FILE", help="the key of the sheet that was filled in")
    given = parser.parse_args(words[:at])
    if given.marks and not given.key:
        parser.error("--marks wants the key of the sheet too: --key SHEET.md.key.json")
    if not given.marks and not given.answers:
        parser.error("say with --answers where the answers are, or are to be written")
    if given.answers and len(given.answers) > 1 and not given.sheet:
        parser.error("one run is played at a time: several --answers belong to --sheet")
    return given, list(words[at + 1 :])


def _items(given: argparse.Namespace, model: Sequence[str]) -> list[Item]:
    """What is played or read. Raises AssistantError, OSError and ValueError."""
    if given.who:
        options = _options(model)
        return [lines_talk(given.items, given.who, options.place, options.config.assistant)]
    if given.items.suffix == ".md":
        if not given.sheet:
            raise ValueError(f"{given.items} is an evening in a game: hold it with python -m benchmarks.evening")
        return [evening_talk(given.items)]
    return read_items(given.items, given.sample)


def _read(given: argparse.Namespace, model: Sequence[str]) -> str:
    """Make a sheet, or read the marks of some; return what to tell. Raises SheetError and what `_items` raises."""
    if given.marks:
        key = read_key(given.key)
        return told_marks(key, [read_marks(file, key) for file in given.marks])
    for file in given.answers:
        if not file.exists():
            raise SheetError(f"{file} is not there: play it first, without --sheet")
    runs = {str(file): _answered(file) for file in given.answers}
    key_file = make_sheet(_items(given, model), runs, given.sheet, given.seed, given.scale)
    return f"{given.sheet} is for the readers, a copy for each; keep {key_file} from them"


async def _main(reactor: Any, options: argparse.Namespace, model: Sequence[str]) -> None:
    try:
        if options.marks or options.sheet:
            print(_read(options, model))
            return
        items = _items(options, model)
        records = await play(reactor, items, options.answers[0], model)
    except CANNOT_START as error:
        _tell(f"benchmarks.talk: {error}")
        raise SystemExit(2) from error
    if not options.who:
        print(told(score(items, records)))


if __name__ == "__main__":
    asked, of_the_model = _asked(sys.argv[1:])
    react(lambda reactor: Deferred.fromCoroutine(_main(reactor, asked, of_the_model)), ())
