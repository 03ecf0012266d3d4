"""Finds and reads the character of a name in a folder of characters. Blocks: not for the reactor thread.

A character is a file (`sage.toml`), a folder (`sage/character.toml` with `sage/lore/*.md` and `*.toml`, and
`sage/topics/*.toml`), or a card (`sage.png`, `sage.json`, `sage.charx`). A file `sage.toml` may have its lore and
topics in the folder `sage` as well. A character that ships with the product is found where the folder has none of its
name; its lore and topics in the folder are added.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from mud_assistant.assistant.characters.card import preview_card
from mud_assistant.assistant.characters.character import (
    MAX_ENTRIES,
    MAX_TOPICS,
    CardRefused,
    Character,
    CharacterError,
    LoreEntry,
    Topic,
    unique_titles,
)
from mud_assistant.assistant.characters.container import MAX_FILE
from mud_assistant.assistant.characters.day_entries import NO_DAYS, Days
from mud_assistant.assistant.characters.written import character_of, lore_of_markdown, lore_of_toml, topics_of_toml

#: The folder of characters, beside the settings or in the game's folder.
FOLDER = "characters"
#: What people say to anybody, with answers, and how the titles begin of those that are said for want of anything else.
EVERYDAY, OTHERWISE = Path(__file__).with_name("everyday.toml"), "Otherwise: "
#: The characters that ship with the product.
SHIPPED = Path(__file__).parent / "shipped"
#: The file of a character's folder, the folders of its lore and topics, and how the name of the card begins that it
#: was imported from.
CHARACTER_FILE, LORE_FOLDER, TOPICS_FOLDER, ORIGINAL = "character.toml", "lore", "topics", "original"
CARD_ENDINGS = (".png", ".charx", ".json")
#: The largest file that an owner writes, in bytes, and the most files of lore.
MAX_OWN_FILE, MAX_LORE_FILES = 2 * 1024 * 1024, 200


def read_character(folder: Path, name: str, shipped: Path = SHIPPED) -> Character:
    """Return the character of this name, of the folder or else of those that ship. Raises CharacterError. Blocks.

    A card and the name under which it is kept decide what the card leaves to chance.
    """
    check_file_name(name)
    path = find_anywhere(folder, name, shipped)
    if path is None:
        there = ", ".join(known_characters(folder, shipped)) or "none"
        raise CharacterError(f"there is no character '{name}' in {folder}; those there are: {there}")
    if path.suffix.casefold() in CARD_ENDINGS:
        try:
            return preview_card(read_file(path, MAX_FILE), assistant=name).character
        except CardRefused as error:
            raise CharacterError(f"{path}: {error}") from error
    character = character_of(read_text(path), str(path), name.replace("-", " ").title())
    lore_folder = folder / name / LORE_FOLDER
    added = (entry for _, entries in read_lore_files(folder, name) for entry in entries)
    entries = unique_titles([*character.lore.entries, *added])
    if len(entries) > MAX_ENTRIES:
        raise CharacterError(f"{lore_folder}: there are {len(entries)} pieces of lore; the most is {MAX_ENTRIES}")
    original = original_of(folder, name)
    return replace(
        character,
        lore=replace(character.lore, entries=entries),
        topics=_with_files(character.topics, folder, name),
        original=b"" if original is None else read_file(original, MAX_FILE),
    )


def read_days(folder: Path, name: str) -> Days:
    """Return the day of the character of this name, none for no name. Raises CharacterError. Blocks."""
    return read_character(folder, name).days if name else NO_DAYS


def character_folder(settings_folder: Path) -> Path:
    """Return the folder of characters of settings in this folder. Blocks.

    It stands beside them, or, where they are those of an Evennia game, in the game's folder.
    """
    beside = settings_folder / FOLDER
    if beside.is_dir() or settings_folder.parts[-2:] != ("server", "conf"):
        return beside
    return settings_folder.parents[1] / FOLDER


def find_character(folder: Path, name: str) -> Path | None:
    """Return the file that describes the character of this name, None when there is none. Blocks."""
    candidates = [folder / name / CHARACTER_FILE, folder / f"{name}.toml"]
    candidates += [folder / f"{name}{ending}" for ending in CARD_ENDINGS]
    return next((path for path in candidates if path.is_file()), None)


def find_anywhere(folder: Path, name: str, shipped: Path = SHIPPED) -> Path | None:
    """Return the file of a character of the folder or else of those that ship, None when there is none. Blocks."""
    return find_character(folder, name) or find_character(shipped, name)


def known_characters(folder: Path, shipped: Path = SHIPPED) -> list[str]:
    """Return the names of the characters of the folder and of those that ship, sorted. Blocks."""
    return sorted({*list_characters(folder), *list_characters(shipped)})


def list_characters(folder: Path) -> list[str]:
    """Return the names of the characters in the folder, sorted. Blocks."""
    if not folder.is_dir():
        return []
    files = {path.stem for path in folder.iterdir() if path.suffix.casefold() in {".toml", *CARD_ENDINGS}}
    return sorted(files | {path.parent.name for path in folder.glob(f"*/{CHARACTER_FILE}")})


def original_of(folder: Path, name: str) -> Path | None:
    """Return the card that the character was imported from, None when it was not. Blocks."""
    candidates = [folder / name / f"{ORIGINAL}{ending}" for ending in CARD_ENDINGS]
    return next((path for path in candidates if path.is_file()), None)


def read_lore_files(folder: Path, name: str) -> Iterator[tuple[Path, tuple[LoreEntry, ...]]]:
    """Yield each file of lore of this character with its entries, sorted by name. Raises CharacterError. Blocks."""
    lore = folder / name / LORE_FOLDER
    if not lore.is_dir():
        return
    paths = sorted(path for path in lore.iterdir() if path.suffix.casefold() in {".md", ".toml"} and path.is_file())
    if len(paths) > MAX_LORE_FILES:
        raise CharacterError(f"{lore}: there are {len(paths)} files of lore; the most is {MAX_LORE_FILES}")
    for path in paths:
        reader = lore_of_toml if path.suffix.casefold() == ".toml" else lore_of_markdown
        yield path, reader(read_text(path), str(path))


def _with_files(topics: Sequence[Topic], folder: Path, name: str) -> tuple[Topic, ...]:
    """Return the topics with those of the character's folder. Raises CharacterError. Blocks."""
    place = folder / name / TOPICS_FOLDER
    found = [(topic, "") for topic in topics]
    if place.is_dir():
        paths = sorted(path for path in place.iterdir() if path.suffix.casefold() == ".toml" and path.is_file())
        if len(paths) > MAX_LORE_FILES:
            raise CharacterError(f"{place}: there are {len(paths)} files of topics; the most is {MAX_LORE_FILES}")
        found += [(topic, str(path)) for path in paths for topic in topics_of_toml(read_text(path), str(path))]
    titles: set[str] = set()
    for topic, where in found:
        if topic.title in titles:
            raise CharacterError(f"{where or name}: there are two topics called {json.dumps(topic.title)}: rename one")
        titles.add(topic.title)
    if len(found) > MAX_TOPICS:
        raise CharacterError(f"{place}: there are {len(found)} topics; the most is {MAX_TOPICS}")
    return tuple(_with_ways_to_ask(topic) for topic, _ in found)


