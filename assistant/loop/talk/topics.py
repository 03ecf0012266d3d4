"""Says what its owner wrote for a line, as it is written, and keeps what was said to whom.

Where nothing else can be said, the form of the line decides what its owner, or else anybody, says to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from twisted.logger import Logger

from mud_assistant.assistant.characters.macros import address
from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.events.conversation import is_farewell, is_greeting
from mud_assistant.assistant.events.events import ChannelSaid, Event, Said
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.journal.tables.told_topics import Told
from mud_assistant.assistant.language.attend import ToldNotes, is_order, notes_on
from mud_assistant.assistant.language.words import is_question, words_of
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.run_parts import CharacterBody
from mud_assistant.assistant.loop.speech.manner import response_of, speech_call
from mud_assistant.assistant.loop.talk.question import Question, without_name
from mud_assistant.assistant.loop.talk.turns import lore_texts
from mud_assistant.assistant.memory.topics.line_kinds import LineKind, kind_of
from mud_assistant.assistant.memory.topics.next_saying import key_of
from mud_assistant.assistant.memory.topics.telling_topics import Saying, TopicListener, choose_saying
from mud_assistant.llm import LLMResponse, ToolCall
from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.trust import TOP

GOODBYE = "A goodbye"
#: How somebody tells what is to go no further, and how they give their name.
_CONFIDES = re.compile(
    r"(?i)\bmust (?:not|never) (?:know|hear|find out|learn)\b|\btell (?:no ?(?:one|body)|not a soul)\b"
    r"|(?:\bnot|n['\u2019]?t|\bnever) tell (?!me\b|you\b|us\b)"
    r"|\bkeep (?:it|this|that|my secret)\b.*\b(?:yourself|secret|quiet|us)\b|\bbetween (?:you and me|us|ourselves)\b"
    r"|\b(?:our|a|my) (?:little )?secret\b"
)
_GIVES_NAME = re.compile(r"\b(?:I am|I['\u2019]m|[Cc]all me|[Mm]y name is) [A-Z]")
_OF_THEM = re.compile(r"(?i)\b(?:you|your|u|ur)\b")
#: What a question is of, by its form, with the title of what is said to it.
_FORMS = (
    (re.compile(r"(?i)^\W*(?:\w+,? ){0,2}?why\b(?! (?:don|not))"), "Otherwise: a reason"),
    (re.compile(r"(?i)\bwould you (?!like|mind)|\bwhat if\b|\bif you (?:were|could|had)\b"),
     "Otherwise: what one would do"),
    (re.compile(r"(?i)\byou (?:think|reckon|suppose|prefer|rather)\b|\bopinion\b"), "Otherwise: what one thinks"),
    (re.compile(r"(?i)\b(?:do|did|don['\u2019]?t) (?:you|u) (?:ever|like|love|hate|feel|want|enjoy|mind|get)\b"),
     "Otherwise: what one feels"),
)  # fmt: skip
#: How many of the last turns show what was told just now.
_LATELY = 6
_log = Logger()


async def tell_topic(context: RunContext, run: Run, asked: Question) -> LLMResponse | None:
    """Return the words of the topic that the line asks for; None where a model is to answer.

    The model knows then what was told of it before, if anything was.
    """
    known, now = context.memory.known, context.process.clock.seconds()
    if run.trigger is None or not asked.text or known.told is None:
        return None
    event, private = run.trigger.event, run.hearers is not None
    told: dict[str, Told] = {}
    try:
        told = await known.told.of(event.who.id, private=private)
    except JournalError as failed:
        _log.warn("what {name} said of its topics cannot be read: {why}", name=context.body.me.name, why=str(failed))
    line = without_name(asked.text, context.settings.name)
    saying = await choose_saying(known, line, _listener(context, asked, event, told), now)
    is_over = is_farewell(asked.text) and saying is not None and saying.topic.title != GOODBYE
    is_everyday = saying is not None and saying.topic in known.everyday.topics
    if saying is None or is_over or (is_everyday and (not saying.words or _knows_better(run, asked))):
        return None
    if not saying.words:
        run.recalled.lore = (_as_known(context.settings, saying, event), *run.recalled.lore)
        return None
    calls = _calls(context, run, saying, event)
    if calls:
        await _keep(context, saying, event, private=private)
    return response_of(calls) if calls else None


def _knows_better(run: Run, asked: Question) -> bool:
    """Tell whether the character knows what a question asks for: what anybody would say is no answer then."""
    lore = lore_texts(run.recalled.lore)
    notes = notes_on(asked.text, asked.who, asked.view, asked.earlier, lore) if is_question(asked.text) else ToldNotes()
    return bool(notes.own or notes.place)


def _listener(context: RunContext, asked: Question, event: Event, told: dict[str, Told]) -> TopicListener:
    names = {word for name in (*asked.view.people, asked.who) for word in words_of(name)}
    mine = {word for name in (context.settings.name, *context.settings.aliases) for word in words_of(name)}
    lately = [turn.said for turn in asked.earlier[-_LATELY:] if turn.said]
    return TopicListener(told, lately, _place_of(context.body, event), names - mine, mine)


def _place_of(body: CharacterBody, event: Event) -> str:
    """Return where everybody hears what answers the event."""
    return f"on {event.channel}" if isinstance(event, ChannelSaid) else body.where()


def _calls(context: RunContext, run: Run, saying: Saying, event: Event) -> list[ToolCall]:
    """Return the calls that say it. A gesture is shown only where the words are heard: by all in the room."""
    speech = speech_call(context.rules, run, _filled(context.settings, saying.words, event.who.name))
    if speech is None:
        return []
    if not saying.gesture or "emote" not in context.rules.grant or not isinstance(event, Said):
        return [speech]
    gesture = {"text": _filled(context.settings, saying.gesture, event.who.name)}
    return [ToolCall(f"{run.id}.{run.progress.written + 1}.gesture", "emote", gesture), speech]


def _filled(settings: AssistantConfig, text: str, who: str) -> str:
    """Return words of the owner's on one line, with the names of the character and of the listener."""
    return " ".join(address(text, char=settings.name, user=one_line(who, max_chars=60)).split())


