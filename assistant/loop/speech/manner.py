"""Decides how an answer is said, whatever the model chose: aloud, whisper, page or channel, as it was asked. Pure.

asked aloud, and it whispers to or pages the asker   -> said aloud, unless they asked for privacy
asked by whisper or page, and it speaks aloud        -> whispered to the asker, or paged
asked on a channel, and it speaks elsewhere          -> said on the channel
an emote that is speech                              -> speech
a text without a tool call                           -> speech or a thought, by the setting `plain_text`
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

from mud_assistant.assistant.events.events import ChannelSaid, Event, Paged, Said, Whispered, spoken_text
from mud_assistant.assistant.loop.run import Run
from mud_assistant.assistant.loop.talk.turns import by_rule
from mud_assistant.llm import FinishReason, LLMResponse, ToolCall, Usage
from mud_assistant.llm import assistant as assistant_message
from mud_assistant.tools import PolicyConfig
from mud_assistant.tools.text.lenient import plain, strip_actor_name

#: Words of a player who wants an answer in private.
_IN_PRIVATE = re.compile(
    r"\b(?:whisper|secret|secretly|quiet|quietly|private|privately|discreet|discreetly|confidential|page|message"
    r"|alone|my ear|just (?:to|for|between)|only (?:to|for) me|in confidence)\b",
    re.IGNORECASE,
)
_IN_QUOTES = '["\u201c\u00ab\u201e](?P<words>[^"\u201c\u201d\u00ab\u00bb\u201e]+)["\u201d\u00bb\u201c]\\W*\\Z'
_QUOTED = re.compile(rf"\A{_IN_QUOTES}")
_REPORTED = re.compile(rf"\A(?:says|replies|answers|responds)(?: to \w+)?[,:]?\s*{_IN_QUOTES}", re.IGNORECASE)
#: Beginnings that only speech has. Acts begin with a verb, or with "with", "in", "slowly" and the like.
_FIRST_PERSON = re.compile("\\A(?:I|my|we|our)(?:['\u2019](?:m|ve|ll|d|re))?\\b(?!-)", re.IGNORECASE)
_SENTENCE = re.compile(
    "\\A(?:The|This|That|That['\u2019]s|These|Those|There|There['\u2019]s|Here|It|It['\u2019]s|You|You['\u2019](?:re|ve|ll|d)|Your|"
    "He|She|They|Yes|No|Not|Oh|Ah|Hello|Hi|Greetings|Welcome|Good|Well|What|Where|When|Why|Who|How|Which|Perhaps|Maybe|"
    "Please|Thanks|Thank|Certainly|Indeed|Sorry|If|Everyone|Do|Does|Did|Are|Is|Can|Could|Would|Will|Shall|Have|Has)\\b"
)
PlainText = Literal["think", "speak", "speak_if_addressed"]
#: How many characters of a thought a noop keeps.
_MAX_REASON = 400


def in_manner(
    call: ToolCall, event: Event | None, grant: Collection[str], name: str, *, is_here: bool = True
) -> ToolCall:
    """Return the call that the assistant `name` makes to answer `event`; a call that fits is returned unchanged.

    `is_here` says whether the asker would hear it speak aloud. An asker who has left is reached the way the model
    chose.
    """
    if call.problem:
        return call
    if (words := _spoken_by(call, name)) is not None and "say" in grant:
        call = ToolCall(call.id, "say", {"text": words})
    text = call.arguments.get("text")
    if event is None or not isinstance(text, str):
        return call
    is_private = call.name in {"whisper", "page"}
    is_private = is_private and plain(str(call.arguments.get("target", ""))) == plain(event.who.name)
    wants_private = is_private and _IN_PRIVATE.search(spoken_text(event)) is not None
    match event:
        case Said() if is_here and is_private and not wants_private and "say" in grant:
            return ToolCall(call.id, "say", {"text": text})
        case ChannelSaid() if call.name == "say" or (is_private and not wants_private):
            fitting = ToolCall(call.id, "channel", {"channel": event.channel, "text": text})
        case Whispered() if is_here and call.name == "say":
            fitting = ToolCall(call.id, "whisper", {"target": event.who.name, "text": text})
        case Paged() if call.name == "say" or (call.name == "whisper" and is_private):
            fitting = ToolCall(call.id, "page", {"target": event.who.name, "text": text})
        case _:
            return call
    return fitting if fitting.name in grant else call


def _spoken_by(call: ToolCall, name: str) -> str | None:
    """Return the words of an emote that is speech; None for an act and for any other call."""
    text = call.arguments.get("text")
    if call.name != "emote" or not isinstance(text, str):
        return None
    act = strip_actor_name(text, name).strip()
    for quoted in (_QUOTED, _REPORTED):
        if (found := quoted.match(act)) is not None:
            return found["words"].strip()
    return act if _FIRST_PERSON.match(act) or _SENTENCE.match(act) else None


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


def speech_call(rules: PolicyConfig, run: Run, said: str) -> ToolCall | None:
    """Return the call that says it the way the line came: aloud, whispered, paged, or on its channel.

    Without words, return the call that answers a deed by rule.
    """
    event = run.trigger.event if run.trigger else None
    call_id = f"{run.id}.{run.progress.written + 1}.words"
    if event is not None and not said:
        tool, words = by_rule(event, rules.grant)
        return ToolCall(call_id, tool, {"text": words}) if tool in rules.grant else None
    call = call_for_text(said, "speak", event, addressed=True, call_id=call_id, grant=rules.grant)
    return call if call is not None and call.name in rules.grant else None


def response_of(calls: Sequence[ToolCall], usage: Usage | None = None, by: LLMResponse | None = None) -> LLMResponse:
    """Return the calls as an answer. `by` is the model's own, where a model was asked."""
    provider, model = (by.provider, by.model) if by else ("", "")
    return LLMResponse(assistant_message(*calls), FinishReason.TOOL_CALLS, usage or Usage(), provider, model)
