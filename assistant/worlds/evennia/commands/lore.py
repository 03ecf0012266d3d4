"""Shows, adds, tries and deletes the lore of the character that an assistant plays."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred

from mud_assistant.assistant.characters import LorePiece
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.memory.topics import TopicFinder, TopicIndex
from mud_assistant.assistant.memory.topics.knowledge import everyday_finder
from mud_assistant.assistant.service.operations import lore_pieces
from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.service.operations.personas import found_of
from mud_assistant.assistant.service.wording.characters import activated_text, found_topics_text, piece_text
from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.console.settings_store import operated
from mud_assistant.assistant.worlds.evennia.console.showing import count_of, cut, paragraph, table
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    find_assistant,
    operator_of,
)

LORE_USAGE = "assistant/lore NAME [= NUMBER or WORD]"
ADD_USAGE = "assistant/lore/add NAME = TITLE: KEY, KEY: TEXT"
TEST_USAGE = "assistant/lore/test NAME = LINE"
DELETE_USAGE = "assistant/lore/delete NAME = NUMBER"
#: The most pieces that are listed at once, and the most characters of keys.
_LISTED, _KEYS = 60, 300
_PARTS = 3
_MAX_DIGITS = 6


def lore(typed: TypedCommand) -> Answer:
    """Do what the second switch says; without one, show the pieces of lore."""
    if not typed.switches:
        return show_lore(typed)
    return _MORE[match_name(typed.switches[0], _MORE, "switch of assistant/lore")](typed)


async def show_lore(typed: TypedCommand) -> str:
    """Show the pieces of lore, those with a word, or one whole by its number."""
    character = find_assistant(typed.left, LORE_USAGE)
    pieces = await _pieces_of(character)
    name = character.key
    if not pieces:
        return f"{name} knows no lore yet. To add a piece: {ADD_USAGE.replace('NAME', name)}"
    if typed.right and typed.right.isdecimal():
        return piece_text(_numbered(pieces, typed.right, name), name)
    word = (typed.right or "").casefold()
    found = [(number, piece) for number, piece in enumerate(pieces, 1) if _has(piece, word)]
    if not found:
        raise CommandRefused(f"No piece of the lore of {name} has '{cut(word)}' in it. All: assistant/lore {name}")
    rows = [(number, piece.entry.title, piece.file, _brought_by(piece)) for number, piece in found[:_LISTED]]
    more = f"And {count_of(len(found) - _LISTED, 'more piece')}: narrow them with a word. " * (len(found) > _LISTED)
    how = f"{more}One whole: assistant/lore {name} = NUMBER. What a line brings up: {TEST_USAGE.replace('NAME', name)}"
    head = ("", "title", "file", "brought up by")
    return f"{table(head, rows, typed.width, wraps=True)}\n{paragraph(how, typed.width)}"


async def add(typed: TypedCommand) -> str:
    """Add a piece of lore to the character that an assistant plays; one that plays none becomes a character first."""
    character = find_assistant(typed.left, ADD_USAGE)
    parts = (typed.right or "").split(":", _PARTS - 1)
    if len(parts) < _PARTS or not parts[0].strip() or not parts[-1].strip():
        raise CommandRefused(
            f"Type: {ADD_USAGE.replace('NAME', character.key)}. Without keys its title brings it up "
            "(TITLE: : TEXT); with always in their place it is always shown."
        )
    title, keys, text = parts
    who, id_ = operator_of(typed), server.id_of(character)
    return await lore_pieces.add_piece(operated(), who, id_, title=title, keys=keys.split(","), text=text)


async def test(typed: TypedCommand) -> str:
    """Say which lore a line would bring up, by which key, and what has no room in the model's window."""
    character = find_assistant(typed.left, TEST_USAGE)
    if not typed.right:
        raise CommandRefused(f"Type a line that somebody might say: {TEST_USAGE.replace('NAME', character.key)}")
    there, id_ = operated(), server.id_of(character)
    found = await found_of(there, id_)
    if found is None or not (found.pieces or found.character.topics):
        return f"{character.key} knows no lore yet. To add a piece: {ADD_USAGE.replace('NAME', character.key)}"
    activated, room = await lore_pieces.activate(there, id_, found, typed.right)
    brought = f"{activated_text(activated, character.key)}\nThere is room for {room} tokens at once."
    if not found.character.topics:
        return brought
    index = await there.in_thread(partial(TopicIndex, found.character.topics))
    mine = words_of(character.key)
    everyday = (await there.in_thread(everyday_finder)).find_by_words(typed.right, mine=mine)
    own = TopicFinder(index).find_by_words(typed.right, mine=mine)
    return f"{found_topics_text(own, character.key, everyday)}\n{brought}"


async def delete(typed: TypedCommand) -> str:
    """Delete a piece of lore that was added in the game, by its number."""
    character = find_assistant(typed.left, DELETE_USAGE)
    name = character.key
    if not typed.right or not typed.right.isdecimal():
        raise CommandRefused(f"Give the number of a piece: {DELETE_USAGE}. The numbers: assistant/lore {name}")
    _numbered(await _pieces_of(character), typed.right, name)
    return await lore_pieces.delete_piece(operated(), operator_of(typed), server.id_of(character), int(typed.right))


async def _pieces_of(character: Any) -> tuple[LorePiece, ...]:
    found = await found_of(operated(), server.id_of(character))
    return () if found is None else found.pieces


def _numbered(pieces: Sequence[LorePiece], text: str, name: str) -> LorePiece:
    """Return the piece of this number. Raises CommandRefused."""
    if len(text) > _MAX_DIGITS or not 0 < int(text) <= len(pieces):
        raise CommandRefused(f"{name} has {count_of(len(pieces), 'piece')} of lore: assistant/lore {name}")
    return pieces[int(text) - 1]


def _has(piece: LorePiece, word: str) -> bool:
    return word in "\n".join((piece.entry.title, piece.entry.text, piece.file, *piece.entry.keys)).casefold()


def _brought_by(piece: LorePiece) -> str:
    return "always" if piece.entry.constant else cut(", ".join(piece.entry.keys), _KEYS)


#: The switches behind assistant/lore.
_MORE: dict[str, Callable[[TypedCommand], Coroutine[Deferred[Any], Any, str]]] = {
    "add": add,
    "test": test,
    "delete": delete,
}
