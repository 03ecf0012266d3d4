"""Reads calls written as a marked name followed by its arguments: a JSON object, ReAct's input, or Gemma's notation.

The marks before a JSON object are `[TOOL_CALLS]`, `[ARGS]`, `tool_sep`, `<|tool_call_argument_begin|>`,
`functions.NAME:0`, `to=NAME`, `>>>NAME`, and a name at the start of a line. Servers strip the marks of formats they
know, so each format is also recognised by what they leave. ReAct writes `Action: NAME`, and on the next line
`Action Input:` with JSON or text. FunctionGemma and Gemma 4 write `call:NAME{key:VALUE}`, with texts between escape
marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from mud_assistant.llm.fallback.drafts import ABSENT, Absent, Candidate, Draft, Offer, Reading, merge_readings
from mud_assistant.llm.loose_json.repair import Value, is_cut, read_scan, value_at
from mud_assistant.llm.loose_json.rewrite import is_scalar
from mud_assistant.llm.loose_json.tokens import MAX_DEPTH, Ending, Scan, Token, WorkBudget
from mud_assistant.llm.messages import JSON

_NAME = r"(?P<name>[\w.\-]{1,128}+)"
_STARTS = r"(?<![\w.\-:])"
_SEP = r"<[\uff5c|]tool[▁_]sep[\uff5c|]>"
_SEP_CUES = ("tool▁sep", "tool_sep")
_FENCE = re.compile(r"\s*+(?:```[ \t]*+\w*+\s*+)?+")
_ENDS = re.compile(r"\s*+(?:\Z|[<\[])")
_ACTION = re.compile(
    r"^[ \t*]{0,4}Action[ \t]{0,4}:[ \t*]{0,4}[`\"']?(?P<name>[\w.\-]{1,128}+)[`\"']?(?:\(\))?[ \t*]{0,4}\r?\n"
    r"\s{0,8}\*{0,2}Action[ _]Input[ \t]{0,4}:[ \t*]{0,4}",
    re.IGNORECASE | re.MULTILINE,
)
_OPENED_FENCE = re.compile(r"\s*+(?:```[ \t]*+\w*+\s*+)?+(?=\{)")
_INPUT_END = re.compile(
    r"\n\s{0,8}\*{0,2}(?:Observation|Thought|Action|Final Answer)\b|\n[ \t]{0,8}\r?\n", re.IGNORECASE
)
#: What the model may invent after its call: the result, and what it would do next.
_OBSERVATION = re.compile(r"[\s`*]*+Observation\s{0,4}:", re.IGNORECASE)
_NOTHING = frozenset({"", "none", "n/a", "null", "()"})
_QUOTES = "\"'`"
_CALL = re.compile(r"(?<![\w.])call:\s{0,4}(?P<name>[\w.\-:]{1,128}+)\s{0,4}(?=\{)")
_MARKS = r"<escape>|<\|\"\|>"
_TOKEN = re.compile(
    rf"""
      (?P<blank>\s+)
    | (?P<marked>{_MARKS})
    | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<open>[{{\[])
    | (?P<close>[}}\]])
    | (?P<comma>,)
    | (?P<colon>:)
    | (?P<word>(?:[^\s"<{{}}\[\],:]|<(?!escape>|\|"\|>)|"|\s+(?![\s"<{{}}\[\],:]))+)
    """,
    re.VERBOSE | re.DOTALL,
)
#: The same, but only what shows where a value ends. There is no group inside the possessive one: CPython 3.11 then
#: fails with "The span of capturing group is wrong".
_MARK = re.compile(
    rf"""
    (?:[^"<{{}}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|<escape>.*?<escape>|<\|"\|>.*?<\|"\|>|<(?!escape>|\|"\|>)|")*+
    (?:(?P<open>[{{\[])|(?P<close>[}}\]])|(?P<cut>{_MARKS})|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {"{": "}", "[": "]"}


class Head(Struct, frozen=True):
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


def read_react(text: str, offer: Offer, complete: bool, budget: WorkBudget | None = None) -> Reading:
    """Read every action of the text. What follows an observation that the model invented is left out as well."""
    budget = budget or WorkBudget(len(text))
    candidates: list[Candidate] = []
    behind = 0
    for match in _ACTION.finditer(text):
        if match.start() < behind or not budget.attempt():
            continue
        value = _input(text, match.end(), budget, complete)
        if value is None:
            continue
        if value.cut:
            return Reading(tuple(candidates), cut=match.start())
        given: JSON | Absent = ABSENT if value.value is None else value.value
        draft = offer.draft(match["name"], given)
        if draft is None:
            continue
        behind = len(text) if _OBSERVATION.match(text, value.end) else value.end
        candidates.append(Candidate(match.start(), behind, (draft,), value.repaired))
    return Reading(tuple(candidates))


def _input(text: str, at: int, budget: WorkBudget, complete: bool) -> Value | None:
    """Return the object after `Action Input:`, else the text up to the next part. Its value is None when empty."""
    if fence := _OPENED_FENCE.match(text, at):
        return value_at(text, fence.end(), budget, complete=complete)
    stop = _INPUT_END.search(text, at)
    end = stop.start() if stop else len(text)
    return Value(_plain(text[at:end]), end, cut=stop is None and not complete)


def _plain(text: str) -> str | None:
    plain = text.strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in _QUOTES:
        plain = plain[1:-1]
    return None if plain.lower() in _NOTHING else plain


def read_gemma(text: str, offer: Offer, complete: bool, budget: WorkBudget | None = None) -> Reading:
    """Read every `call:NAME{…}` of the text."""
    if "call:" not in text:
        return Reading()
    budget = budget or WorkBudget(len(text))
    candidates: list[Candidate] = []
    behind = 0
    for match in _CALL.finditer(text):
        if match.start() < max(behind, budget.deep_until) or not budget.attempt():
            continue
        scan = _scan(text, match.end(), budget)
        parsed = read_scan(scan, budget)
        if parsed is None:
            continue
        if is_cut(scan, complete=complete):
            return Reading(tuple(candidates), cut=match.start())
        if draft := offer.draft(match["name"], parsed.value):
            behind = scan.end
            candidates.append(Candidate(match.start(), behind, (draft,)))
    return Reading(tuple(candidates))


def _scan(text: str, start: int, budget: WorkBudget) -> Scan:
    """Scan the value whose brace is at `start` into JSON tokens. Texts and bare words are quoted."""
    wanted: list[str] = []
    scan = Scan(text, start, len(text), Ending.UNCLOSED, wanted)
    for match in _MARK.finditer(text, start):
        piece = match["open"] or match["close"]
        if match["open"]:
            wanted.append(_PAIRS[piece])
        elif match["close"] and wanted.pop() != piece:
            scan.ending = Ending.MISMATCHED
        elif match["cut"]:
            scan.open_text = text[match.end() :]
            break
        if len(wanted) > MAX_DEPTH:
            scan.ending, budget.deep_until = Ending.TOO_DEEP, match.end()
        elif not wanted and scan.ending is Ending.UNCLOSED:
            scan.ending = Ending.CLOSED
        if scan.ending is not Ending.UNCLOSED:
            scan.end = match.end()
            break
    budget.spend(scan.end - start)
    if scan.ending in {Ending.CLOSED, Ending.UNCLOSED}:
        scan.tokens = list(_tokens(text, start, scan.end))
    return scan


def _tokens(text: str, position: int, end: int) -> Iterator[Token]:
    while match := _TOKEN.match(text, position, end):
        kind, piece = match.lastgroup or "", match.group()
        position = match.end()
        if kind == "marked":
            token, position = _read_between(text, position, piece)
            yield token
        elif kind != "blank":
            yield _token(kind, piece)


def _read_between(text: str, start: int, mark: str) -> tuple[Token, int]:
    """Return the text between two marks and where it ends. The token is cut when the second mark is missing."""
    end = text.find(mark, start)
    if end < 0:
        return Token("cut_string", json.dumps(text[start:])[:-1]), len(text)
    return Token("string", json.dumps(text[start:end])), end + len(mark)


def _token(kind: str, piece: str) -> Token:
    """Return a token as JSON spells it. Keys are quoted later, whatever they are."""
    if kind == "word" and not is_scalar(piece.strip()):
        return Token("string", json.dumps(piece.strip()))
    return Token(kind, piece.strip())
