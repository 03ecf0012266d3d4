"""What becomes of an answer that is text and no tool call (design.md 4.3, setting `plain_text`). Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from assistant.events import ChannelSaid, Event, Paged, Whispered
from llm import ToolCall

PlainText = Literal["think", "speak", "speak_if_addressed"]

#: Characters of a thought that a noop keeps.
_MAX_REASON = 400


def call_for_text(
    text: str, setting: PlainText, event: Event | None, *, addressed: bool, call_id: str, grant: Collection[str]
) -> ToolCall | None:
    """The call the text stands for: speech to whoever asked, or a noop with the text as its reason; None without text.

    A whisper is answered with a whisper, a page with a page, and what was said on a channel there. Where the tool for
    that is not granted, a page or a channel is not answered: those in the room heard no question.
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
    """The granted tool that answers where the event was, empty for what happened in the room and where there is none.

    Who spoke on a channel can also be paged.
    """
    match event:
        case Paged():
            fitting: tuple[str, ...] = ("page",)
        case ChannelSaid():
            fitting = ("channel", "page")
        case _:
            fitting = ()
    return next((name for name in fitting if name in grant), "")
