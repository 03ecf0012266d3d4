"""Refuses answers that only repeat: what was just heard, what the assistant said a moment ago, or an example. Pure.

It applies to every model. `assistant/language/check.py` checks the answers of small models more strictly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from assistant.language.check import EXAMPLE_WORDS, MAX_LIKENESS, is_yes_or_no
from assistant.language.words import is_like, runs, words_of
from llm import LLMResponse, ToolCall

#: How many of its own last sayings the assistant must not repeat.
KEPT = 4
#: The fewest words of a line whose repetition counts. Shorter lines are greetings, which may be returned.
LEAST_WORDS = 3
#: How many words of a saying are kept.
MOST_WORDS = 80
#: Two sayings, or two questions, of at least this likeness are the same.
SAME = 0.9
#: The argument of each tool that speaks.
SPEECH = {"say": "text", "whisper": "text", "page": "text", "channel": "text"}


#: Verbs of a request to say something.
_TO_SAY = re.compile(
    r"\b(?:say|tell|whisper|repeat|announce|shout|call|cry|sing|recite|read|quote|pass on|page|message|greet|answer)\b",
    re.IGNORECASE,
)


class Repeat(StrEnum):
    """The source of a repeated answer. The value completes "You only repeated ..."."""

    HEARD = "what you heard"
    SELF = "what you said before"
    EXAMPLE = "an example"


@dataclass(frozen=True, slots=True)
class _Said:
    heard: str
    words: tuple[str, ...]


class Repeats:
    """The last sayings of one assistant, with which it tells whether an answer is only a repetition.

    `examples` are the sayings that its prompts show as examples. The sayings are lost when the process ends.
    """

    __slots__ = ("_examples", "_said")

    def __init__(self, examples: tuple[str, ...] = ()) -> None:
        self._examples = examples
        self._said: tuple[_Said, ...] = ()

    def found_in(self, said: str, heard: Sequence[str], *, did: bool = False) -> Repeat | None:
        """Return what `said`, the answer to the lines `heard`, repeats; None when it has words of its own.

        `did` says that something was done or looked up before. Its result may be told in the same words again.
        """
        words = words_of(said)
        for line in heard:
            if _is_echo(words, said, line):
                return Repeat.HEARD
        asked = " ".join(heard)
        if not did and len(words) > LEAST_WORDS:
            for before in self._said:
                if self._is_again(words, asked, before):
                    return Repeat.SELF
        return Repeat.EXAMPLE if len(words) >= EXAMPLE_WORDS and self._is_example(words, asked) else None

    def _is_example(self, words: Sequence[str], asked: str) -> bool:
        shared = runs(words, EXAMPLE_WORDS) & _runs_of(self._examples)
        return bool(shared) and bool(shared - runs(words_of(asked), EXAMPLE_WORDS))

    def add(self, said: str, heard: Sequence[str]) -> None:
        """Remember an answer that will be said."""
        self._said = (*self._said[1 - KEPT :], _Said(" ".join(heard), tuple(words_of(said)[:MOST_WORDS])))

    @staticmethod
    def _is_again(words: Sequence[str], asked: str, before: _Said) -> bool:
        """Tell whether it said the same before, in answer to something else.

        A player who asks the same again may get the same answer. A player who asks for these very words hears them.
        """
        if not is_like(words[:MOST_WORDS], before.words, SAME) or asked == before.heard:
            return False
        theirs = words_of(asked)
        return " ".join(words) not in " ".join(theirs) and not is_like(theirs, words_of(before.heard), SAME)


@lru_cache(maxsize=64)
def _runs_of(examples: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """Return every run of words of the examples. Cached, since many assistants share the examples."""
    return frozenset(run for example in examples for run in runs(words_of(example), EXAMPLE_WORDS))


def words_of_answer(response: LLMResponse) -> str:
    """Return all that an answer says: the texts of its calls that speak, or its plain text when it has no calls."""
    if not response.tool_calls:
        return response.content.strip()
    return " ".join(filter(None, (_text_of(call) for call in response.tool_calls)))


def _text_of(call: ToolCall) -> str:
    return str(call.arguments.get(SPEECH[call.name], "")) if call.name in SPEECH and not call.problem else ""


def _is_echo(words: Sequence[str], said: str, line: str) -> bool:
    """Tell whether the words are nearly those of the line.

    "The sea is safe." answers "Is the sea safe?" and is no echo. Nor is "Tea is ready!" after "Say that tea is ready".
    """
    theirs = words_of(line)
    if (wish := _TO_SAY.search(line)) is not None and not _TO_SAY.search(said):
        return is_like(words, words_of(line[: wish.start()]), MAX_LIKENESS)
    if len(theirs) < LEAST_WORDS or (is_yes_or_no(line) and not said.rstrip().endswith("?")):
        return False
    return is_like(words, theirs, MAX_LIKENESS)
