"""Makes a character of a card that a stranger made: versions 1, 2 and 3, and lorebooks alone. Pure.

A card runs no code, fetches no page and takes no place of our own rules: its system prompt and its instructions
behind the conversation are shown to the owner and not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import pairwise
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.characters.book import is_lorebook, read_book
from mud_assistant.assistant.characters.character import (
    MAX_EXAMPLE,
    MAX_EXAMPLES,
    MAX_GREETING,
    MAX_GREETINGS,
    MAX_LORE,
    MAX_PERSONA,
    CardRefused,
    Character,
    Lorebook,
    estimate_tokens,
    file_name,
    valid_name,
)
from mud_assistant.assistant.characters.cleaning import clean_line, clean_text
from mud_assistant.assistant.characters.container import read_card_file
from mud_assistant.assistant.characters.day_tables import read_days
from mud_assistant.assistant.characters.fields import Fields
from mud_assistant.assistant.characters.topic_tables import read_topics
from mud_assistant.assistant.characters.unused import unused_in_card

#: The newest version of cards that is fully known.
NEWEST = 3.0
#: The most tokens of all examples of a card.
MAX_EXAMPLE_TOKENS = 300
#: Stands for the player in examples.
_FRIEND = "friend"
_START = re.compile(r"<START>", re.IGNORECASE)
#: Names that fields had before version 1 was written down.
_OLD_NAMES = {
    "name": "char_name",
    "description": "char_persona",
    "scenario": "world_scenario",
    "first_mes": "char_greeting",
    "mes_example": "example_dialogue",
}


class CardPreview(Struct, frozen=True):
    """What an import would bring; nothing is written or active yet.

    `kind` is "character" or "lorebook". `dropped` has a sentence for each thing that is left out or was changed.
    `system_prompt` and `last_instructions` are shown to the owner and never used.
    """

    kind: str
    version: str
    character: Character
    dropped: tuple[str, ...] = ()
    system_prompt: str = ""
    last_instructions: str = ""
    creator: str = ""
    creator_notes: str = ""

    @property
    def front_tokens(self) -> int:
        """Return an estimate of the tokens that every prompt begins with because of it."""
        spoken = "".join(f"{heard}{said}" for heard, said in self.character.examples)
        constant = "".join(entry.text for entry in self.character.lore.entries if entry.constant)
        return estimate_tokens(self.character.front + spoken + constant)


def preview_card(data: bytes, *, assistant: str = "") -> CardPreview:
    """Return what importing this file would bring. Raises CardRefused. Not for the reactor thread: takes up to 1 s.

    `assistant` is whom the card is for. It and the card decide what the card leaves to chance, once and for all.
    """
    problems: list[str] = []
    whole = read_card_file(data, problems)
    if is_lorebook(whole):
        return _preview_book(whole, data, assistant, problems)
    card, version = card_data(whole)
    name = _name_of(card)
    fields = Fields(seed_of(data, assistant or file_name(name)), problems)
    if version_number(whole) > NEWEST:
        fields.drop(
            f"the card is of version {version_number(whole)}, newer than {NEWEST}: what is new in it is not used"
        )
    character = _character(name, card, fields, data)
    for sentence in unused_in_card(card):
        fields.drop(sentence)
    if not (character.persona or character.lore.entries):
        raise CardRefused("the card says nothing about who the character is: it has no description")
    return CardPreview(
        "character",
        version,
        character,
        fields.notes(),
        _shown(card, "system_prompt"),
        _shown(card, "post_history_instructions"),
        _shown(card, "creator"),
        _shown(card, "creator_notes"),
    )


def card_data(whole: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the table that has the card's fields, and the version of the card. Raises CardRefused."""
    inner = whole.get("data")
    if isinstance(inner, Mapping):
        spec = whole.get("spec")
        return inner, {"chara_card_v2": "V2", "chara_card_v3": "V3"}.get(str(spec), "of an unknown kind")
    card = {now: whole.get(now, whole.get(then)) for now, then in _OLD_NAMES.items()}
    if not isinstance(card["name"], str) or not any(isinstance(card[one], str) for one in list(card)[1:]):
        raise CardRefused(
            "this is no character card and no lorebook: it has neither a name and a description nor entries"
        )
    return {**whole, **card}, "V1"


def version_number(whole: Mapping[str, Any]) -> float:
    """Return the version a card says it has, 0 when it does not."""
    try:
        return float(str(whole.get("spec_version"))[:20])
    except ValueError:
        return 0.0


def seed_of(data: bytes, assistant: str) -> str:
    """Return the seed of what a card leaves to chance."""
    return f"{sha256(data).hexdigest()}\0{assistant}"


