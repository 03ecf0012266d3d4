"""JSON that two readers could take for two things is refused, and nothing else."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.gateway.http.bodies import BodyReader
from mud_assistant.assistant.gateway.http.strict_json import strict_json
from mud_assistant.llm.dialects.failures import FailureKind, RequestRefused

WORDS = st.text(alphabet='a:"\\{}[],u003A', max_size=6) | st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(WORDS, inner), max_size=4).map(tuple),
    max_leaves=20,
)


def written(value: Any, *, escapes: bool) -> str:
    """Write a value as JSON; a tuple is an object whose keys may come twice."""
    if isinstance(value, tuple):
        pairs = (f"{text(key, escapes=escapes)} : {written(inner, escapes=escapes)}" for key, inner in value)
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(inner, escapes=escapes) for inner in value) + "]"
    return text(value, escapes=escapes) if isinstance(value, str) else json.dumps(value)


def text(value: str, *, escapes: bool) -> str:
    return json.dumps(value).replace(":", "\\u003a") if escapes else json.dumps(value, ensure_ascii=False)


def has_doubled(value: Any) -> bool:
    if isinstance(value, tuple):
        keys = [key for key, _ in value]
        return len(set(keys)) != len(keys) or any(has_doubled(inner) for _, inner in value)
    return isinstance(value, list) and any(has_doubled(inner) for inner in value)


@given(st.lists(st.tuples(WORDS, VALUES), max_size=5).map(tuple), st.booleans())
def test_doubled_keys_are_found_exactly(value: tuple[Any, ...], escapes: bool) -> None:
    body = written(value, escapes=escapes).encode()
    if has_doubled(value):
        with pytest.raises(RequestRefused, match="twice"):
            strict_json(body)
    else:
        assert strict_json(body) == json.loads(body)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(RequestRefused):
        assert isinstance(strict_json(body), dict)


def nested(levels: int) -> bytes:
    return b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"a"',
        b"null",
        b"{",
        b'{"a":1}x',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-1e999}',
        b'{"a":"\\ud800"}',
        b'{"\\udc00":1}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"a":1,"a":1}',
        b'{"a":":","a":1}',
        b'{"b":{"a":1,"\\u0061":2}}',
        b'{":":1,"\\u003a":2}',
        b'{"a":[[1]],"\\u003A":0,"a":' + b"[" * 900 + b"]" * 900 + b"}",
        nested(65),
        b'{"a":' + b"[" * 64 + b"]" * 64 + b"}",
        nested(100_000),
    ],
)
def test_bodies_that_are_refused(body: bytes) -> None:
    with pytest.raises(RequestRefused) as refused:
        strict_json(body)
    assert refused.value.failure.kind is FailureKind.INVALID


@pytest.mark.parametrize("body", [b" {} ", nested(64), b'{"a":"\\ud83d\\ude00"}', b'{"a":":","b":[{"a":1},{"a":1}]}'])
def test_bodies_that_are_read(body: bytes) -> None:
    assert strict_json(body) == json.loads(body)


def test_what_is_refused_is_not_repeated() -> None:
    with pytest.raises(RequestRefused) as refused:
        strict_json(b'{"key": sk-planted}')
    assert str(refused.value).startswith("the body is not JSON: ")
    assert str(refused.value).endswith(" at line 1, column 9")
    assert "planted" not in str(refused.value)


async def test_a_large_body_is_read_in_a_thread(reactor: Any) -> None:
    bodies = BodyReader(reactor)
    large = orjson.dumps({"a": ["b" * 100] * 10_000})
    assert await bodies.json(large) == orjson.loads(large)
    with pytest.raises(RequestRefused, match="twice"):
        await bodies.json(b'{"a":1,' + large[1:])
    assert await bodies.json(b'{"a":1}') == {"a": 1}
    bodies.close()
