"""Reads the calls of FunctionGemma and Gemma 4: `call:NAME{key:VALUE}`, with texts between escape marks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from llm.fallback.drafts import Candidate, Offer, Reading
from llm.loose_json.repair import is_cut, read_scan
from llm.loose_json.rewrite import is_scalar
from llm.loose_json.tokens import MAX_DEPTH, Ending, Scan, Token, WorkBudget

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
