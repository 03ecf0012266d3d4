"""Reads calls written as a marked name followed by a JSON object.

The marks are `[TOOL_CALLS]`, `[ARGS]`, `tool_sep`, `<|tool_call_argument_begin|>`, `functions.NAME:0`, `to=NAME`,
`>>>NAME`, and a name at the start of a line. Servers strip the marks of formats they know, so each format is also
recognised by what they leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from llm.fallback.drafts import ABSENT, Candidate, Draft, Offer, Reading, merge_readings
from llm.loose_json.repair import value_at
from llm.loose_json.tokens import WorkBudget

_NAME = r"(?P<name>[\w.\-]{1,128}+)"
_STARTS = r"(?<![\w.\-:])"
_SEP = r"<[\uff5c|]tool[▁_]sep[\uff5c|]>"
_SEP_CUES = ("tool▁sep", "tool_sep")
_FENCE = re.compile(r"\s*+(?:```[ \t]*+\w*+\s*+)?+")
_ENDS = re.compile(r"\s*+(?:\Z|[<\[])")


@dataclass(frozen=True, slots=True)
class Head:
    """What precedes the arguments. The pattern is tried only in a text that holds one of the cues.

    `bare`: a call may have no arguments at all. `doubtful`: the mark proves little, so only a known tool with
    parameters of its own counts.
    """

    cues: tuple[str, ...]
    pattern: re.Pattern[str]
    bare: bool = False
    doubtful: bool = False


HEADS = (
    Head(("[ARGS]",), re.compile(rf"{_STARTS}{_NAME}\s*+(?:\[CALL_ID\][\w\-]{{0,64}}+\s*+)?+\[ARGS\]"), bare=True),
    Head(("[TOOL_CALLS]",), re.compile(rf"\[TOOL_CALLS\]\s*+{_NAME}(?:\[CALL_ID\][\w\-]{{0,64}}+)?+(?=\s*+\{{)")),
    Head(_SEP_CUES, re.compile(rf"(?:function)?{_SEP}\s{{0,4}}{_NAME}"), bare=True),
    Head(_SEP_CUES, re.compile(rf"{_STARTS}{_NAME}\s{{0,4}}{_SEP}"), bare=True),
    Head(
        ("<|tool_call_argument_begin|>",),
        re.compile(rf"{_STARTS}(?P<name>[\w.\-:]{{1,140}}+)\s*+<\|tool_call_argument_begin\|>"),
        bare=True,
    ),
    Head(("functions.",), re.compile(rf"{_STARTS}(?P<name>functions\.[\w.\-]{{1,128}}+:\d{{1,6}}+)(?=\s*+\{{)")),
    Head(
        ("to=",),
        re.compile(
            r"(?:<\|start\|>assistant\s{0,2})?(?:<\|channel\|>)?(?:assistant)?(?:commentary|analysis)?\s{0,2}"
            rf"to={_NAME}(?:\s*+(?:<\|[^|<>\s]{{1,40}}+\|>|(?:json|code|commentary|analysis)\b))*+"
        ),
    ),
    Head((">>>",), re.compile(rf">>>[ \t]{{0,2}}{_NAME}[ \t]{{0,4}}(?=\s*+\{{)")),
    Head(("{",), re.compile(rf"^[ \t]{{0,8}}{_NAME}(?=\s*+\{{)", re.MULTILINE), doubtful=True),
)


def read_headed(text: str, offer: Offer, complete: bool, budget: WorkBudget | None = None) -> Reading:
    """Read every call whose arguments are a JSON object after a marked name."""
    budget = budget or WorkBudget(len(text))
    heads = [head for head in HEADS if any(cue in text for cue in head.cues)]
    return merge_readings((_read(head, text, offer, complete, budget) for head in heads), len(text))


def _read(head: Head, text: str, offer: Offer, complete: bool, budget: WorkBudget) -> Reading:
    candidates: list[Candidate] = []
    for match in _heads(head, text, candidates):
        if not budget.attempt():
            break
        at = _after_fence(text, match.end())
        if not text.startswith("{", at):
            if at == len(text) and not complete:
                return Reading(tuple(candidates), cut=match.start())
            if head.bare and _ENDS.match(text, at) and (draft := offer.draft(match["name"], ABSENT)):
                candidates.append(Candidate(match.start(), match.end(), (draft,)))
            continue
        if head.doubtful and offer.match(match["name"]) is None:
            continue
        value = value_at(text, at, budget, complete=complete)
        if value is None:
            continue
        if value.cut:
            return Reading(tuple(candidates), cut=match.start())
        draft = offer.draft(match["name"], value.value)
        if draft and not (head.doubtful and _is_strange(draft, offer)):
            candidates.append(Candidate(match.start(), value.end, (draft,), value.repaired))
    return Reading(tuple(candidates))


def _heads(head: Head, text: str, candidates: list[Candidate]) -> Iterator[re.Match[str]]:
    """Yield the heads that are not inside a call found earlier."""
    for match in head.pattern.finditer(text):
        if not candidates or match.start() >= candidates[-1].end:
            yield match


def _after_fence(text: str, at: int) -> int:
    fence = _FENCE.match(text, at)
    return fence.end() if fence else at


def _is_strange(draft: Draft, offer: Offer) -> bool:
    return not draft.arguments.keys() <= offer.properties(draft.name).keys()
