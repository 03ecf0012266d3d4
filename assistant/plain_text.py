"""What becomes of an answer that is text and no tool call (design.md 4.3, setting `plain_text`). Pure."""

from __future__ import annotations

from typing import Literal

from assistant.events import Event, Whispered
from llm import ToolCall

PlainText = Literal["think", "speak", "speak_if_addressed"]

#: Characters of a thought that a noop keeps.
_MAX_REASON = 400


def call_for_text(
    text: str, setting: PlainText, event: Event | None, *, addressed: bool, call_id: str
) -> ToolCall | None:
    """The call the text stands for: speech to whoever asked, or a noop with the text as its reason; None without text.

    A whisper is answered with a whisper.
    """
    text = text.strip()
    if not text:
        return None
    if setting == "think" or (setting == "speak_if_addressed" and not addressed):
        return ToolCall(call_id, "noop", {"reason": text[:_MAX_REASON]})
    if isinstance(event, Whispered):
        return ToolCall(call_id, "whisper", {"target": event.who.name, "text": text})
    return ToolCall(call_id, "say", {"text": text})