async def _keep(context: RunContext, saying: Saying, event: Event, *, private: bool) -> None:
    key, now = key_of(saying.topic), context.process.clock.seconds()
    if saying.which is not None and not private:
        context.memory.known.said_aloud(_place_of(context.body, event), key, saying.which, now)
    assert context.memory.known.told is not None
    try:
        await context.memory.known.told.add(event.who.id, key, saying.told, private=private)
    except JournalError as failed:
        _log.warn("what {name} said of a topic was not kept: {why}", name=context.body.me.name, why=str(failed))


def _as_known(settings: AssistantConfig, saying: Saying, event: Event) -> Memory:
    """Return what was told of a topic that is used up, as something the character knows."""
    says, places = saying.topic.says, saying.told.said[-1:] or range(1)
    said = " ".join(_filled(settings, says[at], event.who.name) for at in places if at < len(says))
    return Memory(f"topic:{key_of(saying.topic)}", said, MemoryKind.LORE, 0.0, importance=10, authority=TOP)


def words_otherwise(context: RunContext, heard: str, nth: int, *, who: str = "", lately: Collection[str] = ()) -> str:
    """Return words for a character that has nothing to say to `heard`; another number `nth` may give others.

    What was said `lately` is not said again while there is something else.
    """
    says, first = context.memory.known.says_on(_title(heard, is_named=bool(who))), len(words_of(heard)) + nth
    filled = [_filled(context.settings, says[(first + at) % len(says)], who or "friend") for at in range(len(says))]
    return next((text for text in filled if text not in lately), filled[0])


def is_told_in_confidence(heard: str) -> bool:
    """Tell whether a line tells something that is to go no further. Models answer that they cannot help with it."""
    return _CONFIDES.search(heard) is not None and ("promise" in heard.casefold() or not is_question(heard))


def is_remark(heard: str) -> bool:
    """Tell whether a line only tells or states something."""
    return kind_of(heard) in {LineKind.TELLS, LineKind.STATES} and not (is_question(heard) or is_order(heard))


def _title(heard: str, *, is_named: bool) -> str:
    """Return the title of the topic that is said to a line."""
    if is_farewell(heard):
        return GOODBYE
    if is_told_in_confidence(heard):
        return "What is told in confidence"
    if is_question(heard):
        return next((title for form, title in _FORMS if form.search(heard)), "Otherwise: a question")
    if is_order(heard):
        return "Otherwise: an order"
    if is_greeting(heard):
        return "Otherwise: a greeting"
    if is_named and _GIVES_NAME.search(heard):
        return "A name, a trade, a home"
    kind = kind_of(heard)
    if kind is LineKind.ASKS:  # "I need three nails."
        return "Otherwise: something wanted"
    if _OF_THEM.search(heard):
        return "Otherwise: something of the one who hears it"
    return "Otherwise: something told" if kind is LineKind.TELLS else "Otherwise: something said"
