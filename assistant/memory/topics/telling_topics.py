"""Decides what of the owner's words answers a line: the next part, a riddle's answer, or what the line asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.characters.character import Topic
from mud_assistant.assistant.journal.tables.told_topics import Told
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.memory.topics.knowledge import Knowledge
from mud_assistant.assistant.memory.topics.next_saying import (
    gives_up,
    is_guess,
    key_of,
    last_told,
    next_saying,
    solves,
    wants_more,
    with_said,
)
from mud_assistant.assistant.memory.topics.topic_index import Likely

#: What is said to a wrong guess, one after the other. A model that does not know the answer would agree with any.
NOT_THAT = ("No, that is not it.", "A good guess, but no.", "No. Think again, or say that you give up.")
#: The nearness from which an everyday topic is meant, with a key in the line and without.
EVERYDAY_NEAR = {True: 0.45, False: 0.65}
#: Words that name a story that is told, and those that want one thing more of a kind.
_STORY, _ANOTHER = (
    frozenset({"story", "tale"}),
    frozenset({"another", "more", "else", "noch", "mehr", "encore", "otra", "otro"}),
)
#: The most words of a line that answers a riddle without looking like a guess.
_BARE_ANSWER = 4


class TopicListener(Struct, frozen=True):
    """Who asks, and what they were told. `lately` are the last things said to them, `place` is where all hear it.

    `names` are words of the names of people present, `mine` those of the character's own.
    """

    told: Mapping[str, Told]
    lately: Sequence[str]
    place: str
    names: Collection[str] = ()
    mine: Collection[str] = ()


class Saying(Struct, frozen=True):
    """The words that answer a line, with a gesture, empty for none. Without `words`, the topic is used up.

    `told` is what the listener has been told of the topic then; `which` of its things is said, None for none of them.
    """

    topic: Topic
    words: str = ""
    gesture: str = ""
    told: Told = Told()
    which: int | None = None


async def choose_saying(knowledge: Knowledge, line: str, listener: TopicListener, now: float) -> Saying | None:
    """Return what the owner wrote for a line, None where a model is to answer it."""
    topics = knowledge.all_topics
    last = last_told(topics, listener.told, now)
    if last is not None:
        if last.answers and (saying := _of_riddle(last, line, listener, now)) is not None:
            return saying
        if wants_more(line) and _goes_on(last, line, listener):
            saying = _next(knowledge, last, listener, now, last)
            return saying if saying.words else None
    if wants_more(line):  # of something that has no more parts, for which there may be words as well
        meant = [topic for topic in topics if not topic.parts and any(map(wants_more, topic.asks))]
    else:
        found = await knowledge.topics.find(line, names=listener.names, mine=listener.mine)
        everyday = () if found.meant else await _everyday(knowledge, line, listener, found.best)
        meant = [*found.meant, *(topic for topic in everyday if topic in topics)]
    sayings = [_next(knowledge, topic, listener, now, last) for topic in meant]
    return next((one for one in sayings if one.words), next(iter(sayings), None))


async def _everyday(knowledge: Knowledge, line: str, listener: TopicListener, own: Likely | None) -> Sequence[Topic]:
    """Return the everyday topics that a line means, unless one of the character's `own` is nearer to it."""
    found = await knowledge.everyday.find(line, names=listener.names, mine=listener.mine)
    best = found.best
    if best is None:
        return ()
    is_far = best.near < EVERYDAY_NEAR[bool(best.key)] if found.by_meaning else not best.key
    is_behind = not best.key and own is not None and own.near > best.near
    return () if not best.is_same and (is_far or is_behind) else found.meant


def _next(knowledge: Knowledge, topic: Topic, listener: TopicListener, now: float, last: Topic | None) -> Saying:
    """Return the next thing said of a topic; one without words where it is used up. `last` was told last."""
    key = key_of(topic)
    told = listener.told.get(key, Told())
    aloud = knowledge.heard_aloud(listener.place, key, now)
    which = next_saying(topic, told, now, aloud=aloud, is_last=last is topic)
    if which is None:
        return Saying(topic, told=told)
    gestures = topic.gestures
    gesture = gestures[which] if which < len(gestures) else gestures[0] if len(gestures) == 1 else ""
    return Saying(topic, topic.says[which], gesture, with_said(told, which, now), which)


def _of_riddle(riddle: Topic, line: str, listener: TopicListener, now: float) -> Saying | None:
    """Return what answers a line on the riddle that was told last; None where it is of something else."""
    told = listener.told[key_of(riddle)]
    if told.closed:
        return None
    over, guesses = replace(told, at=now, closed=True), is_guess(line)
    if solves(line, riddle.answers) and (guesses or len(words_of(line)) <= _BARE_ANSWER or "answer" in words_of(line)):
        return Saying(riddle, riddle.solved or f"Yes: {riddle.answers[0]}.", told=over)
    if not _is_fresh(riddle, listener):
        return None
    if gives_up(line):
        return Saying(riddle, riddle.reveal or f"It is {riddle.answers[0]}.", told=over)
    if guesses:
        tries = sum(said in NOT_THAT for said in listener.lately)
        return Saying(riddle, NOT_THAT[tries % len(NOT_THAT)], told=replace(told, at=now))
    return None


def _goes_on(topic: Topic, line: str, listener: TopicListener) -> bool:
    """Tell whether a line that wants more wants more of this topic.

    A story goes on while it is what was said last, or where it is named. Of any other topic only another one is wanted.
    """
    is_last = _is_fresh(topic, replace(listener, lately=listener.lately[-1:]))
    words = set(words_of(line))
    if topic.parts:
        return is_last or (not words.isdisjoint(_STORY) and _is_fresh(topic, listener))
    return is_last and not words.isdisjoint(_ANOTHER)


def _is_fresh(topic: Topic, listener: TopicListener) -> bool:
    """Tell whether one of the last things said to the listener was of this topic."""
    lately = [words_of(said) for said in listener.lately]
    ours = [words_of(said) for said in (*topic.says, *(NOT_THAT if topic.answers else ()))]
    return any(_ends_alike(said, own) for said in lately for own in ours)


def _ends_alike(said: Sequence[str], own: Sequence[str]) -> bool:
    """Tell whether two things said end in the same words: names that were filled in stand seldom there."""
    return bool(said) and list(said[-5:]) == list(own[-5:])
