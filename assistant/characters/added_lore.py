"""Adds lore to a character, and deletes what was added, while a game runs. Blocks: not for the reactor thread.

What is added stands in one Markdown file of the character's lore, which its owner may edit as well.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import NamedTuple

from mud_assistant.assistant.characters.character import MAX_ENTRIES, Character, CharacterError, LoreEntry
from mud_assistant.assistant.characters.reading import (
    LORE_FOLDER,
    MAX_OWN_FILE,
    SHIPPED,
    check_file_name,
    find_anywhere,
    read_character,
    read_lore_files,
    read_text,
)
from mud_assistant.assistant.characters.written import lore_of_markdown, split_markdown
from mud_assistant.assistant.durable import write_whole

#: The file that lore is added to.
ADDED = "added.md"
#: In place of a key: it is always shown; it is for the character alone.
_ALWAYS, _PRIVATE = "always", "private"
_FENCES = ("```", "~~~")
#: Held while the file is read and written anew.
_WRITING = Lock()


class LorePiece(NamedTuple):
    """A piece of lore and the name of the file that it stands in."""

    entry: LoreEntry
    file: str


class FoundCharacter(NamedTuple):
    """A character under the name of its file or folder, the file that describes it, and its lore by file."""

    name: str
    character: Character
    path: Path
    pieces: tuple[LorePiece, ...]

    @property
    def is_shipped(self) -> bool:
        """Whether the character is one of those that ship with the product."""
        return SHIPPED in self.path.parents


def read_with_sources(folder: Path, name: str) -> FoundCharacter:
    """Return a character with the file of each piece of lore. Raises CharacterError. Blocks."""
    character = read_character(folder, name)
    path = find_anywhere(folder, name)
    assert path is not None  # it was just read
    files = {entry.id: file.name for file, entries in read_lore_files(folder, name) for entry in entries}
    pieces = (LorePiece(entry, files.get(entry.id, path.name)) for entry in character.lore.entries)
    return FoundCharacter(name, character, path, tuple(pieces))


def add_lore(folder: Path, name: str, title: str, keys: str, text: str) -> LoreEntry:
    """Add a piece of lore to a character and return it. Raises CharacterError, as when there is one like it. Blocks.

    `keys` are separated by commas; "always" shows it always, and without any its title is the key. With "private" among
    them it is for the character alone.
    """
    check_file_name(name)
    keys = ", ".join(filter(None, (" ".join(key.split()) for key in keys.split(","))))
    words = [key for key in keys.split(", ") if key.casefold() != _PRIVATE]
    private, keys = _PRIVATE in keys.casefold().split(", "), ", ".join(words)
    line = "constant: yes\n" if keys.casefold() == _ALWAYS else f"keys: {keys}\n" if keys else ""
    line += "private: yes\n" if private else ""
    section = f"# {title}\n{line}\n{text}\n"
    path = folder / name / LORE_FOLDER / ADDED
    with _WRITING:
        there = read_character(folder, name).lore.entries
        entry = _only_entry(section, title, text)
        if any(one.title.casefold() == entry.title.casefold() for one in there):
            raise CharacterError(f"{name} has a piece of lore called {entry.title} already: give another title")
        if len(there) >= MAX_ENTRIES:
            raise CharacterError(f"{name} has {len(there)} pieces of lore, and the most is {MAX_ENTRIES}")
        before = read_text(path).rstrip() if path.exists() else ""
        _write(path, f"{before}\n\n{section}".lstrip())
    return entry


def delete_lore(folder: Path, name: str, entry: LoreEntry) -> None:
    """Delete a piece of lore that was added to a character in the game. Raises CharacterError. Blocks."""
    check_file_name(name)
    path = folder / name / LORE_FOLDER / ADDED
    with _WRITING:
        sections = split_markdown(read_text(path), str(path)) if path.exists() else []
        kept = [lines for lines, found in sections if found is None or found.id != entry.id]
        if len(kept) == len(sections):
            raise CharacterError(f"{entry.title} does not stand in {path} any more, so nothing was deleted")
        _write(path, "".join(kept))


def _only_entry(section: str, title: str, text: str) -> LoreEntry:
    """Return the entry of a section, which has this title and text and ends where it ends. Raises CharacterError."""
    if any(line.lstrip().startswith(_FENCES) for line in text.splitlines()):
        raise CharacterError("write the text as plain words: no line of ``` or ~~~ in it")
    where = "the piece"
    end = "\n# end\n\nend\n"
    found = lore_of_markdown(section + end, where)
    if found[1:] != lore_of_markdown(end, where) or (found[0].title, found[0].text) != (title.strip(), text.strip()):
        raise CharacterError("write title and text as plain words: no # round the title")
    return found[0]


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises CharacterError."""
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_OWN_FILE:
        raise CharacterError(f"{path} would be larger than {MAX_OWN_FILE // 1024} KiB: begin another file beside it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data, path.stat().st_mode & 0o777 if path.exists() else 0o644)
    except OSError as error:
        raise CharacterError(f"{path} cannot be written: {error.strerror}") from error
