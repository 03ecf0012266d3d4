"""Defines what the file of a character may hold: each field with its bounds and what errors say is right. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from mud_assistant.assistant.characters.character import (
    MAX_AFTER,
    MAX_ASKS,
    MAX_ENTRIES,
    MAX_EXAMPLE,
    MAX_EXAMPLES,
    MAX_GREETING,
    MAX_GREETINGS,
    MAX_KEY,
    MAX_KEYS,
    MAX_LORE,
    MAX_NAME,
    MAX_PERSONA,
    MAX_SAID,
    MAX_SAYS,
    MAX_TITLE,
    MAX_TOPICS,
    SCAN_DEPTH,
    USER,
    LoreEntry,
    Topic,
)
from mud_assistant.assistant.characters.cleaning import clean_line
from mud_assistant.assistant.characters.day_entries import (
    FREE_MINUTES,
    LEAST_MINUTES,
    MAX_DAY,
    MAX_DEED,
    MAX_DOES,
    MOST_MINUTES,
    TIME,
    DayEntry,
    FreeLife,
    minutes_of,
)
from mud_assistant.assistant.characters.macros import names_player


def _text(longest: int) -> Any:
    return Field(min_length=1, max_length=longest, description=f"a text of 1 to {longest} characters")


_Greeting = Annotated[str, _text(MAX_GREETING)]
_Line = Annotated[str, _text(MAX_EXAMPLE)]
_Keys = Annotated[tuple[Annotated[str, _text(MAX_KEY)], ...], Field(max_length=MAX_KEYS)]
_KEYS = f'a list of at most {MAX_KEYS} texts, as in: ["lamp", "old tower"]'
_Order = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]
_NUMBER = "a whole number up to a million"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


class WrittenExample(_Strict):
    """Holds one example."""

    heard: _Line
    said: _Line


class WrittenLore(_Strict):
    """Holds one piece of lore."""

    title: Annotated[str, _text(MAX_TITLE)]
    text: Annotated[str, _text(MAX_LORE)]
    keys: _Keys | None = Field(default=None, description=_KEYS)
    secondary: _Keys = Field(default=(), description=_KEYS)
    logic: Literal["any", "all", "not_any", "not_all"] = Field(
        "any", description='"any", "all", "not_any" or "not_all"'
    )
    constant: bool = Field(default=False, description="true or false")
    priority: _Order | None = Field(default=None, description=_NUMBER)
    order: _Order = Field(default=100, description=_NUMBER)
    case_sensitive: bool = Field(default=False, description="true or false")
    reached: bool = Field(default=True, description="true or false")
    reaches: bool = Field(default=True, description="true or false")
    additional: _Keys = Field(default=(), description=_KEYS)
    excluded: _Keys = Field(default=(), description=_KEYS)
    probability: int = Field(default=100, ge=0, le=100, description="a number from 0 to 100")
    after: int = Field(default=0, ge=0, le=MAX_AFTER, description=f"a number of lines from 0 to {MAX_AFTER}")
    whole_words: bool = Field(default=True, description="true or false")
    private: bool = Field(default=False, description="true or false")

    def entry(self) -> LoreEntry:
        """Return the entry. One without keys is found by its title."""
        keys = self.keys if self.keys is not None else () if self.constant else (self.title,)
        return LoreEntry(**{**self.model_dump(), "keys": keys})


_Saying = Annotated[str, _text(MAX_SAID)]


class WrittenTopic(_Strict):
    """Holds one topic."""

    title: Annotated[str, _text(MAX_TITLE)]
    says: _Saying | Annotated[tuple[_Saying, ...], Field(min_length=1, max_length=MAX_SAYS)] = Field(
        description=f"a text of 1 to {MAX_SAID} characters, or a list of at most {MAX_SAYS}"
    )
    asks: tuple[_Line, ...] = Field(
        default=(), max_length=MAX_ASKS, description=f"a list of at most {MAX_ASKS} sample questions"
    )
    keys: _Keys = Field(default=(), description=_KEYS)
    parts: bool = Field(default=False, description="true or false")
    gesture: _Line | tuple[_Line, ...] = Field(
        default=(), description='a text such as "smiles.", or a list with one for each thing said'
    )
    answers: _Keys = Field(default=(), description=_KEYS)
    solved: str = Field(default="", max_length=MAX_SAID, description=f"a text of at most {MAX_SAID} characters")
    reveal: str = Field(default="", max_length=MAX_SAID, description=f"a text of at most {MAX_SAID} characters")

    def topic(self) -> Topic:
        """Return the topic. One without keys and sample questions is found by its title."""
        says = (self.says,) if isinstance(self.says, str) else self.says
        gestures = (self.gesture,) if isinstance(self.gesture, str) else self.gesture
        keys = self.keys or (() if self.asks else (self.title,))
        return Topic(self.title, says, self.asks, keys, self.parts, gestures, self.answers, self.solved, self.reveal)


_TIME = 'a time in quotes from "00:00" to "23:59", as in: "06:00"'
_DOES = f'a list of at most {MAX_DOES} gestures, as in: ["hammers on a glowing blade."]'


def _clean_deed(text: str) -> str:
    cleaned = clean_line(text, MAX_DEED)
    if not cleaned:
        raise ValueError("nothing in it can be shown")
    if names_player(cleaned):
        raise ValueError(f"nobody is meant by {USER} in a line of a day: leave it out")
    return cleaned


_Deed = Annotated[str, _text(MAX_DEED), AfterValidator(_clean_deed)]
_Deeds = Annotated[tuple[_Deed, ...], Field(max_length=MAX_DOES)]


class WrittenDay(_Strict):
    """Holds one entry of a day."""

    start: str = Field(alias="from", pattern=f"^{TIME}$", description=_TIME)
    place: str = Field(default="", max_length=MAX_TITLE, description=f"the name of a room, at most {MAX_TITLE} letters")
    begins: _Deed | None = Field(default=None, description='a gesture such as "lights the forge."')
    does: _Deeds = Field(default=(), description=_DOES)
    says: _Deeds = Field(default=(), description=f"a list of at most {MAX_DOES} sentences")
    rests: bool = Field(default=False, description="true or false")

    def entry(self) -> DayEntry:
        """Return the entry."""
        place = clean_line(self.place, MAX_TITLE)
        return DayEntry(minutes_of(self.start), place, self.begins or "", self.does, self.says, self.rests)


class WrittenFree(_Strict):
    """Holds the free life of a character."""

    does: _Deeds = Field(default=(), description=_DOES)
    every_minutes: int = Field(
        default=FREE_MINUTES, ge=LEAST_MINUTES, le=MOST_MINUTES,
        description=f"a number of minutes from {LEAST_MINUTES} to {MOST_MINUTES}",
    )  # fmt: skip

    def life(self) -> FreeLife:
        """Return the free life."""
        return FreeLife(self.does, self.every_minutes)


class WrittenBook(_Strict):
    """Holds the settings of a lorebook."""

    scan_depth: int = Field(default=SCAN_DEPTH, ge=1, le=50, description="a number of lines from 1 to 50")
    token_budget: int | None = Field(default=None, ge=1, le=100_000, description="a number of tokens up to 100000")
    recursive: bool = Field(default=False, description="true or false")


class WrittenLoreFile(_Strict):
    """Holds a file of lore."""

    lore: tuple[WrittenLore, ...] = Field(default=(), max_length=MAX_ENTRIES)


class WrittenTopicFile(_Strict):
    """Holds a file of topics."""

    topic: tuple[WrittenTopic, ...] = Field(default=(), max_length=MAX_TOPICS)


class WrittenCharacter(_Strict):
    """Holds the file of a character."""

    name: str = Field(
        default="",
        max_length=MAX_NAME,
        pattern=r"^(\w[\w' -]*)?$",
        description=f"letters, digits, spaces, hyphens and apostrophes, at most {MAX_NAME}",
    )
    persona: str = Field(default="", max_length=MAX_PERSONA, description=f"a text of at most {MAX_PERSONA} characters")
    speech: str = Field(default="", max_length=MAX_PERSONA, description=f"a text of at most {MAX_PERSONA} characters")
    greeting: _Greeting | Annotated[tuple[_Greeting, ...], Field(max_length=MAX_GREETINGS)] = Field(
        default=(), description=f"a text of 1 to {MAX_GREETING} characters, or a list of at most {MAX_GREETINGS}"
    )
    examples: tuple[WrittenExample, ...] = Field(
        default=(), max_length=MAX_EXAMPLES, description=f"at most {MAX_EXAMPLES} examples"
    )
    lore: tuple[WrittenLore, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description=f"at most {MAX_ENTRIES} entries"
    )
    lorebook: WrittenBook = Field(default_factory=WrittenBook)
    topic: tuple[WrittenTopic, ...] = Field(
        default=(), max_length=MAX_TOPICS, description=f"at most {MAX_TOPICS} topics"
    )
    day: tuple[WrittenDay, ...] = Field(default=(), max_length=MAX_DAY, description=f"at most {MAX_DAY} entries")
    free: WrittenFree = Field(default_factory=WrittenFree)
