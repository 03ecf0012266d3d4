"""Lists what assistants have promised, and drops one of it: the owner's deed, or that of whoever asked for it.

What was asked in private is shown to whoever asked for it alone. An owner sees that there is such a promise, with what
became of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.events.goal import Goal, GoalState
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.operations.operators import InvalidInput, NotFound, Operator, VisitorRole
from mud_assistant.tools import Principal
from mud_assistant.tools.memories import describe_age
from mud_assistant.tools.text.clean import one_line

T = TypeVar("T")
#: Why a promise ended that was dropped by the owner, and by whoever asked for it.
BY_OWNER, BY_ASKER = "the owner dropped it", "you dropped it"
#: Stands for what was asked in private.
IN_PRIVATE = "(in private)"
#: How many of those that are over are shown, the newest.
MOST_OVER = 10
_NAME_CHARS = 60
_STATES = {
    GoalState.OPEN: "open",
    GoalState.DONE: "done",
    GoalState.DROPPED: "dropped",
    GoalState.WITHDRAWN: "cannot be kept, which is still to be told",
    GoalState.TOLD: "could not be kept",
}


class ShownPromise(Struct, frozen=True):
    """A promise as it may be shown to somebody. `made_at` is in clock seconds.

    `number` counts those that are not over, from 1, so that they can be dropped; it is 0 for all others. `why` says
    what was seen of one that is kept, or why it ended.
    """

    id: str
    number: int
    text: str
    asker: str
    asker_id: str
    state: GoalState
    why: str
    made_at: float
    is_private: bool = False

    def line(self, now: float, *, with_asker: bool) -> str:
        """Return it as a line for people; `now` is in clock seconds."""
        asker = f"for {self.asker}, " if with_asker else ""
        why = f": {self.why}" if self.why else ""
        shown = f"{self.text} ({asker}{describe_age(now - self.made_at)}; {_STATES[self.state]}{why})"
        return f"{self.number}. {shown}" if self.number else f"-  {shown}"


async def promised(there: Operated, assistant: str) -> Sequence[ShownPromise]:
    """Return what an assistant promised to anybody, as its owner may see it, first what is not over.

    It need not run. Raises NotFound and JournalError.
    """
    there.find(assistant)
    runner = there.service.runners.get(assistant)
    if runner is not None and runner.assistant is not None:
        goals = await runner.assistant.context.memory.journal.goals(with_ended=True)
    else:
        await there.service.parts.ready()
        goals = await there.service.parts.journal.goals_of(assistant)
    return shown_to_owner(goals)


def shown_to_owner(goals: Sequence[Goal]) -> Sequence[ShownPromise]:
    """Return promises of one assistant as its owner may see them."""
    return [_for_owner(goal, number) for goal, _, number in _numbered([(goal, None) for goal in goals])]


async def drop(there: Operated, who: Operator, assistant: str, promise: str) -> str:
    """Drop a promise of an assistant, by its id, and say so: the owner's deed.

    Raises NotFound, Unavailable while the assistant wakes up, and JournalError, also when another process runs it.
    """
    who.check(VisitorRole.OPERATOR)
    there.check_own()
    name = there.find(assistant).name
    if assistant in there.service.runners:
        dropped = await there.awake(assistant).drop_promise(promise, BY_OWNER)
    else:
        await there.service.parts.ready()
        dropped = await there.service.parts.journal.drop_goal(assistant, promise, BY_OWNER)
    if dropped is None:
        raise NotFound(f"{name} has no promise of this id that is not over")
    who.log(f"drops a promise of {name}")
    return _dropped_text(name, _for_owner(dropped, 0).text)


async def numbered(there: Operated, assistant: str, number: int, listed_by: str) -> str:
    """Return the id of the promise that is listed under a number. Raises InvalidInput, and what `promised` raises.

    `listed_by` is what to type to see the numbers.
    """
    found = next((one.id for one in await promised(there, assistant) if number and one.number == number), "")
    if not found:
        raise InvalidInput(f"{there.find(assistant).name} has no open promise of number {number}. See: {listed_by}")
    return found


class OwnPromise(Struct, frozen=True):
    """A promise to a player, and the assistant that made it."""

    whose: Assistant
    shown: ShownPromise


async def own_promises(assistants: Sequence[Assistant], people: Sequence[Principal]) -> Sequence[OwnPromise]:
    """Return what assistants promised to a player, first what is not over, with numbers over all of them.

    Raises JournalError.
    """
    ids = {who.id for who in people}
    made = [(goal, one) for one in assistants for goal in await one.context.memory.journal.goals(with_ended=True)]
    theirs = [(goal, one) for goal, one in made if goal.asker.id in ids]
    return [OwnPromise(one, _shown(goal, number)) for goal, one, number in _numbered(theirs)]


async def drop_own(assistants: Sequence[Assistant], people: Sequence[Principal], number: int, listed_by: str) -> str:
    """Drop a promise that was made to a player, by the number it is listed under, and say so.

    `assistants` are those that are listed together. Raises InvalidInput for a number of nothing, and JournalError.
    """
    found = [one for one in await own_promises(assistants, people) if number and one.shown.number == number]
    if not found or await found[0].whose.drop_promise(found[0].shown.id, BY_ASKER) is None:
        raise InvalidInput(f"Nothing of number {number} is promised to you. See: {listed_by}")
    return _dropped_text(found[0].whose.context.body.me.name, found[0].shown.text)


def own_text(mine: Sequence[OwnPromise], now: float, drop: str) -> str:
    """Say what was promised to a player. `drop` is what to type before a number, `now` in clock seconds."""
    if not mine:
        return "Nobody has promised you anything."
    lines: list[str] = []
    for name, theirs in groupby(mine, lambda one: one.whose.context.body.me.name):
        lines += [f"{name} promised you:", *(f"  {one.shown.line(now, with_asker=False)}" for one in theirs)]
    shown = "\n".join(lines)
    return f"{shown}\nTo let one be: {drop}" if any(one.shown.number for one in mine) else shown


def owner_text(name: str, found: Sequence[ShownPromise], now: float, drop: str) -> str:
    """Say what an assistant promised to anybody. `drop` is what to type to drop one, `now` in clock seconds."""
    if not found:
        return f"{name} has promised nothing."
    shown = "\n".join([f"{name} promised:", *(f"  {one.line(now, with_asker=True)}" for one in found)])
    return f"{shown}\nTo drop one: {drop}" if any(one.number for one in found) else shown


def _numbered(made: Sequence[tuple[Goal, T]]) -> list[tuple[Goal, T, int]]:
    """Return those that are not over with numbers, the oldest first, then the newest of the others."""
    ordered = sorted(made, key=lambda one: (one[0].made_at, one[0].id))
    lasting = [one for one in ordered if not one[0].is_over]
    over = [one for one in reversed(ordered) if one[0].is_over]
    numbered = [(*one, number) for number, one in enumerate(lasting, 1)]
    return [*numbered, *((*one, 0) for one in over[:MOST_OVER])]


def _shown(goal: Goal, number: int) -> ShownPromise:
    asker = one_line(goal.asker.name, max_chars=_NAME_CHARS)
    why = one_line(goal.evidence if goal.state is GoalState.DONE else goal.reason)
    is_private = goal.audience is not None
    return ShownPromise(
        goal.id, number, one_line(goal.text), asker, goal.asker.id, goal.state, why, goal.made_at, is_private
    )


def _for_owner(goal: Goal, number: int) -> ShownPromise:
    """Return a promise without the words of one that was asked in private, and without who else it is about."""
    shown = _shown(goal, number)
    return replace(shown, text=IN_PRIVATE, why=one_line(goal.reason)) if shown.is_private else shown


def _dropped_text(name: str, text: str) -> str:
    return f"{name} will not do it: {text}."
