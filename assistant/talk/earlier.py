"""Reads the latest turns of a conversation out of the perception stream. Pure.

The lines are the ones `assistant/events.py` writes; players' words stand in them between quotation marks, on one line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from assistant.talk.attend import Turn
from llm.messages import Message, Role
from llm.packed import Joined, Part

#: How many parts of the stream are read, from its end.
MAX_PARTS = 40
_LINE = re.compile(r'^(?P<who>.+?) (?P<how>says(?: to you)?|whispers to you|pages you|says on [^:]+): "(?P<text>.*)"$')
_SPEECH = {"say": "text", "whisper": "text", "page": "text", "channel": "text"}
#: Stands for what the character did without words.
DEED = "Yes."


def earlier_turns(parts: Sequence[Part], name: str, now: Collection[str]) -> list[Turn]:
    """Return the latest turns, oldest first: each line that was heard, with what the character answered, if anything.

    `now` are the texts that are being answered; they are left out where nothing was answered yet.
    """
    turns: list[Turn] = []
    waiting: list[tuple[str, str, bool]] = []
    called = re.compile(rf"(?<!\w)@?{re.escape(name)}(?!\w)", re.IGNORECASE)
    for message in Joined(list(parts[-MAX_PARTS:])):
        if message.role is Role.USER:
            waiting += [heard for line in message.text.split("\n") if (heard := _heard(line, called))]
        elif message.role is Role.ASSISTANT and (said := _said(message)):
            turns += _answered(waiting, said)
            waiting = []
    turns += [Turn(who, text) for who, text, _ in waiting if not _is_now(text, now)]
    return turns


def _heard(line: str, called: re.Pattern[str]) -> tuple[str, str, bool] | None:
    """Who said what in a line, and whether it was to the character; None for a line without speech."""
    found = _LINE.match(line)
    if found is None:
        return None
    to_me = found["how"] != "says" or called.search(found["text"]) is not None
    return found["who"], found["text"], to_me


def _said(message: Message) -> str:
    """The words of a message, or what stands for its deeds; empty for neither."""
    words = [str(call.arguments.get(_SPEECH[call.name], "")) for call in message.tool_calls if call.name in _SPEECH]
    if words or not message.tool_calls:
        return " ".join(filter(None, [*words, message.text if not words else ""]))
    return DEED


def _answered(waiting: Sequence[tuple[str, str, bool]], said: str) -> list[Turn]:
    """The lines that waited as turns: the last that was to the character, else the last of all, has the answer."""
    if not waiting:
        return []
    at = max((place for place, (_, _, to_me) in enumerate(waiting) if to_me), default=len(waiting) - 1)
    return [Turn(who, text, said if place == at else "") for place, (who, text, _) in enumerate(waiting)]


def _is_now(text: str, now: Collection[str]) -> bool:
    return any(text in line or line in text for line in now)