def _preview_book(whole: Mapping[str, Any], data: bytes, assistant: str, problems: Iterable[str]) -> CardPreview:
    inner = whole.get("data")
    book = inner if isinstance(inner, Mapping) else whole
    fields = Fields(seed_of(data, assistant), problems)
    lore = read_book(book, fields)
    if not lore.entries:
        raise CardRefused("the lorebook has no entry that can be used")
    name = valid_name(fields.line(book.get("name"), "name", 200))
    kind = "V3" if inner is book else "a world of SillyTavern"
    return CardPreview("lorebook", kind, Character(name, lore=lore, original=data), fields.notes())


def _name_of(card: Mapping[str, Any]) -> str:
    """Return the name that the character has in the game. Raises CardRefused when there is none."""
    names = (value for field in ("nickname", "name") if isinstance(value := card.get(field), str))
    name = next(filter(None, (valid_name(clean_line(one[:200], 200)) for one in names)), "")
    if not name:
        raise CardRefused("the card gives the character no name that can be used")
    return name


def _character(name: str, card: Mapping[str, Any], fields: Fields, data: bytes) -> Character:
    parts = [("description", ""), ("personality", "Personality: "), ("scenario", "Scenario: ")]
    found = [(before, fields.text(card.get(field), field, MAX_PERSONA)) for field, before in parts]
    persona = "\n".join(before + text for before, text in found if text)
    if len(persona) > MAX_PERSONA:
        fields.drop(f"persona: what is beyond {MAX_PERSONA} characters, of {len(persona)}")
        persona = clean_text(persona, MAX_PERSONA)
    book = card.get("character_book")
    return Character(
        name,
        persona,
        examples=_examples(card, fields, {name, str(card.get("name"))[:200]}),
        greetings=_greetings(card, fields),
        lore=read_book(book, fields) if isinstance(book, Mapping) else Lorebook(),
        topics=read_topics(card, fields),
        days=read_days(card, fields),
        original=data,
    )


def _greetings(card: Mapping[str, Any], fields: Fields) -> tuple[str, ...]:
    more = card.get("alternate_greetings")
    raw = [card.get("first_mes"), *(more if isinstance(more, list) else [])]
    if len(raw) > MAX_GREETINGS:
        fields.drop(f"{len(raw) - MAX_GREETINGS} greetings beyond the first {MAX_GREETINGS}")
    read = (
        fields.greeting(one, f"greeting {number}", MAX_GREETING) for number, one in enumerate(raw[:MAX_GREETINGS], 1)
    )
    return tuple(dict.fromkeys(filter(None, read)))


def _examples(card: Mapping[str, Any], fields: Fields, names: set[str]) -> tuple[tuple[str, str], ...]:
    """Return the lines of the examples, each with what the character says to it."""
    raw = card.get("mes_example")
    if not isinstance(raw, str):
        return ()
    pairs: list[tuple[str, str]] = []
    left = MAX_EXAMPLE_TOKENS
    for heard, said in _pairs(raw[: 4 * MAX_LORE], names):
        number = f"example {len(pairs) + 1}"
        pair = (
            fields.line(heard, number, MAX_EXAMPLE, _FRIEND),
            fields.line(said, f"{number}, answer", MAX_EXAMPLE, _FRIEND),
        )
        left -= sum(map(estimate_tokens, pair))
        if left < 0 or len(pairs) == MAX_EXAMPLES:
            fields.drop(f"examples beyond the first {len(pairs)}, which have {MAX_EXAMPLE_TOKENS} tokens at most")
            break
        if all(pair):
            pairs.append(pair)
    return tuple(pairs)


def _pairs(text: str, names: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each line of the player with the answer of the character that follows it."""
    theirs = "|".join(map(re.escape, sorted({*filter(None, names)}, key=len, reverse=True)))
    speaker = re.compile(
        rf"[ \t]*(?:(\{{\{{user\}}\}}|<user>|you)|(\{{\{{char\}}\}}|<bot>|<char>|{theirs}))[ \t]*:", re.IGNORECASE
    )
    for scene in _START.split(text):
        spoken: list[list[str]] = []
        for line in scene.splitlines():
            if found := speaker.match(line):
                spoken.append(["user" if found[1] else "char", line[found.end() :].strip()])
            elif spoken and line.strip():
                spoken[-1][1] += f" {line.strip()}"
        for first, second in pairwise(spoken):
            if (first[0], second[0]) == ("user", "char"):
                yield first[1], second[1]


def _shown(card: Mapping[str, Any], field: str) -> str:
    value = card.get(field)
    return clean_text(value[:MAX_LORE], MAX_LORE) if isinstance(value, str) else ""
