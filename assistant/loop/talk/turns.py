"""Tells a small model in sentences what was said and done: earlier turns, deeds without speech, results of calls. Pure.

Earlier turns are read out of the perception stream. `assistant/events/events.py` writes its lines; players' words stand
in them between quotation marks, on one line. A line without speech is a turn when it is what was answered.

A pose, a gift or an arrival becomes a sentence to the character: "Petra waves at you.", "Petra gives you the map." Some
deeds are answered by rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from mud_assistant.assistant.events.classify import is_unspoken
from mud_assistant.assistant.events.events import Arrived, Emoted, Event, Gave, format_event, quoted_in, spoken_text
from mud_assistant.assistant.language.attend import DEED, Turn
from mud_assistant.assistant.language.knowing import stems_of
from mud_assistant.assistant.language.words import is_question
from mud_assistant.assistant.loop.speech.screening import SPEECH
from mud_assistant.assistant.loop.talk.found import fitting_hits
from mud_assistant.llm.messages import Message, Role
from mud_assistant.llm.packing.packed import Joined, Part
from mud_assistant.tools import Executed, Status
from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.text.clean import one_line

#: How many deeds are told at once, the latest.
MAX_TOLD = 3
#: Example answers to deeds: each a deed of {who} and the answer.
_EXAMPLES = (
    ("{who} sneezes.", "Bless you, {who}!"),
    ("{who} claps for you.", "Too kind, {who}, I hardly deserve it."),
    ("{who} gives you a thimble.", "A thimble for me? How thoughtful, {who}."),
    ("{who} yawns at you.", "Am I so dull today, {who}?"),
)
_GIFT = re.compile(r" gives you the ")
#: How many memories are shown beside a line, and the most characters of each: more confuse a small model.
MAX_REMEMBERED, MAX_MEMORY_CHARS, MAX_LORE_CHARS = 2, 240, 2000
_DONE = {
    "take": "I have just taken the {thing}.",
    "drop": "I have just put down the {thing}.",
    "give": "I have just given the {thing} to {person}.",
    "inspect": "I have just looked at the {target}.",
}
#: How many parts of the stream are read, from its end.
MAX_PARTS = 40
_LINE = re.compile(r'^(?P<who>.+?) (?P<how>says(?: to you)?|whispers to you|pages you|says on [^:]+): "(?P<text>.*)"$')


class _Waiting(Struct, frozen=True):
    """One line that may be answered; `who` is empty for a line without speech."""

    who: str
    text: str
    to_me: bool


def earlier_turns(parts: Sequence[Part], names: Sequence[str], now: Collection[str]) -> list[Turn]:
    """Return the latest turns, oldest first: each line that was heard, with what the character answered, if anything.

    `names` are the character's own, the usual one first. `now` are the texts that are being answered; they are left out
    where nothing was answered yet.
    """
    turns: list[Turn] = []
    waiting: list[_Waiting] = []
    called = re.compile(rf"(?i)(?<!\w)@?{re.escape(names[0])}(?!\w)")
    for message in Joined(list(parts[-MAX_PARTS:])):
        if message.role is Role.USER:
            waiting += [heard for line in message.text.split("\n") if (heard := _heard(line, called, names))]
        elif message.role is Role.ASSISTANT and (said := _said(message)):
            turns += _answered(waiting, said)
            waiting = []
    new = [one for one in waiting if one.who and not any(one.text in line or line in one.text for line in now)]
    return [*turns, *(Turn(one.who, one.text) for one in new)]


def _heard(line: str, called: re.Pattern[str], names: Sequence[str]) -> _Waiting | None:
    """Return what a line tells; None for a line that is empty or tells of the scene."""
    found = _LINE.match(line)
    if found is not None:
        to_me = found["how"] != "says" or called.search(found["text"]) is not None
        return _Waiting(found["who"], found["text"], to_me)
    if not line.strip() or line.startswith("["):
        return None
    told = _to_you(line, names)
    return _Waiting("", f"({told})", _GIFT.search(line) is not None or told != _whole(line))


def _said(message: Message) -> str:
    """Return the words of a message, or what stands for its deeds; empty for neither."""
    words = [str(call.arguments.get(SPEECH[call.name], "")) for call in message.tool_calls if call.name in SPEECH]
    if words or not message.tool_calls:
        return " ".join(filter(None, [*words, message.text if not words else ""]))
    return DEED


def _answered(waiting: Sequence[_Waiting], said: str) -> list[Turn]:
    """Return the lines that waited as turns, one of them with the answer.

    It is the last line to the character, else the last that was spoken, else the last of all. Any other line without
    speech is not a turn.
    """
    meant = [one for one in waiting if one.to_me] or [one for one in waiting if one.who] or waiting
    turns = [Turn(one.who, one.text, said if one is meant[-1] else "") for one in waiting]
    return [turn for turn in turns if turn.who or turn.said]


def words_in(event: Event) -> str:
    """Return what was spoken in the event: of a pose only what it quotes."""
    return quoted_in(event.text) if isinstance(event, Emoted) else spoken_text(event)


def describe_deeds(events: Iterable[Event], names: Sequence[str]) -> str:
    """Return what was done without speech, in sentences to the character with these names; empty for nothing."""
    return " ".join([_to_you(format_event(event), names) for event in events if is_unspoken(event)][-MAX_TOLD:])


def example_deeds(who: str) -> list[Turn]:
    """Return a few deeds with their answers, to be shown before the one that `who` did."""
    return [Turn("", f"({deed.format(who=who)})", answer.format(who=who)) for deed, answer in _EXAMPLES]


def by_rule(event: Event, grant: Collection[str]) -> tuple[str, str]:
    """Return the tool and the words that answer the event when no words of a model may be used."""
    who = one_line(event.who.name, max_chars=60)
    if isinstance(event, Gave | Arrived) or "emote" not in grant:
        words = "Thank you" if isinstance(event, Gave) else "Welcome" if isinstance(event, Arrived) else "Well met"
        return "say", f"{words}, {who}."
    return "emote", f"nods to {who}."


def _to_you(line: str, names: Sequence[str]) -> str:
    """Return the sentence with "you" for the character's own name."""
    called = "|".join(re.escape(name) for name in names if name)
    line = re.sub(rf"(?<!\w)@?(?:the )?(?:{called})['\u2019]s(?!\w)", "your", line, flags=re.IGNORECASE)
    return _whole(re.sub(rf"(?<!\w)@?(?:the )?(?:{called})(?!\w)", "you", line, flags=re.IGNORECASE))


