"""Tells a small model what came of the calls of its run: deeds as sentences, hits of a search as facts. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.language.words import PLAIN_WORDS, sentences_of, words_of
from tools import Executed, Status
from tools.text.clean import one_line

#: How many hits of a search are shown, and the most characters of each.
MAX_HITS, MAX_HIT_CHARS = 2, 400
#: The fewest words that an answer shares with a hit when it has its fact from there.
_SHARED_WORDS = 2
_DONE = {
    "take": "You have just taken the {thing}.",
    "drop": "You have just put down the {thing}.",
    "give": "You have just given the {thing} to {person}.",
    "inspect": "You have just looked at the {target}.",
}


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search: the number to cite it by, and what it says."""

    number: int
    text: str


def outcomes_of(executed: Sequence[Executed]) -> list[str]:
    """Return what came of deeds and searches, each as a sentence or two."""
    told = []
    for done in executed:
        name, arguments = done.call.name, {key: str(value) for key, value in done.call.arguments.items()}
        if done.status is not Status.DONE:
            told.append(f"You tried, and it did not work: {one_line(done.result.text, max_chars=200)}")
        elif name in _DONE:
            told.append(_DONE[name].format(**arguments))
    return [*told, *(hit.text for hit in hits_of(executed))]


def hits_of(executed: Sequence[Executed]) -> list[Hit]:
    """Return the first hits of the searches among these calls. A result that cannot be read gives none."""
    found: list[Hit] = []
    for done in executed:
        if done.call.name != "web_search" or done.status is not Status.DONE:
            continue
        try:
            # The run's advice may follow the JSON.
            results = json.JSONDecoder().raw_decode(done.result.text)[0]["results"]
        except (ValueError, KeyError, TypeError):
            continue
        for result in results[:MAX_HITS]:
            text = one_line(str(result.get("snippet") or result.get("title", "")), max_chars=MAX_HIT_CHARS)
            if text:
                found.append(Hit(int(result["citation_id"]), text if text.endswith((".", "!", "?")) else f"{text}."))
    return found


def with_source(said: str, hits: Sequence[Hit]) -> str:
    """Return the answer with the number of the hit its fact comes from, unless it cites one itself."""
    if "[" in said or not said:
        return said
    words = _content(said)
    shared, number = max(((len(words & _content(hit.text)), -hit.number) for hit in hits), default=(0, 0))
    if shared < _SHARED_WORDS:
        return said
    first = sentences_of(said)[0]
    mark = f" [{-number}]"
    return said.replace(first, first[:-1] + mark + first[-1] if first[-1] in ".!?" else first + mark, 1)


def _content(text: str) -> set[str]:
    return set(words_of(text)) - PLAIN_WORDS
