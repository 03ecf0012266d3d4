"""Reads the JSON of a request strictly: what two readers could take for two different things is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from mud_assistant.llm.dialects.failures import invalid

#: How deep objects and lists may stand in each other.
MAX_DEPTH = 64
#: A colon that is written as an escape, or looks like one.
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")


# Any: JSON of a client.
def strict_json(body: bytes) -> dict[str, Any]:
    """Return the object that a body holds. Raises RequestRefused.

    Refused are other values than objects, doubled keys, NaN and infinity, lone surrogates, bytes that are not UTF-8,
    and more than 64 levels.
    """
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid(f"the body is not JSON: {_where(error)}") from None
    if not isinstance(found, dict):
        raise invalid("the body must be a JSON object")
    _check_depth(found)
    _check_keys(body, found)
    return found


def _where(error: orjson.JSONDecodeError) -> str:
    """Return what is wrong and where. The words of the body are not repeated: they may hold a secret."""
    return f"{error.msg.partition(':')[0]} at line {error.lineno}, column {error.colno}"


def _check_depth(found: dict[str, Any]) -> None:
    level: list[Any] = [found]
    for _ in range(MAX_DEPTH):
        level = [
            value
            for outer in level
            for value in (outer.values() if type(outer) is dict else outer)
            if type(value) is dict or type(value) is list
        ]
        if not level:
            return
    raise invalid(f"the body has more than {MAX_DEPTH} levels")


def _check_keys(body: bytes, found: dict[str, Any]) -> None:
    """Refuse doubled keys, of which the parser has kept the last.

    The colons tell: each pair that was dropped has one, and writing the rest again adds none, unless a colon was
    written as an escape. Then the keys are read one by one.
    """
    if _ESCAPED_COLON.search(body) is None:
        if body.count(b":") != orjson.dumps(found).count(b":"):
            raise invalid("the body has a key twice in one object")
        return
    try:
        json.loads(body, object_pairs_hook=_check_pairs)
    except RecursionError:  # in what stood under a key that came again
        raise invalid(f"the body has more than {MAX_DEPTH} levels") from None


def _check_pairs(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise invalid("the body has a key twice in one object")
