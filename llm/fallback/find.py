"""Finds tool calls in a model's plain text, for models and servers without native calls.

Never guesses: a call's name is written in the text and is that of an offered tool. Of the calls found, those that are
meant are kept: not an example, not an aside in an explanation. The time taken is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import orjson
from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.llm.fallback.drafts import Candidate, Offer, Reader, Reading, merge_readings
from mud_assistant.llm.fallback.formats.headed import read_gemma, read_headed, read_react
from mud_assistant.llm.fallback.formats.json_calls import read_json
from mud_assistant.llm.fallback.formats.pythonic import read_pythonic
from mud_assistant.llm.fallback.formats.tags import read_elements, read_tags
from mud_assistant.llm.fallback.quotes import Quotes, may_hold_call
from mud_assistant.llm.loose_json.repair import MAX_CHARS
from mud_assistant.llm.messages import Block, Message, Reasoning, Role, ToolCall, ToolSpec, user
from mud_assistant.llm.request import ChatRequest
from mud_assistant.llm.response import FinishReason, LLMResponse
from mud_assistant.llm.wire.thinking import split_thinking

_DECORATION = re.compile(
    r"```[ \t]*[\w-]*"
    r"|</?(?:[\w.\-]{1,20}+:|[\uff5c|]\w{1,20}+[\uff5c|])?+"
    r"(?:tool_calls?|function_calls?|tool_code|(?:start|end)_function_call|function|invoke|parameters?|s)\s{0,4}>"
    r"|<\|[^|<>\s]{1,40}+\|?>|<[a-z_]{1,20}\|>|<\uff5c[^\uff5c<>\s]{1,40}+\uff5c>"
    r"|\[/?TOOL_CALLS\]|\bfunctools\s*+\Z|\bAction\s{0,4}:(?=\s{0,4}(?:```|\Z))|\A[ \t]*+//[^\n]*+",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\b(?:examples?\b|for instance\b|e\.\s?g\b|such as\W*\Z|something like\W*\Z)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]\s+(?=[A-Z\"'`])")
_WORD = re.compile(r"\w")
_QUOTES = "`\"'\u201c\u2018"
#: How many characters before a call may introduce it.
_LEAD_CHARS = 300
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


class Found(Struct, frozen=True):
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
    """Find every call of the text, as `find_calls_after` does. `inputs` is the untrusted text of the prompt."""
    return find_calls_after([user(said) for said in inputs], text, tools, complete=complete, new_id=new_id)


def find_calls_after(
    prompt: Sequence[Message],
    text: str,
    tools: Sequence[ToolSpec],
    *,
    complete: bool,
    new_id: Callable[[], str],
) -> Found:
    """Find every call of the answer to a prompt, in order. `complete` is False when the token limit ended the text.

    A call that occurs in what players and tools say in the prompt is never returned. A text of more than 256 KiB is not
    searched. What a model wrote after its own end mark is left out, and the text before the mark counts as complete.
    """
    if not may_hold_call(text):  # nor a thinking tag, which begins with one of the same characters
        return Found(text=text)
    thoughts, answer = split_thinking(text)
    plain = Found(reasoning=thoughts, text=answer)
    if not tools or len(answer) > MAX_CHARS or not may_hold_call(answer):
        return plain
    offer = Offer(tools)
    quotes = Quotes(prompt, offer, READERS)
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
    if not request.tools or response.finish_reason is FinishReason.PAUSED:
        return response
    text = response.content
    if not may_hold_call(text) or response.has_tool_calls:
        return response
    complete = response.finish_reason is not FinishReason.LENGTH
    found = find_calls_after(request.messages, text, request.tools, complete=complete, new_id=new_id)
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


def select_meant(text: str, candidates: Sequence[Candidate], end: int) -> list[Candidate]:
    """Return the candidates whose calls are meant, in order. `end` is where the answer ends.

    A call introduced or quoted as an example is not meant. The others are meant when nothing of substance follows the
    last of them, or when they are the only JSON and stand on lines of their own. A call of a tool that was not offered
    is meant only when the whole text is calls.
    """
    around = gaps(text, candidates, end)
    only_calls = all(found.drafts for found in candidates)
    whole = only_calls and not any(has_words(gap) for gap in around)
    meant = [
        known
        for lead, found in zip(around, candidates, strict=False)
        if (known := found if whole else _known_only(found)).drafts and not _is_example(lead, found, text)
    ]
    if not meant or not has_words(text[meant[-1].end : end]):
        return meant
    alone = len(meant) == len(candidates)
    return meant if alone and all(_ends_its_line(found, text) for found in meant) else []


def reasoning_round(text: str, candidates: Sequence[Candidate], end: int) -> str:
    """Return the prose around the accepted calls, and the reasoning the calls themselves give."""
    said = [prose(gap) for gap in gaps(text, candidates, end)]
    parts: list[str] = []
    for number, found in enumerate(candidates):
        parts += [said[number], *(draft.reasoning.strip() for draft in found.drafts)]
    return "\n".join(part for part in [*parts, said[-1]] if _WORD.search(part))


def gaps(text: str, candidates: Sequence[Candidate], end: int) -> list[str]:
    """Return the stretches before, between and after the candidates."""
    borders = [0, *(border for found in candidates for border in (found.start, found.end)), end]
    return [text[start:stop] for start, stop in zip(borders[::2], borders[1::2], strict=True)]


def prose(text: str) -> str:
    """Return the text without fences, tags and marks of tool-call formats."""
    return _DECORATION.sub("", text).strip()


def has_words(text: str) -> bool:
    """Tell whether a stretch of text contains words."""
    return _WORD.search(prose(text)) is not None


def _known_only(found: Candidate) -> Candidate:
    return Candidate(found.start, found.end, tuple(draft for draft in found.drafts if draft.known), found.repaired)


def _is_example(lead: str, found: Candidate, text: str) -> bool:
    """Tell whether the sentence before the call marks it as an example, or the call is quoted within its line."""
    lines = prose(lead[-_LEAD_CHARS:]).splitlines() or [""]
    sentence = _SENTENCE_END.split(lines[-1])[-1]
    if _EXAMPLE.search(sentence):
        return True
    quoted = found.start > 0 and text[found.start - 1] in _QUOTES and not text.startswith("```", found.start - 3)
    return quoted and (has_words(_line_before(found, text)) or not _ends_its_line(found, text))


def _line_before(found: Candidate, text: str) -> str:
    return text[text.rfind("\n", 0, found.start) + 1 : found.start]


def _ends_its_line(found: Candidate, text: str) -> bool:
    newline = text.find("\n", found.end)
    return not has_words(text[found.end : newline if newline >= 0 else len(text)])
