"""Decides which of the calls found in a text are meant: not an example, not an aside in an explanation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llm.fallback.drafts import Candidate

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


def prose(text: str) -> str:
    """Return the text without fences, tags and marks of tool-call formats."""
    return _DECORATION.sub("", text).strip()


def has_words(text: str) -> bool:
    """Tell whether a stretch of text contains words."""
    return _WORD.search(prose(text)) is not None


def gaps(text: str, candidates: Sequence[Candidate], end: int) -> list[str]:
    """Return the stretches before, between and after the candidates."""
    borders = [0, *(border for found in candidates for border in (found.start, found.end)), end]
    return [text[start:stop] for start, stop in zip(borders[::2], borders[1::2], strict=True)]


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
