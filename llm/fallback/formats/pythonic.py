"""Reads tool calls written as Python, `[f(a='x', n=3), g()]`. They are parsed with ast and never run."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterator

from mud_assistant.llm.fallback.drafts import Candidate, Draft, Offer, Reading
from mud_assistant.llm.loose_json.repair import MAX_CHARS, clean_json
from mud_assistant.llm.loose_json.tokens import Ending, UnreadableJSON, WorkBudget, scan_value
from mud_assistant.llm.messages import JSON

#: A list of calls, or Llama's `tool.call(`.
_BARE = re.compile(
    r"(?P<list>\[)\s*+[A-Za-z_][\w.]*+\s*+\(|(?<![\w.])[A-Za-z_]\w{0,128}+(?:\.\w{1,128}+)*?\.call(?=\()"
)
_FIRST_CALL = re.compile(r"\s*+\[?\s*+([A-Za-z_][\w.]*+)\s*+\(\s*+(?:\w+\s*+=|[\"'])")
_WRAPPERS = (
    (re.compile(r"<\|tool_call_start\|>"), re.compile(r"<\|tool_call_end\|>")),
    (re.compile(r"<\|python_tag\|>"), re.compile(r"<\|e(?:om|ot)_id\|>")),
    (re.compile(r"<function_calls>"), re.compile(r"</function_calls>")),
    (re.compile(r"```[ \t]*tool_code[ \t]*\n"), re.compile(r"```")),
)
_JSON_WORDS: dict[str, JSON] = {"true": True, "false": False, "null": None}


#: The cost of one call of the Python parser, in plain attempts.
_PARSE_COST = 4


class UnreadableCalls(ValueError):
    """The text is not a list of calls with literal arguments."""


def read_pythonic(
    text: str,
    offer: Offer,
    complete: bool,  # noqa: ARG001  a cut list is never a call
    budget: WorkBudget | None = None,
) -> Reading:
    """Read every list of calls: bare in brackets, or in a wrapper, where it needs no brackets."""
    candidates: list[Candidate] = []
    cut = None
    budget = budget or WorkBudget(len(text))
    for start, end, source in _spans(text, offer, budget):
        if not budget.attempt(_PARSE_COST):
            break
        try:
            drafts = tuple(parse_calls(source, offer))
        except UnreadableCalls:
            if end == len(text) and _begins_call(source, offer):
                cut = start
            continue
        candidates.append(Candidate(start, end, drafts))
    return Reading(tuple(candidates), cut)


def parse_calls(source: str, offer: Offer) -> list[Draft]:
    """Return the calls of a Python text that holds nothing else. Raises UnreadableCalls.

    A positional argument is taken only for the sole required parameter of an offered tool.
    """
    drafts = []
    for call in _call_nodes(_tree(source)):
        name = _dotted_name(call.func).removesuffix(".call")
        draft = offer.draft(name, _arguments(call, name, offer))
        if draft is not None:
            drafts.append(draft)
    if not drafts:
        raise UnreadableCalls("there is no call")
    return drafts


def _spans(text: str, offer: Offer, budget: WorkBudget) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and source of everything that may be a list of calls, in order, none inside another."""
    found = sorted([*_find_wrapped(text), *_bare(text, offer, budget)])
    behind = 0
    for start, end, source in found:
        if start >= behind:
            behind = end
            yield start, end, source


def _find_wrapped(text: str) -> Iterator[tuple[int, int, str]]:
    for opening, closing in _WRAPPERS:
        position = 0
        while start := opening.search(text, position):
            end = closing.search(text, start.end())
            position = end.end() if end else len(text)
            yield start.start(), position, text[start.end() : end.start() if end else len(text)]


def _bare(text: str, offer: Offer, budget: WorkBudget) -> Iterator[tuple[int, int, str]]:
    position = 0
    while (match := _BARE.search(text, position)) and budget.attempt():
        start = match.start()
        scan = scan_value(text, start if match["list"] else match.end(), budget)
        position = match.end() if scan.ending in {Ending.UNCLOSED, Ending.MISMATCHED} else scan.end
        source = text[start : scan.end]
        if scan.ending is Ending.CLOSED:
            yield start, scan.end, source
        elif scan.ending is Ending.UNCLOSED and _begins_call(source, offer):
            yield start, scan.end, source
            return


def _begins_call(source: str, offer: Offer) -> bool:
    """Tell whether a text that is not a list of calls begins like a call of an offered tool."""
    first = _FIRST_CALL.match(source)
    return first is not None and offer.match(first.group(1).removesuffix(".call")) is not None


def _tree(source: str) -> ast.Module:
    if len(source) > MAX_CHARS:
        raise UnreadableCalls("too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableCalls("not Python") from error


def _call_nodes(tree: ast.Module) -> Iterator[ast.Call]:
    for statement in tree.body:
        if not isinstance(statement, ast.Expr):
            raise UnreadableCalls("more than calls")
        value = statement.value
        for item in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            yield _unwrap_print(item)


def _unwrap_print(node: ast.expr) -> ast.Call:
    """Return the call without the `print(...)` that Gemma puts around it."""
    if not isinstance(node, ast.Call):
        raise UnreadableCalls("more than calls")
    if isinstance(node.func, ast.Name) and node.func.id == "print" and len(node.args) == 1 and not node.keywords:
        inner = node.args[0]
        return inner if isinstance(inner, ast.Call) else node
    return node


def _dotted_name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise UnreadableCalls("a call of no name")
    return ".".join([node.id, *reversed(parts)])


def _arguments(call: ast.Call, name: str, offer: Offer) -> dict[str, JSON]:
    values: dict[str, JSON] = {}
    if call.args:
        known = offer.match(name)
        sole = offer.sole_required(known) if known else None
        if sole is None or len(call.args) > 1 or call.keywords:
            raise UnreadableCalls("arguments without a name")
        values[sole] = _literal(call.args[0])
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in values:
            raise UnreadableCalls("arguments without a name of their own")
        values[keyword.arg] = _literal(keyword.value)
    return values


def _literal(node: ast.expr) -> JSON:
    """Return the value of a literal, bounded as JSON is."""
    try:
        return clean_json(_python(node))
    except UnreadableJSON as error:
        raise UnreadableCalls(str(error)) from error


def _python(node: ast.expr) -> JSON:
    match node:
        case ast.Constant(value=str() | bool() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if math.isfinite(value):
            return -value
        case ast.Name(id=word) if word in _JSON_WORDS:
            return _JSON_WORDS[word]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_python(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _python(value) for key, value in zip(keys, values, strict=True)}
        case _:
            raise UnreadableCalls("an argument that is no literal")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise UnreadableCalls("a key that is no text")