@cache
def everyday_topics() -> Mapping[str, Topic]:
    """Return what people say to anybody by its titles. The file is read once. Blocks."""
    return MappingProxyType({topic.title: topic for topic in topics_of_toml(read_text(EVERYDAY), EVERYDAY.name)})


def _with_ways_to_ask(topic: Topic) -> Topic:
    """Return a topic with the keys and sample questions of the everyday one of its title, where it has none itself."""
    known = everyday_topics().get(topic.title)
    has_own = topic.asks or topic.keys != (topic.title,)
    return topic if known is None or has_own else replace(topic, keys=known.keys, asks=known.asks)


def check_file_name(name: str) -> None:
    """Raise CharacterError for a name that leads out of the folder of characters, or to a hidden file."""
    if not name or name.startswith(".") or any(char in name for char in "/\\:\0") or name != name.strip():
        raise CharacterError(f"{json.dumps(name[:60])} is no name of a character: give one such as sage")


def read_file(path: Path, largest: int) -> bytes:
    """Return the content of a file of at most so many bytes. Raises CharacterError. Blocks."""
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise CharacterError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > largest:
        raise CharacterError(f"{path} is larger than {largest // 1024} KiB")
    return content


def read_text(path: Path) -> str:
    """Return the text of a file that an owner wrote. Raises CharacterError. Blocks."""
    try:
        return read_file(path, MAX_OWN_FILE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CharacterError(f"{path} is not UTF-8 text") from error
