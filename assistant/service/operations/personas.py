"""Says who an assistant is: a character of the folder or one that ships, or words. Imports characters from cards."""

from __future__ import annotations

import re
from functools import partial

from msgspec import Struct

from mud_assistant.assistant.characters import (
    CardPreview,
    FoundCharacter,
    import_card,
    known_characters,
    read_with_sources,
)
from mud_assistant.assistant.characters.character import file_name
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.operations.operators import InvalidInput, Operator, VisitorRole
from mud_assistant.assistant.service.wording.characters import played_text

#: A name of a character: one word of a script that has spaces between its words.
_NAME = re.compile(r"[\w'-]{1,60}")
_FIRST_UNSPACED = "\u0e00"


class PersonaSet(Struct, frozen=True):
    """What came of a change of who an assistant is. `found` is whom it plays, `before` whom it plays no more."""

    sentence: str
    found: FoundCharacter | None = None
    before: str = ""


async def found_of(there: Operated, assistant: str) -> FoundCharacter | None:
    """Return whom an assistant plays, None for no character. Raises NotFound, CharacterError and SettingsError."""
    return await found_named(there, (await there.store.config(assistant)).assistant.character)


async def found_named(there: Operated, name: str) -> FoundCharacter | None:
    """Return the character of this name, None for no name. Raises CharacterError."""
    return await there.in_thread(partial(read_with_sources, there.folder, name)) if name else None


def may_be_a_name(text: str) -> bool:
    """Tell whether a text can only be meant as the name of a character: one word, in a script with spaces."""
    return bool(_NAME.fullmatch(text)) and max(text) < _FIRST_UNSPACED


async def find_meant(there: Operated, text: str) -> FoundCharacter | None:
    """Return the character that a text names, None for several words that name none.

    Raises InvalidInput for one word that names none, and CharacterError.
    """
    known = await there.in_thread(partial(known_characters, there.folder))
    if not may_be_a_name(text) and text.casefold() not in {one.casefold() for one in known}:
        return None
    try:
        name = match_name(text, known, "character")
    except InvalidInput as error:
        raise InvalidInput(f"{error} To say in words who it is, use more than one.") from error
    return await there.in_thread(partial(read_with_sources, there.folder, name))


async def set_persona(there: Operated, who: Operator, assistant: str, text: str) -> PersonaSet:
    """Let it play the character that `text` names; any other text of several words says who it is.

    Without a text, what was said last is taken back. Raises NotFound, InvalidInput for one word that names nobody, and
    what the store raises.
    """
    who.check(VisitorRole.OWNER)
    there.store.check_playing()
    known, text = there.find(assistant), text.strip()
    found = await find_meant(there, text) if text else None
    before = await _played_before(there, assistant)
    who.log(f"changes who {known.name} is")
    if found is not None:
        gave_way = await there.store.play(assistant, found.name)
        return PersonaSet(played_text(found, known.name, gave_way), found)
    await there.store.be(assistant, text)
    now = (await there.store.config(assistant)).assistant
    is_over = bool(before) and before != now.character
    over = f"{chr(10) if text else ' '}{before} is played no more." if is_over else ""
    said = f"plays {now.character}" if now.character else now.persona
    return PersonaSet(f"{known.name}: {said}{over}", before=before if is_over else "")


async def import_character(there: Operated, who: Operator, preview: CardPreview, called: str) -> tuple[str, str]:
    """Import a card as a character, or a lorebook for one; return the character's name and a sentence.

    `called` is its name, empty for the card's own. Raises InvalidInput, CharacterError and what the store raises.
    """
    who.check(VisitorRole.OWNER)
    is_lorebook = preview.kind == "lorebook"
    if is_lorebook:
        known = await there.in_thread(partial(known_characters, there.folder))
        name = match_name(called, known, "character to add it to")
    else:
        name = file_name(called or preview.character.name)
    if not name:
        raise InvalidInput("Its name has no letter for a file: give it one.")
    place = await there.in_thread(partial(import_card, preview, there.folder, name))
    who.log(f"imports a card as the character {name}")
    told = restarted_text(await there.store.restart(name)) if is_lorebook else "Nobody plays it yet."
    return name, f"Imported into characters/{place.relative_to(there.folder)}. {told}"


def restarted_text(count: int) -> str:
    """Say how many assistants have taken a change up."""
    if not count:
        return "No living assistant plays it now."
    return f"{count} assistant{'' if count == 1 else 's'} took it up."


async def _played_before(there: Operated, assistant: str) -> str:
    """Return the character that an assistant plays, empty for none and for settings that cannot be read."""
    try:
        return (await there.store.config(assistant)).assistant.character
    except AssistantError:  # this may mend them
        return ""
