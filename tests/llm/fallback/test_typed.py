from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.fallback.drafts import convert_text
from mud_assistant.llm.messages import JSON


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", {"type": "string"}, "5"),
        ("\nfive\n", {"type": "string"}, "five"),
        ("\n\n  five  \n\n", {"type": "string"}, "\n  five  \n"),
        ("\r\nfive\r\n", {"type": "string"}, "five"),
        ("\n5\n", {"type": "integer"}, 5),
        ("5.0", {"type": "integer"}, 5),
        ("-5", {"type": "integer"}, -5),
        ("five", {"type": "integer"}, "five"),
        ("5", {"type": "number"}, 5),
        ("5.5", {"type": "number"}, 5.5),
        ("1e3", {"type": "number"}, 1000.0),
        ("NaN", {"type": "number"}, "NaN"),
        ("True", {"type": "boolean"}, True),
        ("false", {"type": "boolean"}, False),
        ("yes", {"type": "boolean"}, "yes"),
        ('["a", "b"]', {"type": "array"}, ["a", "b"]),
        ("['a', 'b']", {"type": "array"}, ["a", "b"]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ('{"a": 1}', {"type": "array"}, '{"a": 1}'),
        ('["a"] and more', {"type": "array"}, '["a"] and more'),
        ("None", {"type": ["integer", "null"]}, None),
        ("null", {"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        ("7", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 7),
        ("null", {"type": "string"}, "null"),
        ("5", {}, "5"),
        ("5", None, "5"),
        ("5", {"$ref": "#/somewhere"}, "5"),
    ],
)
def test_a_text_becomes_what_the_schema_says(text: str, schema: JSON, value: JSON) -> None:
    result = convert_text(text, schema)
    assert result == value
    assert type(result) is type(value)


kinds = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", "other"])


@given(st.text(), st.lists(kinds))
def test_no_text_raises(text: str, types: list[str]) -> None:
    convert_text(text, {"type": [*types]})
