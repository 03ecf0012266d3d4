"""What each model proved able to do, learned from its answers and shared by every client of the process.

How well a model calls tools decides whether it is asked natively or by the JSON fallback. Its record is a pure value
with a pure update. The choice is made over the answers since it last changed:

    native    `MISSES` answers in a row without a readable call, tools required  -> fallback
    fallback  the same, or `TRIAL` answers of any kind                          -> native
    native, after the fallback: a single miss is enough, and the next trial is twice as long, up to `LONGEST_TRIAL`
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.llm.modes.mode import FieldOverride, RequestMode
from mud_assistant.llm.request import ChatRequest
from mud_assistant.llm.response import FinishReason, LLMResponse

#: How many answers the record remembers.
WINDOW = 50
#: How many answers in a row without a readable call change the style.
MISSES = 3
#: How many answers the fallback is used for before native calls are tried again: the first time, and at most.
TRIAL = 20
LONGEST_TRIAL = 320
#: A style of offering tools is useless for a model when less than this share of its answers can be read.
HOPELESS_SHARE = 0.5


class CallStyle(StrEnum):
    """How tools are offered to a model and its calls are read."""

    NATIVE = "native"
    FALLBACK = "fallback"


class CallOutcome(StrEnum):
    """How one answer of a model that was offered tools came out."""

    VALID = "valid"
    REPAIRED = "repaired"
    FAILED = "failed"
    #: No call, and none was required.
    NONE = "none"


class CallRecord(Struct, frozen=True):
    """The last answers of one model, oldest first, and how to ask it next.

    `misses`: answers in a row without a readable call though one was required. `tried`: answers since the style was
    chosen. `trial`: how many answers the fallback is given. `doubted`: native calls failed before, so one miss is
    enough.
    """

    recent: tuple[tuple[CallStyle, CallOutcome], ...] = ()
    style: CallStyle = CallStyle.NATIVE
    misses: int = 0
    tried: int = 0
    trial: int = TRIAL
    doubted: bool = False

    def count(self, outcome: CallOutcome, style: CallStyle | None = None) -> int:
        """Count the remembered answers with this outcome, of one style or of both."""
        return sum(seen is outcome and style in {None, asked} for asked, seen in self.recent)

    def share_readable(self, style: CallStyle) -> float | None:
        """Return the share of readable answers among those that had or needed a call. None when there were none."""
        readable = self.count(CallOutcome.VALID, style) + self.count(CallOutcome.REPAIRED, style)
        judged = readable + self.count(CallOutcome.FAILED, style)
        return readable / judged if judged else None


@dataclass(slots=True)
class ModelRecord:
    """What is known of one model at one origin. None means not tried."""

    native_tools: bool | None = None
    schema: bool | None = None
    thinking: bool | None = None
    sees_images: bool | None = None
    #: The context length in tokens, as an error named it.
    context_tokens: int | None = None
    #: The fields that a request to this model must leave out, rename or set to another value.
    overrides: tuple[FieldOverride, ...] = ()
    #: Whether its text was always the whole answer when tools were offered. False once it came with calls or reasoning.
    text_alone: bool | None = None
    #: Whether the server's other API is used for it, as a refusal advised. False when the server does not have that.
    other_api: bool | None = None
    #: How its recent calls came out, and so how to offer it tools.
    calls: CallRecord = field(default_factory=CallRecord)

    @property
    def as_text(self) -> bool:
        """Whether tools are described and called as text: the model refuses them, or its native calls fail."""
        return self.native_tools is False or self.calls.style is CallStyle.FALLBACK


class Capabilities:
    """Records by (API URL, model)."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], ModelRecord] = {}

    def of(self, api_url: str, model: str) -> ModelRecord:
        """Return the record of one model, empty at first."""
        key = (api_url, model)
        if key not in self._records:
            self._records[key] = ModelRecord()
        return self._records[key]


def learn_from_answer(response: LLMResponse, request: ChatRequest, mode: RequestMode, record: ModelRecord) -> None:
    """Record how the calls of an answer came out, and whether its text stood alone, for later answers.

    An answer that was cut off says nothing about what the model can do. Neither does one to a call that gives way to
    others.
    """
    if not request.tools or request.caller.gives_way or response.finish_reason is FinishReason.LENGTH:
        return
    calls, text = response.tool_calls, response.content
    outcome = outcome_of(
        calls=len(calls),
        problems=len([call for call in calls if call.problem]),
        repaired=response.repaired or (mode.native and response.from_fallback),
        required=request.tool_choice not in {None, "auto", "none"},
    )
    if (text and not text.isspace()) or response.from_fallback:
        is_answer = not calls and not response.reasoning
        record.text_alone = record.text_alone is not False and is_answer
    style = CallStyle.NATIVE if mode.native else CallStyle.FALLBACK
    record.calls = record_answer(record.calls, outcome, style=style)


def is_hopeless(record: CallRecord) -> bool:
    """Tell whether both styles of offering tools were tried and few calls could be read in either."""
    if record.style is CallStyle.NATIVE and not record.doubted:
        return False
    tried = sum(style is CallStyle.FALLBACK for style, _ in record.recent)
    native, fallback = record.share_readable(CallStyle.NATIVE), record.share_readable(CallStyle.FALLBACK)
    if native is None or tried < MISSES:
        return False
    return native < HOPELESS_SHARE and (fallback is None or fallback < HOPELESS_SHARE)


def outcome_of(*, calls: int, problems: int, repaired: bool, required: bool) -> CallOutcome:
    """Return the outcome of an answer with so many calls, some of them with unreadable arguments."""
    if not calls:
        return CallOutcome.FAILED if required else CallOutcome.NONE
    if problems == calls:
        return CallOutcome.FAILED
    return CallOutcome.REPAIRED if repaired or problems else CallOutcome.VALID


def record_answer(record: CallRecord, outcome: CallOutcome, *, style: CallStyle) -> CallRecord:
    """Return the record with one more answer.

    `style` is how that answer was requested. An answer in the style that is not in use is counted and changes nothing
    else.
    """
    recent = (*record.recent[1 - WINDOW :], (style, outcome))
    if style is not record.style:
        return replace(record, recent=recent)
    readable = outcome is CallOutcome.VALID or outcome is CallOutcome.REPAIRED
    misses = 0 if readable else record.misses + (outcome is CallOutcome.FAILED)
    doubted = record.doubted and not readable
    seen = CallRecord(recent, record.style, misses, record.tried + 1, record.trial, doubted)
    return _to_fallback(seen) if record.style is CallStyle.NATIVE else _to_native(seen)


def _to_fallback(record: CallRecord) -> CallRecord:
    """Return the record, switched to the fallback when native calls fail."""
    if record.misses < (1 if record.doubted else MISSES):
        return record
    trial = min(2 * record.trial, LONGEST_TRIAL) if record.doubted else TRIAL
    return replace(record, style=CallStyle.FALLBACK, misses=0, tried=0, trial=trial)


def _to_native(record: CallRecord) -> CallRecord:
    """Return the record, switched to native calls when the fallback does no better or has had its trial."""
    if record.misses < MISSES and record.tried < record.trial:
        return record
    return replace(record, style=CallStyle.NATIVE, misses=0, tried=0, doubted=True)
