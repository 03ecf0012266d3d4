"""Makes assistants and characters, and says something to an assistant: what an owner tries out from the page."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from twisted.internet.defer import Deferred, TimeoutError  # noqa: A004  (Twisted's own, which its Deferreds raise)

from mud_assistant.assistant.characters import CardPreview, known_characters, preview_card, read_typed_card
from mud_assistant.assistant.characters.character import file_name
from mud_assistant.assistant.characters.reading import CARD_ENDINGS
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.ports import InvalidInput, Visitor
from mud_assistant.assistant.page.values.actions import ActionDone, CardList, CardRead, NewAssistant, NewCard
from mud_assistant.assistant.service.operations import personas
from mud_assistant.assistant.service.wording.characters import preview_text
from mud_assistant.tools.text.clean import clean_heard

#: How long a visitor waits for an answer before the page comes without it, in seconds.
ANSWER_SECONDS = 20.0
#: The most characters of a line, and the most files that are offered.
_LINE, _FILES = 2000, 200


async def create(sources: Sources, who: Visitor, new: NewAssistant) -> ActionDone:
    """Make an assistant. Raises InvalidInput, and what the world raises."""
    name = " ".join(new.name.split())
    if not name:
        raise InvalidInput("Give it a name.")
    sentence = await sources.store.create(name, new.persona.strip())
    who.log(f"makes the assistant {name}")
    return ActionDone(sentence=sentence)


async def cards(sources: Sources) -> CardList:
    """Return the files that may be cards, and the characters there are. Raises CharacterError."""
    return await sources.there.in_thread(partial(_listed, sources.there.folder))


async def read_card(sources: Sources, who: Visitor, wanted: NewCard) -> CardRead:
    """Show what a card brings, and import it when that is wanted. Raises InvalidInput and CharacterError."""
    if bool(wanted.file.strip()) == bool(wanted.text.strip()):
        raise InvalidInput("Choose a file, or paste a card: one of the two.")
    there, name = sources.there, file_name(wanted.name)
    preview = await there.in_thread(partial(_preview, there.folder, wanted, name))
    brings = preview_text(preview)
    if not wanted.keep:
        name = name or file_name(preview.character.name)
        return CardRead(kept=False, name=name, sentence="Nothing is imported yet.", brings=brings)
    name, told = await personas.import_character(there, who, preview, wanted.name)
    return CardRead(kept=True, name=name, sentence=told, brings=brings)


async def say(sources: Sources, who: Visitor, assistant: str, text: str) -> ActionDone:
    """Say something to an assistant as if aloud where it is, and wait for a while until it is dealt with.

    Raises NotFound, InvalidInput, and Unavailable when it does not run.
    """
    runner = sources.there.runner(assistant)
    name, line = runner.embodiment.me.name, clean_heard(text, _LINE)
    if not line:
        raise InvalidInput("Write what you say.")
    runner.guests.add(who.principal.id)  # who reads the answer on the page, wherever they are
    runner.hear(lambda event_id, at: Said(id=event_id, at=at, who=who.principal, text=line, to_me=True))
    who.log(f"says something to {name}")
    settled = Deferred.fromCoroutine(runner.settled()).addTimeout(ANSWER_SECONDS, sources.service.clock)
    try:
        await settled
    except TimeoutError:
        return ActionDone(sentence=f"{name} still thinks. Load this page again in a while.")
    runner.guests.discard(who.principal.id)
    return ActionDone(sentence=f"{name} has dealt with it.")


def _listed(folder: Path) -> CardList:
    """Return what is in the folder of characters. Blocks."""
    there = sorted(path.name for path in folder.glob("*") if path.suffix.casefold() in CARD_ENDINGS and path.is_file())
    return CardList(files=tuple(there[:_FILES]), characters=tuple(known_characters(folder)))


def _preview(folder: Path, wanted: NewCard, name: str) -> CardPreview:
    """Return what a card brings. Raises CharacterError. Blocks."""
    data = read_typed_card(folder.parent, wanted.file.strip()) if wanted.file.strip() else wanted.text.encode()
    return preview_card(data, assistant=name)
