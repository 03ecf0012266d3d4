"""Records how well a model calls tools, and so decides whether to ask it natively or by the JSON fallback.

A pure value with a pure update. The caller keeps the latest record of each model and decides when to update it.
How the choice is made, over the answers since it last changed:

    native    `MISSES` answers in a row without a readable call, tools required  -> fallback
    fallback  the same, or `TRIAL` answers of any kind                          -> native
    native, after the fallback: a single miss is enough, and the next trial is twice as long, up to `LONGEST_TRIAL`
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

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


@dataclass(frozen=True, slots=True)
class CallRecord:
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
    recent = (*record.recent, (style, outcome))[-WINDOW:]
    if style is not record.style:
        return replace(record, recent=recent)
    misses = {CallOutcome.FAILED: record.misses + 1, CallOutcome.NONE: record.misses}.get(outcome, 0)
    doubted = record.doubted and outcome not in {CallOutcome.VALID, CallOutcome.REPAIRED}
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
