"""Notices a line that is said to one character alone and calls another, who is not there: "Oda, mind the stew!".

What is asked of somebody else is neither promised nor answered in their place. Only characters of this process count:
a player could be called "Well".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mud_assistant.assistant.events.classify import is_named
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.loop.run import Run, RunContext

IS_AWAY = "{name} is not here."
_GREETING = re.compile(r"(hello|hi|hey|oh|ah|please|dear|good \w+)\W+")


def who_is_away(context: RunContext, run: Run) -> str:
    """Return what to say when the line of the run calls a character who is not there, empty for any other line."""
    event, floor, me = run.trigger and run.trigger.event, context.process.floor, context.body.me
    if not isinstance(event, Said) or not event.alone or event.to_me or floor is None:
        return ""
    if is_named(event.text, floor.called.get(me.id, (me.name,))):
        return ""
    called = frozenset(_calls(event.text.casefold()))
    others = (names for id_, names in floor.called.items() if id_ != me.id)
    return next((IS_AWAY.format(name=names[0]) for names in others if called & {*map(str.casefold, names)}), "")


def _calls(line: str) -> Iterator[str]:
    """Yield what a line in small letters may call somebody: "Hello Oda!", "Is supper ready, Oda?".

    "Oda bakes well" only speaks of her. No name is looked for: there may be thousands in a process.
    """
    front = re.split(r"\s*[,:;!?]", re.sub(r"^\W+", "", line), maxsplit=1)[0].rstrip()
    yield front
    while (greeting := _GREETING.match(front)) is not None:
        front = front[greeting.end() :]
        yield front
    _, comma, end = re.sub(r"\W+$", "", line).replace(";", ",").rpartition(",")
    if comma:
        yield end.strip()
