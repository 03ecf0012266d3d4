"""Finds what is left to do of an answer that was partly acted on, by a dead process or before it was complete.

Every answer that was paid for is used, and nothing is said or done twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.journal import InterruptedStep
from mud_assistant.llm import FinishReason, LLMResponse, Message, ToolCall, Usage
from mud_assistant.llm import assistant as assistant_message
from mud_assistant.tools import Begun, Executed, Past, Status
from mud_assistant.tools.text.clean import MAX_SPEECH_CHARS, clean_speech

#: The tool whose words may be spoken before all of them have arrived.
SAY = "say"
#: A speaking call with one of these statuses may have been heard, so it is not tried again.
MAYBE_HEARD = frozenset({Status.DONE, Status.TIMED_OUT, Status.CRASHED, Status.UNKNOWN})

_log = Logger()


class RecoveredAnswer(Struct, frozen=True):
    """A model's answer to act on: its calls in order, and what was done of them already."""

    response: LLMResponse
    calls: tuple[ToolCall, ...]
    past: Past


class BegunSpeech(Struct, frozen=True):
    """The first sentence of an answer, spoken before the rest was there: as it was written, and what came of it."""

    sentence: str
    message: Message
    executed: Executed
    #: When it was said, in clock seconds; None when that was in an earlier process.
    at: float | None = None


class Rest(Struct, frozen=True):
    """The part of an answer that is still to be done after its beginning was said early.

    `calls` and `past` are for the dispatcher. `index` is the index of the call that was begun, None when what was said
    early is part of no call. `settled` is the result of that call when nothing is left of it.
    """

    calls: tuple[ToolCall, ...]
    past: Past
    index: int | None = None
    settled: Executed | None = None


class Early(Enum):
    """How far a run has come with an answer that it began to speak before all of it was there."""

    NOTHING = "nothing"  # nothing was said early
    BEGINNING = "beginning"  # a first sentence was said; what follows is not known, or did not go on from it
    WHOLE = "whole"  # the whole answer went on from that sentence, and was acted on


@dataclass(slots=True)
class EarlySpeech:
    """What a run says of an answer before all of it is there.

        NOTHING --begin--> BEGINNING --go_on--> WHOLE

    A whole answer that does not go on from the sentence leaves the state at BEGINNING: the sentence was heard all the
    same, so the run is never started again.
    """

    state: Early = Early.NOTHING
    #: The sentence whose answer was not acted on yet.
    said: BegunSpeech | None = None

    def begin(self, said: BegunSpeech) -> None:
        """Note that a sentence was said, or may have been heard."""
        self.state, self.said = Early.BEGINNING, said

    def is_remark(self, response: LLMResponse) -> bool:
        """Tell whether what was said early is a remark on the way to this answer, and so no part of it."""
        return self.said is not None and self.said.sentence in response.reasoning

    def go_on(self, calls: tuple[ToolCall, ...], past: Past, text: str) -> Rest:
        """Return what is left to do of the whole answer. `text` is the text beside its calls."""
        assert self.said is not None
        rest = rest_of(calls, past, self.said, text)
        if rest.index is not None:
            self.state = Early.WHOLE
        return rest


def left_of(step: InterruptedStep) -> RecoveredAnswer:
    """Return the recorded step as an answer to act on. What was lost to damage is missing and not asked for again."""
    known = [(call.call, call) for call in step.calls if call.call is not None]
    past = {at: done.executed or Begun() for at, (_, done) in enumerate(known) if done.intended or done.executed}
    if step.response is None:
        message = assistant_message(*(call for call, _ in known))
        return RecoveredAnswer(LLMResponse(message, FinishReason.STOP, Usage(), "", ""), message.tool_calls, past)
    # Calls made from plain text are only in the intents.
    return RecoveredAnswer(step.response, step.response.tool_calls or tuple(call for call, _ in known), past)


def rest_of(calls: tuple[ToolCall, ...], past: Past, said: BegunSpeech, text: str) -> Rest:
    """Return the calls of an answer without the words that were `said` early. `text` is the text beside the calls."""
    index = begun_call(calls, said.sentence, text)
    if index is None or index in past:
        return Rest(calls, past, index)
    call = calls[index]
    words = words_of(call)
    rest = words.removeprefix(said.sentence) if words.startswith(said.sentence) else ""
    rest = clean_speech(rest, max_chars=max(1, MAX_SPEECH_CHARS - len(said.sentence)))
    if rest and said.executed.status is Status.DONE:
        cut = replace(call, arguments={**call.arguments, "text": rest})
        return Rest((*calls[:index], cut, *calls[index + 1 :]), past, index)
    settled = replace(said.executed, call=call, result=replace(said.executed.result, call_id=call.id))
    return Rest(calls, {**past, index: settled}, index, settled)


def whole_text(call: ToolCall, text: str) -> ToolCall:
    """Return the call for all of a plain text. The recorded call may hold only the rest of it."""
    return replace(call, arguments={**call.arguments, "text": text.strip()}) if call.name == SAY else call


def begun_call(calls: Sequence[ToolCall], sentence: str, text: str) -> int | None:
    """Return the index of the call that began with the sentence said early; None when no call did."""
    for index, call in enumerate(calls):
        if call.name == SAY and words_of(call).startswith(sentence):
            return index
    # The call was cut off, or reads differently now that it is complete. Text beside the calls belongs to none of them.
    is_other = bool(calls) and calls[0].name == SAY and not text.lstrip().startswith(sentence)
    return 0 if is_other else None


def words_of(call: ToolCall) -> str:
    """Return what the call says, without leading blanks."""
    return str(call.arguments.get("text", "")).lstrip()


def warn_of_unknown(name: str, run_id: str, executed: Sequence[Executed]) -> None:
    """Log a warning for each call of which it is unknown whether it happened."""
    for done in executed:
        if done.status is Status.UNKNOWN:
            _log.warn(
                "{name}: {call} of {run} was under way when the process died: its outcome is unknown",
                log_event="unknown",
                name=name,
                call=done.call.name,
                run=run_id,
            )
