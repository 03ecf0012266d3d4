"""Tool calls out of a model's plain text, for models and servers without native ones.

Never guesses: a call's name is written in the text and is that of an offered tool. Rules and formats are those of
reference/llm-wire.md section 5.1. Linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llm.fallback_formats import Candidate, Offer, Reader, merged
from llm.fallback_json import read_json
from llm.fallback_judge import accepted, reasoning_round
from llm.fallback_quotes import Quotes
from llm.json_repair import MAX_CHARS
from llm.messages import ToolCall, ToolSpec
from llm.pythonic import read_pythonic
from llm.thinking import split_thinking

#: Each reads the whole text; where two see a call in one place, the one that begins first is right. A new format is
#: one more reader.
READERS: tuple[Reader, ...] = (read_pythonic, read_json)


@dataclass(frozen=True, slots=True)
class Found:
    """The calls of a text. Without any, `text` is the answer in plain text; with some it is empty.

    `reasoning` is what stood in think tags and round the calls. `repaired`: a call was JSON only after a repair.
    `quoted` counts the calls left out because an input holds them.
    """

    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    text: str = ""
    repaired: bool = False
    quoted: int = 0


def find_calls(
    text: str,
    tools: Sequence[ToolSpec],
    *,
    complete: bool,
    inputs: Sequence[str] = (),
    new_id: Callable[[], str],
) -> Found:
    """Every call of the text, in order. `complete` is False when the token limit ended it (edge case 98).

    `inputs` are what strangers wrote into the prompt; a call that occurs there is never returned. A text of more than
    256 KiB is not searched.
    """
    thoughts, answer = split_thinking(text)
    plain = Found(reasoning=thoughts, text=answer)
    if not tools or len(answer) > MAX_CHARS:
        return plain
    offer = Offer(tools)
    quotes = Quotes(inputs, offer, READERS)
    reading = merged((reader(answer, offer, complete) for reader in READERS), len(answer))
    own = [quotes.without(found, answer) for found in reading.candidates]
    quoted = _count(reading.candidates) - _count(own)
    end = len(answer) if reading.cut is None else reading.cut
    meant = accepted(answer, own, end)
    if not meant:
        return Found(reasoning=thoughts, text=answer, quoted=quoted)
    around = reasoning_round(answer, meant, end)
    reasoning = "\n".join(part for part in (thoughts.strip(), around) if part)
    return Found(_calls(meant, new_id), reasoning, "", any(found.repaired for found in meant), quoted)


def _count(candidates: Sequence[Candidate]) -> int:
    return sum(len(found.drafts) for found in candidates)


def _calls(candidates: Sequence[Candidate], new_id: Callable[[], str]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(new_id(), draft.name, draft.arguments, draft.problem) for found in candidates for draft in found.drafts
    )
