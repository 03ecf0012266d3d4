"""Appends what a run perceives to the end of the stream: the new events, and the scene when it changed.

What was said in private becomes an entry of its own, for those who heard it. Long overheard talk is cut to a share of
the window here, the oldest lines first. `trimming.py` makes room for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from weakref import proxy

from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Classification
from mud_assistant.assistant.events.events import (
    Arrived,
    Event,
    Gave,
    Left,
    audience_of,
    format_event,
    mask_event,
    spoken_text,
)
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.loop.prompt import scene_labels, scene_line, visit_line
from mud_assistant.assistant.loop.recollecting import recollect
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.memory.outgoing import View, find_withheld
from mud_assistant.assistant.memory.stream.entries import Entry
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.assistant.memory.stream.origins import sources_of
from mud_assistant.assistant.memory.stream.trimming import PERCEIVED_SHARE, fit_lines
from mud_assistant.llm import user
from mud_assistant.tools import Category, Kind, Label, ToolFailed, label_of
from mud_assistant.tools.trust import PEOPLE, Audience, Source, Withheld, clamp_level, may_hear

#: No scene, or no new one.
_UNSEEN: tuple[str, Sequence[Label]] = ("", ())

#: The importance in the stream of who a visitor is: like that of a memory.
VISIT_IMPORTANCE = 5

_log = Logger()


async def perceive(context: RunContext, run: Run) -> None:
    """Append the new events and scene, fit the stream into the model's window, and note what is in view."""
    context.memory.history.begin()
    fresh = _fresh(context.memory.history, run)
    scene, labels = await _scene(context, run) if run.trigger is not None else _UNSEEN
    for heard in fresh:
        context.memory.voices.heard(heard.event.who, context.rules.world_text)
        if heard.event.who.kind in PEOPLE:
            text = spoken_text(heard.event)
            if "." in text:  # an address has one
                context.tools.seen.add_text(text)
    groups = _groups(run, fresh)
    if scene and None not in groups:
        context.memory.history.perceive([], [], 1, scene, labels=labels)
    await recollect(context, run, scene)
    _tell_visit(context, run, scene)
    lengths = [sum(len(format_event(heard.event)) for heard in group) for group in groups.values()]
    for (audience, group), length in zip(groups.items(), lengths, strict=True):
        shown = scene if audience is None else ""
        _append(context, group, shown, labels if shown else (), length / sum(lengths))
    context.model.window.fit(run)
    _look(context, run)


def _groups(run: Run, fresh: Sequence[Accepted]) -> dict[Audience, list[Accepted]]:
    """Return the events by their audience. The group that holds the run's question comes last."""
    groups: dict[Audience, list[Accepted]] = {}
    for heard in fresh:
        groups.setdefault(audience_of(heard.event), []).append(heard)
    asked = audience_of(run.trigger.event) if run.trigger else None
    if asked in groups:
        groups[asked] = groups.pop(asked)
    return groups


def _fresh(history: History, run: Run) -> list[Accepted]:
    """Return the events that no earlier run put into the stream, and those to be answered whose words were lost."""
    known = {heard.event.id: heard for heard in run.events if history.knows(heard.event.id)}
    asked = {
        id_: format_event(heard.event)
        for id_, heard in known.items()
        if heard.attention.verdict is Classification.TRIGGER
    }
    lost = history.find_lost(asked)
    return [heard for heard in run.events if heard.event.id not in known or heard.event.id in lost]


async def _scene(context: RunContext, run: Run) -> tuple[str, Sequence[Label]]:
    """Return the scene, cut to a share of the window, with its labels; empty when the stream already shows it."""
    try:
        seen = await context.body.world.look()
    except ToolFailed as failed:
        _log.info("{name} cannot see where it is: {why}", name=context.body.me.name, why=str(failed))
        return _UNSEEN
    run.scene = seen
    context.memory.voices.seen(seen)
    scene = scene_line(seen)
    room = int(context.memory.history.budget * PERCEIVED_SHARE)
    if len(scene.encode()) > room:  # a token is a byte at least
        tokens = context.memory.history.count((user(scene),))
        scene = f"{scene[: len(scene) * room // tokens]} ...]" if tokens > room else scene
    return _UNSEEN if context.memory.history.shows(scene) else (scene, scene_labels(seen, context.rules.world_text))


def _tell_visit(context: RunContext, run: Run, scene: str) -> None:
    """Append the hour, and who the visitor is, at the beginning of a talk; the hour alone with a new scene.

    A model that is asked plainly is told beside the line. Nothing of this is told at each line: it would be appended
    each time.
    """
    seen, trigger = run.scene, run.trigger
    if seen is None or trigger is None:
        return
    who, world_text = trigger.event.who, context.rules.world_text
    is_visit = who.kind in PEOPLE and context.speech.talk.is_new(who.id)
    if not is_visit and not (scene and seen.moment):
        return
    visitor = next((person for person in seen.people if is_visit and person.id == who.id), None)
    known = run.recalled.visitor if is_visit else ""
    line = visit_line(seen.moment, visitor, known)
    if not line or context.is_asked_plainly:
        return
    shown = replace(seen, people=() if visitor is None else (visitor,), things=(), carried=())
    labels = scene_labels(shown, world_text)
    if is_visit:  # it is about them, and what is known of them is for those who hear the answer
        own = label_of(who, world_text)
        labels.append(Label(own.source, own.authority, own.who, run.hearers if known else None))
    context.memory.history.perceive([line], [], VISIT_IMPORTANCE, labels=labels)


