"""Defines a character: who they are, how they talk, how they greet, and the lore they know. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from msgspec import Struct, field

from mud_assistant.assistant.characters.day_entries import NO_DAYS, Days
from mud_assistant.assistant.errors import AssistantError

#: The longest persona, greeting, line of an example, lore text, title and key, in characters.
MAX_PERSONA, MAX_GREETING, MAX_EXAMPLE, MAX_LORE, MAX_TITLE, MAX_KEY = 8000, 1200, 300, 8000, 120, 120
#: The most examples, greetings, lore entries, and keys of one entry.
MAX_EXAMPLES, MAX_GREETINGS, MAX_ENTRIES, MAX_KEYS = 12, 20, 1000, 50
#: The longest thing said on a topic, in characters; the most topics, and of one topic the most sample questions and
#: things said.
MAX_SAID, MAX_TOPICS, MAX_ASKS, MAX_SAYS = 600, 500, 30, 40
#: The most lines of the character's own that a piece of lore can wait for: older ones may have left the stream.
MAX_AFTER = 20
#: How many lines are searched for the keys of a lorebook that does not say.
SCAN_DEPTH = 4
#: These stand in texts for the names of the character and of the player, until both are known.
CHAR, USER = "{{char}}", "{{user}}"
#: Bytes of UTF-8 in a token of English; low, so that the estimate errs towards too many tokens.
_BYTES_PER_TOKEN = 3.8
_NO_NAME = re.compile(r"[^\w' -]+")
MAX_NAME = 40


class CharacterError(AssistantError):
    """A character cannot be read or written; the message names the file and the place, and says what to do."""


class CardRefused(CharacterError):
    """A card or lorebook that somebody else made cannot be used; the message says why."""


class LoreEntry(Struct, frozen=True):
    """One thing a character knows, shown to the model when one of its keys is heard.

    `constant` is always shown. `secondary` keys, where there are any, are judged by `logic`: "any" or "all" of them
    must be heard as well, "not_any" or "not_all" must not. `priority` decides which entries stay when not all fit;
    None: the `order` decides. Shown in `order`, the largest last. With `reached` an entry may be found by the text of
    another one, with `reaches` its own text may find others. One of the `additional` keys, where there are any, must be
    heard as well, and none of the `excluded`. It is brought up in `probability` of 100 cases, and only once the
    character has said `after` lines. Keys match parts of words, too, unless `whole_words`. What is `private` is known
    to the character alone, and is told to nobody.
    """

    title: str
    text: str
    keys: tuple[str, ...] = ()
    secondary: tuple[str, ...] = ()
    logic: str = "any"
    constant: bool = False
    priority: int | None = None
    order: int = 100
    case_sensitive: bool = False
    reached: bool = True
    reaches: bool = True
    additional: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    probability: int = 100
    after: int = 0
    whole_words: bool = True
    private: bool = False

    @property
    def id(self) -> str:
        """Return a short id that is the same as long as title and text are."""
        return blake2b(f"{self.title}\0{self.text}".encode(errors="replace"), digest_size=8).hexdigest()


class Topic(Struct, frozen=True):
    """Something the owner wrote that a character says, word for word, when a line asks for it.

    It is found by its `keys`, which are words and phrases, and by its sample questions, `asks`. Of what it `says`, one
    is said each time, another than the last time; with `parts` they are one after the other, the next when more is
    asked for. `gestures` are shown with it: one for all, or as many as there are things said, each as in "smiles."

    A riddle has `answers`, any of which solves it; then `solved` is said, and `reveal` to those who give up.
    """

    title: str
    says: tuple[str, ...]
    asks: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    parts: bool = False
    gestures: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    solved: str = ""
    reveal: str = ""


class Lorebook(Struct, frozen=True):
    """What a character knows. `scan_depth` is in lines, `token_budget` in tokens; None: a share of the window.

    With `recursive`, the texts of entries that were found may find others.
    """

    entries: tuple[LoreEntry, ...] = ()
    scan_depth: int = SCAN_DEPTH
    token_budget: int | None = None
    recursive: bool = False


class Character(Struct, frozen=True):
    """A part that an assistant plays.

    `examples` are lines heard, each with what the character says to it. Texts may hold `{{char}}`, and greetings
    `{{user}}`: `named` replaces the first, the greeting the second. `original` is the file it was imported from, as
    it was, for export; empty for none.
    """

    name: str
    persona: str = ""
    speech: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    greetings: tuple[str, ...] = ()
    lore: Lorebook = field(default_factory=Lorebook)
    topics: tuple[Topic, ...] = ()
    days: Days = NO_DAYS
    original: bytes = b""

    @property
    def front(self) -> str:
        """Return what the model is told of the part: the persona, and how they talk."""
        return "\n".join(filter(None, (self.persona, self.speech and f"How you talk: {self.speech}")))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, for any model."""
    return -int(-len(text.encode(errors="replace")) // _BYTES_PER_TOKEN)


def valid_name(text: str) -> str:
    """Return the text as a name an assistant can have; empty when nothing of it can be one."""
    return " ".join(_NO_NAME.sub(" ", text).split()).lstrip("' -")[:MAX_NAME].strip()


def file_name(name: str) -> str:
    """Return the name under which a character is kept: lower case letters, digits and hyphens; may be empty."""
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")[:MAX_NAME]


def unique_titles(entries: Iterable[LoreEntry]) -> tuple[LoreEntry, ...]:
    """Return the entries without those that have the title and text of an earlier one."""
    return tuple({entry.id: entry for entry in reversed(list(entries))}.values())[::-1]
