"""Says what an answer answers when the line is long past, and leaves a line alone that no late answer can be for.

A line waits while its model is slow or away, and over a restart. After `late_after_seconds` nobody can tell any more
what a bare "They lead up." is about.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import is_unspoken
from mud_assistant.assistant.events.conversation import is_farewell, is_greeting
from mud_assistant.assistant.events.events import ChannelSaid, Event, Paged, Said, Whispered, spoken_text
from mud_assistant.assistant.events.outcome import NothingToDo
from mud_assistant.assistant.journal import InterruptedStep
from mud_assistant.assistant.loop.recovery import Early
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.screening import SPEECH
from mud_assistant.llm import ToolCall
from mud_assistant.tools import Reach, World
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.text.lenient import plain
from mud_assistant.tools.trust import PEOPLE

#: The longest part of a line that is said again, in characters.
MAX_SHOWN = 80
_log = Logger()


def can_answer(context: RunContext, run: Run) -> bool:
    """Tell whether the run can answer where it was spoken to. What was said in private is never answered aloud."""
    if run.hearers is None:
        return True
    event = run.trigger.event if run.trigger else None
    reaches = {Reach.CHANNEL} if isinstance(event, ChannelSaid) else {Reach.PERSON, Reach.NEARBY}
    granted = (context.tools.registry.get(name) for name in context.rules.grant)
    return any(tool is not None and tool.heard_by in reaches for tool in granted)


def unanswered_outcome(context: RunContext, run: Run, left: Sequence[InterruptedStep]) -> NothingToDo | None:
    """Return the outcome of a run that answers nothing, with the reason where somebody may wait; None for any other.

    `left` are the steps that an earlier process recorded. Called when a run begins: it sets `run.late_from`.
    """
    if run.trigger is None:
        return NothingToDo()
    if run.granted is None and run.by_rule is None:
        run.late_from = run.trigger.event.at + context.settings.late_after_seconds
    if not (why := _why_unanswered(context, run, left)):
        return None
    _log.info("{name} does not answer in {run}: {why}", name=context.body.me.name, run=run.id, why=why)
    return NothingToDo(why)


def _why_unanswered(context: RunContext, run: Run, left: Sequence[InterruptedStep]) -> str:
    """Return why what the run is for gets no answer, or none any more; empty when it gets one.

    A run that an earlier process `left` in the middle of an effect goes on. The reason names nobody, as it outlives
    what is kept of a player.
    """
    if not can_answer(context, run):
        return "it has no tool to answer where it was spoken to"
    now = context.process.clock.seconds()
    is_begun = any(call.intended for step in left for call in step.calls)
    if run.trigger is None or now <= run.late_from or is_begun:
        return ""
    event = run.trigger.event
    age = now - event.at
    is_meant = run.trigger.attention.addressed
    if not is_meant or is_unspoken(event) or is_farewell(spoken_text(event)) or is_greeting(spoken_text(event)):
        return f"it came {age:.0f} s ago and wants no answer any more"
    return f"it came {age:.0f} s ago, and who said it is gone" if _is_gone(context.body.world, event) else ""


def _is_gone(world: World, event: Event) -> bool:
    is_near = isinstance(event, Said | Whispered) and event.who.kind in PEOPLE
    return is_near and not world.hears(event.who)


def saying_what_is_answered(context: RunContext, run: Run, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls; when the line is long past, the first that speaks to its speaker says what it answers.

    A run that was heard to speak is over. So one that speaks again was not heard, and says it again.
    """
    if run.early.state is not Early.NOTHING or context.process.clock.seconds() <= run.late_from:
        return tuple(calls)
    assert run.trigger is not None
    event = run.trigger.event
    place = next((at for at, call in enumerate(calls) if _speaks_to(call, event)), -1)
    if place < 0 or not spoken_text(event):
        return tuple(calls)
    spoken = calls[place]
    shown = one_line(spoken_text(event), max_chars=MAX_SHOWN)
    who = "" if isinstance(event, Paged | Whispered) else one_line(event.who.name, max_chars=60)
    words = context.settings.late_words.replace("{name}", who).replace("{line}", shown.replace('"', "'"))
    words = words.lstrip(" ,;:")
    words = words[:1].upper() + words[1:]
    argument = SPEECH[spoken.name]
    text = f"{words} {spoken.arguments.get(argument, '')}"
    spoken = replace(spoken, arguments={**spoken.arguments, argument: text})
    return (*calls[:place], spoken, *calls[place + 1 :])


def _speaks_to(call: ToolCall, event: Event) -> bool:
    """Tell whether the call speaks to who caused the event, alone or among others."""
    target = plain(str(call.arguments.get("target", event.who.name)))
    return call.name in SPEECH and not call.problem and target == plain(event.who.name)
