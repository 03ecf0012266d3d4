"""Tells who the visitor is to the character: what it knows of them, and of those whom their line names.

What is told carries the labels of the words that it repeats, and only those who hear the answer are told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.memory.acquaintance.asked_parts import (
    asks_of_people,
    asks_when,
    asks_whether_known,
    names_asked,
)
from mud_assistant.assistant.memory.acquaintance.known_people import FoundPeople
from mud_assistant.assistant.memory.acquaintance.spoken_answers import answer_about_stranger
from mud_assistant.assistant.memory.acquaintance.visitor_words import Asking, VisitorNotes, tell_of
from mud_assistant.assistant.memory.time_words import find_time_asked
from mud_assistant.tools.memories import Memory, describe_memory
from mud_assistant.tools.trust import Principal, authority_of_words

#: So many memories are shown with their time where a line asks for that.
MAX_DATED = 3
#: A line may ask for a person by a name with a capital, or by any with one of these words.
_NAMES = re.compile(
    r"(?!^)\b[A-Z][^\W\d_]|\b(?:know|knows|met|meet|remember|recall|about|who|whose|seen|heard|does|did|tell|forgotten)\b"
)
#: A line may ask for the time of something.
_TIME = re.compile(
    r"\b(?:when|how long|ago|last|yesterday|today|tonight|this|on|in|other|lately|recently|first|day|\d+)\b",
    re.IGNORECASE,
)

_log = Logger()


async def meet(context: RunContext, run: Run, asker: Principal, line: str, *, is_plain: bool) -> VisitorNotes:
    """Return what the character knows of who asks with this line, and of those whom it names.

    A matter of theirs that is over by now is asked about once in a visit.
    """
    may_name = _NAMES.search(line) is not None and asks_of_people(line)
    names, parts = names_asked(line, own_words(context)) if may_name else ((), ())
    try:
        found = await context.memory.people.find(asker.id, names, parts)
        if not found.named and not parts and (found.asker is None or found.asker.is_new):
            return VisitorNotes()
        told = await _tell(context, run, asker, line, found, is_plain=is_plain)
    except CancelledError:
        raise
    except JournalError as failed:
        _log.warn("{name} cannot tell whom it knows: {why}", name=context.body.me.name, why=str(failed))
        return VisitorNotes()
    if parts and asks_whether_known(line):
        known = {word for name, _ in found.named for word in words_of(name)} | _seen_words(context.settings, run)
        unknown = [f"You have never met anybody called {part.title()}." for part in parts if part not in known]
        now = context.process.clock.seconds()
        answer = answer_about_stranger(parts[0].title(), now) if len(unknown) == 1 else told.answer
        told = replace(told, met=(*told.met, *unknown), answer=answer)
    return told


async def _tell(
    context: RunContext, run: Run, asker: Principal, line: str, found: FoundPeople, *, is_plain: bool
) -> VisitorNotes:
    now = context.process.clock.seconds()
    least = min(1, asker.permission) if is_plain else authority_of_words(asker)
    own = {heard.event.id for heard in run.events}
    told = tell_of(found, Asking(line, run.hearers, least, now, own, own_words(context), is_plain))
    if told.due is not None:
        await context.memory.people.asked(asker.id, told.due, now)
    return told


def note_told(context: RunContext, run: Run, told: VisitorNotes, line: str, found: Sequence[Memory]) -> None:
    """Note in a run of a model that is asked plainly what it is told beside the line, with when things `found` were.

    The times are told where the line asks for a time.
    """
    now = context.process.clock.seconds()
    is_dated = _TIME.search(line) and (asks_when(line) or find_time_asked(line, now, context.memory.people.utc_offset))
    dated = [memory for memory in found[:MAX_DATED] if memory not in told.memories] if is_dated else []
    recalled = run.recalled
    recalled.visitor, recalled.told, recalled.answer = told.visitor, told.memories, told.answer
    times = [defuse(describe_memory(memory, now)) for memory in dated]
    recalled.beside = (*told.met, *told.beside, *(f"{text[:1].upper()}{text[1:]}" for text in times))


def own_words(context: RunContext) -> frozenset[str]:
    """Return the words of the character's own names: most lines have those."""
    return frozenset(words_of(" ".join((context.body.me.name, *context.settings.aliases))))


def _seen_words(settings: AssistantConfig, run: Run) -> set[str]:
    """Return the words of what the character knows without having met it: those round it, its persona and its lore."""
    people = run.scene.people if run.scene is not None else ()
    texts = (settings.persona, *(one.name for one in people), *(memory.text for memory in run.recalled.lore))
    return {word for text in texts for word in words_of(text)}


def defuse(text: str) -> str:
    """Return a text without the brackets that would end the list."""
    return text.replace("[", "(").replace("]", ")")
