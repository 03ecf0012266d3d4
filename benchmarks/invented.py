"""Counts the answers that name a thing that is not there, and those that repeat an example of the prompt.

    python -m benchmarks.invented [--tools] [--voice] [--answers OUT.jsonl] [-- --provider embedded --model small]

30 lines of ours in three rooms of ours, each said to a fresh character. A thing counts as invented when neither the
place, the character's persona nor the talk names it and the sentence does not deny it. With --tools the model is asked
with tools, as a large one is; with --voice the characters have examples of their own. What stands behind `--` are
options of `mud-assistant trial`. The last line of the output is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from benchmarks.figures import percentile
from benchmarks.talk import CANNOT_START, play
from benchmarks.talk_stage import Item, read_items
from mud_assistant.assistant.language.check import EXAMPLE_WORDS
from mud_assistant.assistant.language.things import DENIES, THINGS, known_words
from mud_assistant.assistant.language.words import runs, sentences_of, singular, words_of

ITEMS = Path(__file__).parent / "invented_items.jsonl"
_MORE_TEXT = """
    ale alley bag beam bush ceiling chamber chest cellar clothing coal counter couch cloth door elephant fence
    fixture floor food frame furniture garden gate glass grass gold hall hay herb hill hook house jewelry
    kitchen lake lamppost light lighthouse log meat medicine mill nail newt note owl path pebble plant pole pond
    pool porch powder river road rock roof sack samovar sextant shoelace sign silver soup stair stall straw
    street thimble tile tool tower tree tunnel vessel wall walnut acorn bobbin mule water weapon well window yak
    yard
"""
#: Things that the product does not look for, because their names mean other things too. A room has them or it has not.
MORE_THINGS: frozenset[str] = frozenset(_MORE_TEXT.split())
#: Words of the examples that name a thing or a place, whichever of them the prompt shows.
_NAMED = THINGS | MORE_THINGS | {"passage", "volcano", "brother"}
_USUAL = ["--provider", "embedded", "--model", "small"]
_ASKED_WITH_TOOLS = "[model]\nasking = 'tools'\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, the things it invents, and what it has of the examples: their nouns and their words in a row."""

    id: str
    said: str
    invented: tuple[str, ...]
    nouns: tuple[str, ...]
    copied: bool


def judge_answer(item: Item, record: Mapping[str, Any]) -> Answer:
    """Judge what was said in all turns of an item. An item that failed or was not played has no words."""
    said = " ".join(one["text"] for turn in record.get("turns", ()) for one in turn["words"] if one["how"] != "emote")
    heard = [line["text"] for turn in item.turns for line in turn["heard"]]
    own = [_text_of_place(item.written), *heard, *item.people]
    voice: Mapping[str, str] = item.written.get("voice", {})
    known, shown = known_words(*own), [text for text in record.get("front", ()) if text not in voice.values()]
    told = [one for one in sentences_of(said) if not DENIES.search(one)]
    names = dict.fromkeys(singular(word) for one in told for word in words_of(one))
    nouns = (known_words(*shown) & _NAMED) - known
    allowed = frozenset().union(*(runs(words_of(text), EXAMPLE_WORDS) for text in own))
    copied = _runs_in(shown) & runs(words_of(said), EXAMPLE_WORDS) - allowed
    invented = tuple(name for name in names if name in THINGS | MORE_THINGS and name not in known)
    return Answer(item.id, said, invented, tuple(name for name in names if name in nouns), bool(copied))


def _runs_in(texts: Iterable[str]) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(runs(words_of(text), EXAMPLE_WORDS) for text in texts))


def _text_of_place(written: Mapping[str, Any]) -> str:
    """Return every text of a place as it is written, the character's own examples included."""
    return json.dumps({key: value for key, value in written.items() if key != "kind"}, ensure_ascii=False)


def told(answers: Sequence[Answer], seconds: Sequence[float], prompt_tokens: Sequence[float]) -> str:
    """Return the answers that have something wrong, and then the shares as one line of JSON."""
    rows = [
        f"{one.id:8} {', '.join(one.invented) or '-':24} {'COPIED ' if one.copied else ''}{one.said}"
        for one in answers
        if one.invented or one.nouns or one.copied
    ]
    answered = [one for one in answers if one.said]
    size = len(answered) or 1
    figures = {
        "lines": len(answers),
        "answered": len(answered),
        "invented": round(sum(bool(one.invented) for one in answered) / size, 3),
        "of_examples": round(sum(bool(one.nouns or one.copied) for one in answered) / size, 3),
        "seconds_median": round(percentile(seconds, 0.5), 2),
        "prompt_tokens_median": percentile(prompt_tokens, 0.5),
    }
    return "\n".join([*rows, json.dumps(figures)])


def items_of(path: Path, *, voice: bool, sample: int = 0) -> list[Item]:
    """Read the items. Without `voice` their characters lose their own examples. Raises as `read_items` does."""
    items = read_items(path, sample)
    if voice:
        return items
    bare = {item.id: {key: value for key, value in item.written.items() if key != "voice"} for item in items}
    return [replace(item, written=bare[item.id]) for item in items]


def _asked(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options of the benchmark, and those of the model behind `--`."""
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.invented", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", type=Path, nargs="?", default=ITEMS, help="default: our own, invented_items.jsonl")
    parser.add_argument("--tools", action="store_true", help="ask the model with tools; not with --config behind --")
    parser.add_argument("--voice", action="store_true", help="give the characters their own examples")
    parser.add_argument("--answers", type=Path, help="keep the answers here; what is in it is not played again")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N lines, spread over the rooms")
    return parser.parse_args(words[:at]), list(words[at + 1 :]) or _USUAL


# Any: the reactor, which has no one interface for time, network and processes.
async def _main(reactor: Any, options: argparse.Namespace, model: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if options.tools:
            settings = Path(folder) / "assistant.toml"
            settings.write_text(_ASKED_WITH_TOOLS, encoding="utf-8")
            model = [*model, "--config", str(settings)]
        try:
            items = items_of(options.items, voice=options.voice, sample=options.sample)
            records = await play(reactor, items, options.answers or Path(folder) / "answers.jsonl", model)
        except CANNOT_START as error:
            print(f"benchmarks.invented: {error}", file=sys.stderr)
            raise SystemExit(2) from error
    turns = [turn for record in records.values() for turn in record.get("turns", ())]
    seconds = [turn["seconds"] for turn in turns]
    tokens = [tokens for turn in turns for tokens in turn["prompt_tokens"]]
    print(told([judge_answer(item, records.get(item.id, {})) for item in items], seconds, tokens))


if __name__ == "__main__":
    asked, of_the_model = _asked(sys.argv[1:])
    react(lambda reactor: Deferred.fromCoroutine(_main(reactor, asked, of_the_model)), ())
