"""Shows what an assistant does unasked: what it promised, why it did something or did not, and whether it is quiet."""

from __future__ import annotations

from collections.abc import Sequence

from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.life.days import entry_text
from mud_assistant.assistant.life.reasons import Considered
from mud_assistant.assistant.loop.impulse_offers import own_deeds
from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.values.life_view import LifeView, PromiseLine, ReasonLine
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations import listed_promises, quiet
from mud_assistant.assistant.service.operations.listed_promises import ShownPromise


async def life_of(sources: Sources, assistant: str, there: Assistant | None, *, is_hidden: bool) -> LifeView:
    """Return what an assistant does unasked. `there` is None while it does not run; `is_hidden` leaves out words."""
    wanted = quiet.wanted(sources.there)
    made = await _promises(sources, assistant, there)
    return LifeView(
        promises=tuple(_promise(sources, one, is_hidden=is_hidden) for one in made),
        reasons=() if there is None else tuple(_reason(sources, one) for one in there.context.memory.reasons.latest),
        quiet=wanted.is_quiet(assistant),
        away=wanted.is_away(assistant),
        still=wanted.why(assistant),
        autonomous=() if there is None else tuple(sorted(own_deeds(there.context))),
        day="" if there is None else entry_text(there.initiative.entry_at_time(sources.service.clock.seconds())),
    )


async def _promises(sources: Sources, assistant: str, there: Assistant | None) -> Sequence[ShownPromise]:
    """Return what it promised; nothing where the journal cannot be read."""
    if there is None:
        return listed_promises.shown_to_owner(await sources.records.goals(assistant))
    try:
        return await listed_promises.promised(sources.there, assistant)
    except JournalError:  # the troubles say so
        return ()


def _promise(sources: Sources, shown: ShownPromise, *, is_hidden: bool) -> PromiseLine:
    return PromiseLine(
        id=shown.id,
        number=shown.number,
        text="" if is_hidden else shown.text,
        asker="" if is_hidden else shown.asker,
        asker_id="" if is_hidden else shown.asker_id,
        state=shown.state.value,
        why="" if is_hidden else shown.why,
        made_at=sources.wall_at(shown.made_at),
        is_private=shown.is_private,
    )


def _reason(sources: Sources, considered: Considered) -> ReasonLine:
    at = sources.wall_at(considered.at)
    return ReasonLine(at, considered.what, considered.taken, considered.why, considered.times)
