"""Adds, tries and deletes the lore of the character that an assistant plays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mud_assistant.assistant.characters import (
    Activated,
    Character,
    CharacterError,
    FoundCharacter,
    LoreIndex,
    LoreScanner,
    add_lore,
    delete_lore,
    known_characters,
    write_character,
)
from mud_assistant.assistant.characters.added_lore import ADDED
from mud_assistant.assistant.characters.character import MAX_GREETINGS, USER, file_name
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.operations.operators import InvalidInput, Operator, VisitorRole
from mud_assistant.assistant.service.operations.personas import found_of, restarted_text
from mud_assistant.assistant.service.wording.characters import piece_text
from mud_assistant.tools.text.clean import one_line

#: The longest text that is taken, in characters; the reader of files has limits of its own. The most shown of keys.
_MAX_TYPED, _KEYS = 20_000, 300


async def add_piece(
    there: Operated, who: Operator, assistant: str, *, title: str, keys: Sequence[str], text: str
) -> str:
    """Add a piece of lore to the character that an assistant plays, and say so; one that plays none becomes one first.

    Without keys its title brings it up. Raises NotFound, InvalidInput, CharacterError and what the store raises.
    """
    who.check(VisitorRole.OWNER)
    title, text = (one_line(part, max_chars=_MAX_TYPED) for part in (title, text))
    if any("," in key for key in keys):
        raise InvalidInput("A key holds no comma: give each key by itself.")
    if not title or not text:
        raise InvalidInput("A piece of lore needs a title and a text.")
    known, found, made = there.find(assistant), await found_of(there, assistant), ""
    if found is None:
        name = await _become_character(there, assistant, known.name)
        made = f" For that, who {known.name} is was written to characters/{name}, which it plays from now on."
    else:
        name = found.name
    said = one_line(", ".join(filter(None, (key.strip() for key in keys))), max_chars=_MAX_TYPED)
    entry = await there.in_thread(partial(add_lore, there.folder, name, title, said, text))
    who.log(f"adds lore of {known.name}")
    by = one_line(", ".join(entry.keys), max_chars=_KEYS)
    brought = "is always shown" if entry.constant else f"is brought up by: {by}"
    restarted = restarted_text(await there.store.restart(name))
    return f"{entry.title} stands in characters/{name}/lore/{ADDED}, and {brought}.{made} {restarted}"


async def delete_piece(there: Operated, who: Operator, assistant: str, number: int) -> str:
    """Delete a piece of lore that was added, by its number, and say so.

    Raises NotFound, InvalidInput, CharacterError and what the store raises.
    """
    who.check(VisitorRole.OWNER)
    known, found = there.find(assistant), await found_of(there, assistant)
    pieces = found.pieces if found is not None else ()
    if found is None or not 1 <= number <= len(pieces):
        raise InvalidInput(f"{known.name} has {len(pieces)} pieces of lore, and none of number {number}")
    piece = pieces[number - 1]
    if piece.file != ADDED:
        raise InvalidInput(
            f"{piece.entry.title} stands in {piece.file}, and only what was added later is deleted here: take it out "
            "of that file."
        )
    await there.in_thread(partial(delete_lore, there.folder, found.name, piece.entry))
    who.log(f"deletes piece {number} of the lore of {known.name}")
    return f"Deleted: {piece_text(piece, known.name)}\n{restarted_text(await there.store.restart(found.name))}"


async def activate(there: Operated, assistant: str, found: FoundCharacter, line: str) -> tuple[Activated, int]:
    """Return the lore that a line brings up, and the room there is for it in tokens.

    The room is that of the model that the assistant thinks with, if it runs.
    """
    runner = there.service.runners.get(assistant)
    models = runner.models if runner is not None else ()
    index = await there.in_thread(partial(LoreIndex, found.character.lore))
    scanner = LoreScanner(index, window=models[0].config.context_tokens) if models else LoreScanner(index)
    return scanner.activate([line]), scanner.budget


async def _become_character(there: Operated, assistant: str, called: str) -> str:
    """Write who an assistant is as a character of its own, which it plays from now on; return the name of the folder.

    Raises CharacterError, and InvalidInput when there is a character of this name.
    """
    there.store.check_playing()
    settings = (await there.store.config(assistant)).assistant
    name, folder = file_name(called), there.folder
    if name in await there.in_thread(partial(known_characters, folder)) or not name:
        raise InvalidInput(
            f"{called} plays no character, and there is one called {name} already: let it play that one first"
        )
    said = (settings.greeting, *settings.more_greetings)[:MAX_GREETINGS]
    greetings = tuple(one.replace("{name}", USER) for one in said if one)
    written = Character(called, settings.persona, examples=tuple(settings.voice.items()), greetings=greetings)

    def write() -> None:
        try:
            write_character(written, folder, name)
        except OSError as error:
            raise CharacterError(f"{folder} cannot be written: {error.strerror}") from error

    await there.in_thread(write)
    await there.store.play(assistant, name)
    return name
