"""Notices a line that is said to one character alone and calls another, who is not there: "Oda, mind the stew!".

What is asked of somebody else is neither promised nor answered in their place. Only characters of this process count:
a player could be called "Well".
"""

from __future__ import annotations

import re

from mud_assistant.assistant.events.classify import is_named
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.loop.run import Run, RunContext

IS_AWAY = "{name} is not here."
_GREETING = r"(?:(?:hello|hi|hey|oh|ah|please|dear|good \w+)\W+)*"
#: A name at the beginning, as in "Hello Oda!", or at the end, as in "Is supper ready, Oda?".
_CALLED = rf"(?i)^\W*{_GREETING}(?:{{name}})\s*(?:[,:;!?]|$)|[,;]\s*(?:{{name}})\W*$"


def who_is_away(context: RunContext, run: Run) -> str:
    """Return what to say when the line of the run calls a character who is not there, empty for any other line."""
    event, floor, me = run.trigger and run.trigger.event, context.process.floor, context.body.me
    if not isinstance(event, Said) or not event.alone or event.to_me or floor is None:
        return ""
    if is_named(event.text, floor.called.get(me.id, (me.name,))):
        return ""
    others = (names for id_, names in floor.called.items() if id_ != me.id)
    return next((IS_AWAY.format(name=names[0]) for names in others if _calls(event.text, names)), "")


def _calls(text: str, names: tuple[str, ...]) -> bool:
    """Tell whether a line calls one of these names. "Oda bakes well" only speaks of her."""
    return re.search(_CALLED.format(name="|".join(map(re.escape, names))), text) is not None