def _whole(line: str) -> str:
    """Return the line with a mark that ends a sentence."""
    return line if line.endswith((".", "!", "?", "\u2026")) else f"{line}."


def outcomes_of(executed: Sequence[Executed]) -> list[str]:
    """Return what came of deeds and searches, each as a sentence or two."""
    told = []
    for done in executed:
        name, arguments = done.call.name, {key: str(value) for key, value in done.call.arguments.items()}
        if done.status is not Status.DONE:
            told.append(f"I tried, and it did not work: {one_line(done.result.text, max_chars=200)}")
        elif name in _DONE:
            told.append(_DONE[name].format(**arguments))
    return [*told, *(hit.text for hit in fitting_hits(executed))]


def remembered_facts(recalled: Sequence[Memory], line: str) -> list[str]:
    """Return what is remembered of a question as sentences beside it: what was heard, word for word."""
    if not is_question(line):
        return []
    asked = stems_of(line)
    shared = {memory.id: len(asked & stems_of(f"{memory.name} {memory.text}")) for memory in recalled}
    fitting = sorted((memory for memory in recalled if shared[memory.id]), key=lambda memory: -shared[memory.id])
    return [_as_fact(memory) for memory in (fitting or recalled)[:MAX_REMEMBERED]]


def lore_texts(lore: Sequence[Memory]) -> list[str]:
    """Return what the character knows of the world and the line may ask for: what it is about first."""
    about = sorted(lore, key=lambda memory: -memory.importance)
    return [one_line(memory.text, max_chars=MAX_LORE_CHARS) for memory in about]


def _as_fact(memory: Memory) -> str:
    text = one_line(memory.text, max_chars=MAX_MEMORY_CHARS)
    return f'{one_line(memory.name, max_chars=60)} said: "{text}"' if memory.kind is MemoryKind.HEARD else text
