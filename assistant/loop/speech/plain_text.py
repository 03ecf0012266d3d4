"""Decides what to do with an answer that is text without a tool call, by the setting `plain_text`. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from assistant.events.events import ChannelSaid, Event, Paged, Whispered
from llm import ToolCall

PlainText = Literal["think", "speak", "speak_if_addressed"]

#: How many characters of a thought a noop keeps.
_MAX_REASON = 400


def call_for_text(
    text: str, setting: PlainText, event: Event | None, *, addressed: bool, call_id: str, grant: Collection[str]
) -> ToolCall | None:
    """Return the call the text stands for: speech to the asker, or a noop with the text as its reason.

    Return None without text. A whisper is answered with a whisper, a page with a page, and a line on a channel on that
    channel. Where the tool for a page or a channel is not granted, there is no answer: the room heard no question.
    """
    text = text.strip()
    if not text:
        return None
    is_thought = setting == "think" or (setting == "speak_if_addressed" and not addressed)
    match event:
        case _ if is_thought:
            pass
        case Whispered():
            return ToolCall(call_id, "whisper", {"target": event.who.name, "text": text})
        case Paged():
            if "page" in grant:
                return ToolCall(call_id, "page", {"target": event.who.name, "text": text})
        case ChannelSaid():
            if "channel" in grant:
                return ToolCall(call_id, "channel", {"channel": event.channel, "text": text})
        case _:
            return ToolCall(call_id, "say", {"text": text})
    return ToolCall(call_id, "noop", {"reason": text[:_MAX_REASON]})


def answer_by(event: Event | None, grant: Collection[str]) -> str:
    """Return the granted tool that answers where the event was.

    Empty for an event in the room, and when no such tool is granted. A player who spoke on a channel can also be paged.
    """
    match event:
        case Paged():
            fitting: tuple[str, ...] = ("page",)
        case ChannelSaid():
            fitting = ("channel", "page")
        case _:
            fitting = ()
    return next((name for name in fitting if name in grant), "")
