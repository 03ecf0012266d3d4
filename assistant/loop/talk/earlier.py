"""Reads the latest turns of a conversation out of the perception stream. Pure.

`assistant/events/events.py` writes the lines; players' words stand in them between quotation marks, on one line. A line
without speech (a pose, a gift, an arrival) is a turn when it is what was answered.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assistant.language.attend import DEED, Turn
from assistant.loop.speech.repeats import SPEECH
from assistant.loop.talk.deeds import as_turn, is_deed
from llm.messages import Message, Role
from llm.packing.packed import Joined, Part

#: How many parts of the stream are read, from its end.
MAX_PARTS = 40
_LINE = re.compile(r'^(?P<who>.+?) (?P<how>says(?: to you)?|whispers to you|pages you|says on [^:]+): "(?P<text>.*)"$')


def earlier_turns(parts: Sequence[Part], names: Sequence[str], now: Collection[str]) -> list[Turn]:
    """Return the latest turns, oldest first: each line that was heard, with what the character answered, if anything.

    `names` are the character's own, the usual one first. `now` are the texts that are being answered; they are left out
    where nothing was answered yet.
    """
    turns: list[Turn] = []
    waiting: list[_Waiting] = []
    called = re.compile(rf"(?<!\w)@?{re.escape(names[0])}(?!\w)", re.IGNORECASE)
    for message in Joined(list(parts[-MAX_PARTS:])):
        if message.role is Role.USER:
            waiting += [heard for line in message.text.split("\n") if (heard := _heard(line, called, names))]
        elif message.role is Role.ASSISTANT and (said := _said(message)):
            turns += _answered(waiting, said)
            waiting = []
    turns += [Turn(one.who, one.text) for one in waiting if one.is_speech and not _is_now(one.text, now)]
    return turns


@dataclass(frozen=True, slots=True)
class _Waiting:
    """One line that may be answered; `who` is empty for a line without speech."""

    who: str
    text: str
    to_me: bool

    @property
    def is_speech(self) -> bool:
        return bool(self.who)


def _heard(line: str, called: re.Pattern[str], names: Sequence[str]) -> _Waiting | None:
    """Return what a line tells; None for a line that is empty or tells of the scene."""
    found = _LINE.match(line)
    if found is not None:
        to_me = found["how"] != "says" or called.search(found["text"]) is not None
        return _Waiting(found["who"], found["text"], to_me)
    if not line.strip() or line.startswith("["):
        return None
    return _Waiting("", as_turn(line, names), is_deed(line, names))


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
    meant = [one for one in waiting if one.to_me] or [one for one in waiting if one.is_speech] or waiting[-1:]
    return [
        Turn(one.who, one.text, said if one is meant[-1] else "")
        for one in waiting
        if one.is_speech or one is meant[-1]
    ]


def _is_now(text: str, now: Collection[str]) -> bool:
    return any(text in line or line in text for line in now)