def _append(
    context: RunContext, group: Sequence[Accepted], scene: str, scene_is: Sequence[Label], share: float
) -> None:
    """Append events for the same audience. What nobody may act on has entries of its own, as it may be left out.

    `share` is their part of all text that was heard.
    """
    world_text = context.rules.world_text
    if scene and _counts(group[0], world_text) != (min([label.authority for label in scene_is]) > 0):
        context.memory.history.perceive([], [], 1, scene, labels=scene_is)
        scene, scene_is = "", ()
    if len(group) == 1:
        _append_stretch(context, group, scene, scene_is, share)
        return
    stretches = [list(stretch) for _, stretch in groupby(group, lambda heard: _counts(heard, world_text))]
    size = sum(len(format_event(heard.event)) for heard in group) or 1
    for stretch in stretches:
        part = sum(len(format_event(heard.event)) for heard in stretch) / size
        _append_stretch(context, stretch, scene, scene_is, share * part)
        scene, scene_is = "", ()


def _append_stretch(
    context: RunContext, group: Sequence[Accepted], scene: str, scene_is: Sequence[Label], share: float
) -> None:
    """Append events for the same audience as one entry. `share` is their part of all text that was heard."""
    history, world_text = context.memory.history, context.rules.world_text
    events = [heard.event for heard in group]
    lines = [format_event(event) for event in events]
    overheard = [
        place
        for place, heard in enumerate(group)
        if heard.attention.verdict is not Classification.TRIGGER and not heard.attention.addressed
    ]
    room = int(history.budget * PERCEIVED_SHARE * share)
    audience = audience_of(events[0])
    labels = [Label(label.source, label.authority, label.who, audience) for label in _labels(group, world_text)]
    history.perceive(
        fit_lines(lines, overheard, room, lambda text: history.count((user(text),))) if overheard else lines,
        [event.id for event in events],
        max(heard.attention.importance for heard in group),
        scene,
        labels=[*labels, *scene_is],
        others_see="" if audience is None else "\n".join(dict.fromkeys(map(mask_event, events))),
    )


def _counts(heard: Accepted, world_text: int) -> bool:
    """Tell whether the words of the event have a level above 0."""
    event = heard.event
    return _label(event, world_text).authority > 0 and not (isinstance(event, Gave) and event.authority == 0)


def _label(event: Event, world_text: int) -> Label:
    """Return the label of an event's line.

    That an assistant comes or goes is told by the game: the line has none of its words, and its name is its owner's.
    """
    label = label_of(event.who, world_text)
    if event.who.kind is Kind.ASSISTANT and isinstance(event, Arrived | Left):
        return Label(label.source, clamp_level(min(world_text, event.who.trust)), label.who)
    return label


def _labels(group: Sequence[Accepted], world_text: int) -> list[Label]:
    named = [heard.event for heard in group if isinstance(heard.event, Gave)]
    things = [
        Label(Source.PLAYER, clamp_level(gift.authority), gift.who.id) for gift in named if gift.authority is not None
    ]
    return [*(_label(heard.event, world_text) for heard in group), *things]


def _look(context: RunContext, run: Run) -> None:
    """Note for the policy what the model will be shown."""
    history, trust = context.memory.history, run.trust
    asker = run.requester.id if run.requester else ""
    trust.look_up = lambda level: context.memory.voices.name_causes(history, level, asker)
    trust.lower(history.min_level())
    trust.narrow(run.hearers)
    shown: Run = proxy(run)  # the run holds its trust: both go with the run, without the garbage collector

    def sources(text: str) -> frozenset[str]:
        seen_events = [one.event for one in shown.known_events]
        heard = [(event.who.id, format_event(event)) for event in seen_events if spoken_text(event)]
        run_ids = {one.event.id for one in shown.events}
        hearers = shown.hearers

        def is_seen(entry: Entry) -> bool:
            is_heard = bool(entry.event_ids) and run_ids.issuperset(entry.event_ids)
            return not is_heard and may_hear(entry.audience, hearers)

        return sources_of(text, shown.requester, heard, [entry for entry in history.entries() if is_seen(entry)])

    def withheld(text: str) -> Withheld:
        seen_now = [entry for entry in history.entries() if may_hear(entry.audience, shown.hearers)]
        remembered = (*shown.recalled.memories, *shown.recalled.told)
        return find_withheld(text, View(shown.asked_texts, shown.lines_to_answer, seen_now, remembered), is_of_web)

    def is_of_web(name: str) -> bool:
        tool = context.tools.registry.get(name)
        return tool is not None and tool.category is Category.ASYNC_REQUIRED

    trust.sources_of = sources
    trust.withheld = withheld
