"""Says what its owner wrote for a line, as it is written, and keeps what was said to whom."""

from __future__ import annotations

from twisted.logger import Logger

from assistant.characters.macros import address
from assistant.events.events import ChannelSaid, Event, Said
from assistant.journal import JournalError
from assistant.journal.tables.told_topics import Told
from assistant.language.words import words_of
from assistant.loop.run import Run, RunContext
from assistant.loop.talk.calls import response_of, speech_call
from assistant.loop.talk.question import Question, without_name
from assistant.memory.topics.next_saying import key_of
from assistant.memory.topics.telling_topics import Saying, TopicListener, choose_saying
from llm import LLMResponse, ToolCall
from tools.memories import Memory, MemoryKind
from tools.text.clean import one_line
from tools.trust import TOP

#: How many of the last turns show what was told just now.
_LATELY = 6
_log = Logger()


async def tell_topic(context: RunContext, run: Run, asked: Question) -> LLMResponse | None:
    """Return the words of the topic that the line asks for; None where a model is to answer.

    The model knows then what was told of it before, if anything was.
    """
    known, now = context.known, context.clock.seconds()
    if run.trigger is None or not asked.text or not known.has_topics or known.told is None:
        return None
    event, private = run.trigger.event, run.hearers is not None
    told: dict[str, Told] = {}
    try:
        told = await known.told.of(event.who.id, private=private)
    except JournalError as failed:
        _log.warn("what {name} said of its topics cannot be read: {why}", name=context.me.name, why=str(failed))
    line = without_name(asked.text, context.settings.name)
    saying = await choose_saying(known, line, _listener(context, asked, event, told), now)
    if saying is None:
        return None
    if not saying.words:
        run.lore = (_as_known(context, saying, event), *run.lore)
        return None
    calls = _calls(context, run, saying, event)
    if calls:
        await _keep(context, saying, event, private=private)
    return response_of(calls) if calls else None


def _listener(context: RunContext, asked: Question, event: Event, told: dict[str, Told]) -> TopicListener:
    names = {word for name in (*asked.view.people, asked.who) for word in words_of(name)}
    mine = {word for name in (context.settings.name, *context.settings.aliases) for word in words_of(name)}
    lately = [turn.said for turn in asked.earlier[-_LATELY:] if turn.said]
    return TopicListener(told, lately, _place_of(context, event), names - mine, mine)


def _place_of(context: RunContext, event: Event) -> str:
    """Return where everybody hears what answers the event."""
    return f"on {event.channel}" if isinstance(event, ChannelSaid) else context.where()


def _calls(context: RunContext, run: Run, saying: Saying, event: Event) -> list[ToolCall]:
    """Return the calls that say it. A gesture is shown only where the words are heard: by all in the room."""
    speech = speech_call(context, run, _filled(context, saying.words, event))
    if speech is None:
        return []
    if not saying.gesture or "emote" not in context.rules.grant or not isinstance(event, Said):
        return [speech]
    gesture = {"text": _filled(context, saying.gesture, event)}
    return [ToolCall(f"{run.id}.{run.written + 1}.gesture", "emote", gesture), speech]


def _filled(context: RunContext, text: str, event: Event) -> str:
    """Return words of the owner's on one line, with the names of the character and of the listener."""
    return " ".join(address(text, char=context.settings.name, user=one_line(event.who.name, max_chars=60)).split())


async def _keep(context: RunContext, saying: Saying, event: Event, *, private: bool) -> None:
    key, now = key_of(saying.topic), context.clock.seconds()
    if saying.which is not None and not private:
        context.known.said_aloud(_place_of(context, event), key, saying.which, now)
    assert context.known.told is not None
    try:
        await context.known.told.add(event.who.id, key, saying.told, private=private)
    except JournalError as failed:
        _log.warn("what {name} said of a topic was not kept: {why}", name=context.me.name, why=str(failed))


def _as_known(context: RunContext, saying: Saying, event: Event) -> Memory:
    """Return what was told of a topic that is used up, as something the character knows."""
    places = saying.told.said[-1:] or range(1)
    said = " ".join(_filled(context, saying.topic.says[at], event) for at in places if at < len(saying.topic.says))
    return Memory(f"topic:{key_of(saying.topic)}", said, MemoryKind.LORE, 0.0, importance=10, authority=TOP)
