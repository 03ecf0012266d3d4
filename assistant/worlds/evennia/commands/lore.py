"""Shows, adds, tries and deletes the lore of the character that an assistant plays."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred

from assistant.characters import (
    Character,
    CharacterError,
    FoundCharacter,
    LoreIndex,
    LorePiece,
    LoreScanner,
    add_lore,
    delete_lore,
    known_characters,
    write_character,
)
from assistant.characters.added_lore import ADDED
from assistant.characters.character import MAX_GREETINGS, USER, file_name
from assistant.language.words import words_of
from assistant.memory.topics import TopicFinder, TopicIndex
from assistant.memory.topics.knowledge import everyday_finder
from assistant.service.wording.characters import activated_text, found_topics_text, piece_text
from assistant.worlds.evennia import creation, server
from assistant.worlds.evennia.commands.persona import (
    folder_of_characters,
    found_of,
    in_thread,
    restarted_text,
)
from assistant.worlds.evennia.console.showing import count_of, cut, paragraph, table
from assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    find_assistant,
    match_name,
)
from tools.text.clean import one_line

LORE_USAGE = "assistant/lore NAME [= NUMBER or WORD]"
ADD_USAGE = "assistant/lore/add NAME = TITLE: KEY, KEY: TEXT"
TEST_USAGE = "assistant/lore/test NAME = LINE"
DELETE_USAGE = "assistant/lore/delete NAME = NUMBER"
#: The most pieces that are listed at once, and the most characters of keys.
_LISTED, _KEYS = 60, 300
#: The longest text that is typed, in characters; the reader of files has limits of its own.
_MAX_TYPED = 20_000
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
    return await add_piece(character, *parts)


async def add_piece(character: Any, title: str, keys: str, text: str) -> str:
    """Add a piece of lore to the character that an assistant plays, and say so; one that plays none becomes one first.

    `keys` are separated by commas. Raises CharacterError, CommandRefused and ServiceNotRunning.
    """
    title, keys, text = (one_line(part, max_chars=_MAX_TYPED) for part in (title, keys, text))
    if not title or not text:
        raise CommandRefused("A piece of lore needs a title and a text.")
    found = await found_of(character)
    made = ""
    if found is None:
        name = await _become_character(character)
        made = f" For that, who {character.key} is was written to characters/{name}, which it plays from now on."
    else:
        name = found.name
    entry = await in_thread(partial(add_lore, folder_of_characters(), name, title, keys, text))
    count = creation.restart_all(playing=name)
    brought = "is always shown" if entry.constant else f"is brought up by: {cut(', '.join(entry.keys), _KEYS)}"
    return f"{entry.title} stands in characters/{name}/lore/{ADDED}, and {brought}.{made} {restarted_text(count)}"


async def test(typed: TypedCommand) -> str:
    """Say which lore a line would bring up, by which key, and what has no room in the model's window."""
    character = find_assistant(typed.left, TEST_USAGE)
    if not typed.right:
        raise CommandRefused(f"Type a line that somebody might say: {TEST_USAGE.replace('NAME', character.key)}")
    found = await found_of(character)
    if found is None or not (found.pieces or found.character.topics):
        return f"{character.key} knows no lore yet. To add a piece: {ADD_USAGE.replace('NAME', character.key)}"
    scanner = await scanner_for(character, found)
    room = f"There is room for {scanner.budget} tokens at once."
    brought = f"{activated_text(scanner.activate([typed.right]), character.key)}\n{room}"
    if not found.character.topics:
        return brought
    index = await in_thread(partial(TopicIndex, found.character.topics))
    mine = words_of(character.key)
    everyday = (await in_thread(everyday_finder)).find_by_words(typed.right, mine=mine)
    own = TopicFinder(index).find_by_words(typed.right, mine=mine)
    return f"{found_topics_text(own, character.key, everyday)}\n{brought}"


async def scanner_for(character: Any, found: FoundCharacter) -> LoreScanner:
    """Return what finds the lore that a line brings up, with as much room as an assistant's model has for it."""
    runner = server.runner_of(character)
    models = runner.models if runner is not None else ()
    index = await in_thread(partial(LoreIndex, found.character.lore))
    return LoreScanner(index, window=models[0].config.context_tokens) if models else LoreScanner(index)


async def delete(typed: TypedCommand) -> str:
    """Delete a piece of lore that was added in the game, by its number."""
    character = find_assistant(typed.left, DELETE_USAGE)
    name = character.key
    if not typed.right or not typed.right.isdecimal():
        raise CommandRefused(f"Give the number of a piece: {DELETE_USAGE}. The numbers: assistant/lore {name}")
    return await delete_piece(character, typed.right)


async def delete_piece(character: Any, number: str) -> str:
    """Delete a piece of lore that was added in the game, by its number, and say so.

    Raises CharacterError, CommandRefused and ServiceNotRunning.
    """
    name = character.key
    found = await found_of(character)
    piece = _numbered(found.pieces if found is not None else (), number, name)
    assert found is not None
    if piece.file != ADDED:
        raise CommandRefused(
            f"{piece.entry.title} stands in {piece.file}, and only what was added in the game is deleted here: take "
            "it out of that file."
        )
    await in_thread(partial(delete_lore, folder_of_characters(), found.name, piece.entry))
    count = creation.restart_all(playing=found.name)
    return f"Deleted: {piece_text(piece, name)}\n{restarted_text(count)}"


async def _pieces_of(character: Any) -> tuple[LorePiece, ...]:
    found = await found_of(character)
    return () if found is None else found.pieces


async def _become_character(character: Any) -> str:
    """Write who an assistant is as a character of its own, which it plays from now on; return the name of the folder.

    Raises CharacterError, and CommandRefused when there is a character of this name.
    """
    settings = creation.config_of(character).assistant
    name, folder = file_name(character.key), folder_of_characters()
    if name in await in_thread(partial(known_characters, folder)) or not name:
        raise CommandRefused(
            f"{character.key} plays no character, and there is one called {name} already. To play it: "
            f"assistant/persona {character.key} = {name}"
        )
    said = (settings.greeting, *settings.more_greetings)[:MAX_GREETINGS]
    greetings = tuple(one.replace("{name}", USER) for one in said if one)
    written = Character(character.key, settings.persona, examples=tuple(settings.voice.items()), greetings=greetings)

    def write() -> None:
        try:
            write_character(written, folder, name)
        except OSError as error:
            raise CharacterError(f"{folder} cannot be written: {error.strerror}") from error

    await in_thread(write)
    creation.play_character(character, name)
    return name


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
