"""Finds where a model ended its answer with its trained end mark, when the server let it write on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llm.fallback.drafts import Candidate

_STOP = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end_of_text|END_OF_TURN_TOKEN|return)\|>|<end_of_turn>|<turn\|>"
    r"|<\uff5cend▁of▁sentence\uff5c>|</s>"
)


def stop_at(text: str, candidates: Sequence[Candidate]) -> int | None:
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
