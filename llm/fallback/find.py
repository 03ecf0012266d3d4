"""Finds tool calls in a model's plain text, for models and servers without native calls.

Never guesses: a call's name is written in the text and is that of an offered tool. The time taken is linear in the
length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import orjson

from llm.fallback.drafts import Candidate, Offer, Reader, Reading, merge_readings
from llm.fallback.formats.elements import read_elements
from llm.fallback.formats.gemma import read_gemma
from llm.fallback.formats.headed import read_headed
from llm.fallback.formats.json_calls import read_json
from llm.fallback.formats.pythonic import read_pythonic
from llm.fallback.formats.react import read_react
from llm.fallback.formats.tags import read_tags
from llm.fallback.judge import reasoning_round, select_meant
from llm.fallback.quotes import Quotes, inputs_of, may_hold_call
from llm.loose_json.repair import MAX_CHARS
from llm.messages import Block, Message, Reasoning, Role, ToolCall, ToolSpec
from llm.request import ChatRequest
from llm.response import FinishReason, LLMResponse
from llm.wire.thinking import split_thinking

#: Each reads the whole text. Where two see a call in one place, the one that begins first is right. A new format needs
#: one more reader here.
READERS: tuple[Reader, ...] = (
    read_pythonic,
    read_json,
    read_headed,
    read_tags,
    read_elements,
    read_react,
    read_gemma,
)
#: The trained end marks of models, which a server may let through.
_STOP = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end_of_text|END_OF_TURN_TOKEN|return)\|>|<end_of_turn>|<turn\|>"
    r"|<\uff5cend▁of▁sentence\uff5c>|</s>"
)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a text. Without any calls, `text` is the answer in plain text; with some it is empty.

    `reasoning` is what stood in think tags and around the calls. `repaired`: a call was JSON only after a repair.
    `quoted` counts the calls left out because an input holds them, `repeats` the calls equal to an earlier one.
    """

    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    text: str = ""
    repaired: bool = False
    quoted: int = 0
    repeats: int = 0


def find_calls(
    text: str,
    tools: Sequence[ToolSpec],
    *,
    complete: bool,
    inputs: Sequence[str] = (),
    new_id: Callable[[], str],
) -> Found:
    """Find every call of the text, in order. `complete` is False when the token limit ended the text.

    `inputs` is the untrusted text of the prompt; a call that occurs there is never returned. A text of more than 256
    KiB is not searched. What a model wrote after its own end mark is left out, and the text before the mark counts as
    complete.
    """
    if not may_hold_call(text):  # nor a thinking tag, which begins with one of the same characters
        return Found(text=text)
    thoughts, answer = split_thinking(text)
    plain = Found(reasoning=thoughts, text=answer)
    if not tools or len(answer) > MAX_CHARS or not may_hold_call(answer):
        return plain
    offer = Offer(tools)
    quotes = Quotes(inputs, offer, READERS)
    reading = _read(answer, offer, complete)
    stop = _stop_at(answer, reading.candidates)
    if stop is not None:
        answer = answer[:stop]
        reading = _read(answer, offer, complete=True)
    own = [quotes.without(found, answer) for found in reading.candidates]
    quoted = _count(reading.candidates) - _count(own)
    end = len(answer) if reading.cut is None else reading.cut
    meant = select_meant(answer, own, end)
    if not meant:
        return Found(reasoning=thoughts, text=answer, quoted=quoted)
    around = reasoning_round(answer, meant, end)
    reasoning = "\n".join(part for part in (thoughts.strip(), around) if part)
    calls = _calls(meant, new_id)
    return Found(calls, reasoning, "", any(found.repaired for found in meant), quoted, _repeats(calls))


def with_calls_from_text(response: LLMResponse, request: ChatRequest, new_id: Callable[[], str]) -> LLMResponse:
    """Return the response with the tool calls found in its text, if tools were offered and none came natively."""
    if response.has_tool_calls or not request.tools or not response.content:
        return response
    if response.finish_reason is FinishReason.PAUSED:
        return response
    complete = response.finish_reason is not FinishReason.LENGTH
    found = find_calls(
        response.content, request.tools, complete=complete, inputs=inputs_of(request.messages), new_id=new_id
    )
    if not found.calls:
        return response
    thoughts = response.reasoning + found.reasoning
    blocks: list[Block] = [Reasoning(thoughts)] if thoughts else []
    blocks.extend(found.calls)
    return replace(
        response,
        message=Message(Role.ASSISTANT, tuple(blocks)),
        finish_reason=FinishReason.TOOL_CALLS,
        from_fallback=True,
        repaired=found.repaired,
    )


def _read(text: str, offer: Offer, complete: bool) -> Reading:
    return merge_readings((reader(text, offer, complete) for reader in READERS), len(text))


def _count(candidates: Sequence[Candidate]) -> int:
    return sum(len(found.drafts) for found in candidates)


def _calls(candidates: Sequence[Candidate], new_id: Callable[[], str]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(new_id(), draft.name, draft.arguments, draft.problem) for found in candidates for draft in found.drafts
    )


def _repeats(calls: Sequence[ToolCall]) -> int:
    """Count the calls that equal an earlier one."""
    distinct = {orjson.dumps([call.name, call.arguments], option=orjson.OPT_SORT_KEYS) for call in calls}
    return len(calls) - len(distinct)


def _stop_at(text: str, candidates: Sequence[Candidate]) -> int | None:
    """Return where the first end mark is that is neither inside a call nor at the start of the text, or None.

    `</s>` does not count in a text that strikes words out with `<s>`.
    """
    calls = iter(candidates)
    call = next(calls, None)
    strikes = text.find("<s>", 1)
    for mark in _STOP.finditer(text):
        at = mark.start()
        while call and call.end <= at:
            call = next(calls, None)
        is_inside = call is not None and call.start <= at
        is_struck = mark.group() == "</s>" and 0 < strikes < at
        if not is_inside and not is_struck and at and not text[:at].isspace():
            return at
    return None
