"""What a search found, as a small model is told it: only hits that have to do with the question. Pure.

A small model takes any hit for the answer. So a hit is held to the words of the question before it is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from msgspec import Struct

from mud_assistant.assistant.language.knowing import stems, stems_of
from mud_assistant.assistant.language.things import known_words
from mud_assistant.assistant.language.words import content_words, sentences_of, words_of
from mud_assistant.tools import Executed, Status
from mud_assistant.tools.text.clean import one_line

SEARCH = "web_search"
#: Said when a search found nothing that has to do with the question.
FOUND_NOTHING = "I looked for that, and found nothing about it."
#: How many hits of a search are shown, and the most characters of each.
MAX_HITS, MAX_HIT_CHARS = 2, 400
#: The fewest words that an answer shares with a hit when it has its fact from there.
_SHARED_WORDS = 2
#: Words of a question that say only which side of a thing is asked for.
_ASKED_TEXT = """
    old tall long high deep far big large wide heavy fast live lives year world whose whom happened called mean means
    find search web online
"""
_ASKED = frozenset(_ASKED_TEXT.split())
_NAME = re.compile(r"(?!^)\b[A-Z][\w'\u2019-]+")


class Hit(Struct, frozen=True):
    """One result of a search: the number to cite it by, and what it says."""

    number: int
    text: str


def fits(query: str, text: str) -> bool:
    """Tell whether a text has to do with a query: more than half of its names, else half of its words.

    A number of the query, such as a year, must be in the text.
    """
    told = stems(known_words(text))
    if not {word for word in words_of(query) if word.isdigit()} <= told:
        return False
    if names := stems_of(" ".join(_NAME.findall(query))):
        return 2 * len(names & told) > len(names)
    words = content_words(query)
    asked = stems(words - _ASKED) or stems(words)
    return bool(asked) and 2 * len(asked & told) >= len(asked)


def has_searched(executed: Sequence[Executed]) -> bool:
    """Tell whether a search among these calls was made."""
    return any(map(_is_search, executed))


def _is_search(done: Executed) -> bool:
    return done.call.name == SEARCH and done.status is Status.DONE


def fitting_hits(executed: Sequence[Executed]) -> list[Hit]:
    """Return the first hits that have to do with what was searched for. A result that cannot be read gives none."""
    found: list[Hit] = []
    for done in filter(_is_search, executed):
        query = str(done.call.arguments.get("query", ""))
        try:
            # The run's advice may follow the JSON.
            results = json.JSONDecoder().raw_decode(done.result.text)[0]["results"]
        except (ValueError, KeyError, TypeError):
            continue
        fitting = [one for one in results if fits(query, f"{one.get('title', '')} {one.get('snippet', '')}")]
        for result in fitting[:MAX_HITS]:
            text = one_line(str(result.get("snippet") or result.get("title", "")), max_chars=MAX_HIT_CHARS)
            if text:
                found.append(Hit(int(result["citation_id"]), text if text.endswith((".", "!", "?")) else f"{text}."))
    return found


def found_sentence(asked: str, hits: Sequence[Hit]) -> str:
    """Return the sentence of the hits that has most to do with a question, empty when none shares enough words."""
    words = content_words(asked)
    told = [sentence for hit in hits for sentence in sentences_of(hit.text)]
    best = max(told, key=lambda sentence: len(words & content_words(sentence)), default="")
    return best if len(words & content_words(best)) >= min(_SHARED_WORDS, len(words)) > 0 else ""


def with_source(said: str, hits: Sequence[Hit]) -> str:
    """Return the answer with the number of the hit its fact comes from, unless it cites one itself."""
    if "[" in said or not said:
        return said
    words = content_words(said)
    shared, number = max(((len(words & content_words(hit.text)), -hit.number) for hit in hits), default=(0, 0))
    if shared < _SHARED_WORDS:
        return said
    first = sentences_of(said)[0]
    mark = f" [{-number}]"
    return said.replace(first, first[:-1] + mark + first[-1] if first[-1] in ".!?" else first + mark, 1)
