"""Records that differ from an earlier one in one string, and those that only seem to."""

from __future__ import annotations

import json
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.wire.template import template_of


def read(record: Any) -> object:
    """The string of a record of these tests."""
    return record["said"]


def record(said: object, **more: object) -> bytes:
    """A record with this string in it."""
    return orjson.dumps({"id": "a", "said": said, "end": None, **more})


def test_another_string_in_the_same_place_is_read() -> None:
    template = template_of(record("one"), "one", read)
    assert template is not None
    assert not template.has_matched
    assert template.string(record('two\n"é\\')) == 'two\n"é\\'
    assert template.has_matched


def test_a_record_that_differs_in_anything_else_is_left() -> None:
    template = template_of(record("one"), "one", read)
    assert template is not None
    others = [
        record("two", error="it broke"),
        record("two").replace(b'"a"', b'"b"'),
        record("two").replace(b"null", b'"stop"'),
        b'{"id":"a","said":"two","error":"it broke","end":null}',
        b'{"id":"a","said":"two","said":"three","end":null}',
        record(2),
        record(None),
        record(["two"]),
        b'{"id":"a","said":"bad \xff","end":null}',
        b'{"id":"a","said":"bad \\ud800","end":null}',
        b'{"id":"a","said":,"end":null}',
        b'{"id":"a","said":"end":null}',
        b'{"id":"a","said":null}',
        b"[DONE]",
        b"",
    ]
    assert [template.string(other) for other in others] == [""] * len(others)
    assert not template.has_matched
    assert template.string(record("")) == "", "an empty string is not told from another record"


def test_an_event_is_read_as_its_record_is() -> None:
    record_template = template_of(record("one"), "one", read)
    assert record_template is not None
    template = record_template.in_event()
    event = b"data: %b\n\n"
    assert template.string(event % record('two\n"é\\')) == 'two\n"é\\'
    assert template.has_matched
    others = [
        record("two"),
        b"data: " + record("two"),
        b"data: " + record("two") + b"\n",
        b"data:" + record("two") + b"\n\n",
        b"data: " + record("two") + b"\r\n\r\n",
        event % record("two") + event % record("three"),
        b"event: x\n" + event % record("two"),
        event % record("two").replace(b"two", b"t\nwo"),
        event % record("two").replace(b"two", b'two"}\n\ndata: {"said":"x'),
        event % record("two", error="it broke"),
        event % record(2),
        b"",
    ]
    assert [template.string(other) for other in others] == [""] * len(others)


def test_there_is_no_template_where_the_place_is_not_sure() -> None:
    assert template_of(b'{"id":"\\u0041","said":"\\u0041"}', "A", read) is None, "in other bytes than ours"
    assert template_of(b'{"said":"x","id":"x"}', "x", read) is None, "the last of the two is another"
    assert template_of(b'{"x":"\\"said","said":"\\u0061b","y":"ab"}', "ab", read) is None
    assert template_of(b'{"said":"a \\"b"}', "b", read) is None
    assert template_of(b'"a"', "a", lambda value: value) is None, "nothing after it shows where it ends"


def test_the_probe_itself_may_be_the_string() -> None:
    template = template_of(record("?"), "?", read)
    assert template is not None
    assert template.string(record("!")) == "!"


@given(st.text(), st.text(), st.booleans())
def test_what_a_template_reads_is_what_the_record_says(first: str, second: str, ascii_only: bool) -> None:
    one, other = ({"said": said, "id": first} for said in (first, second))
    template = template_of(json.dumps(one, ensure_ascii=ascii_only).encode("utf-8", "replace"), first, read)
    written = json.dumps(other, ensure_ascii=ascii_only).encode("utf-8", "replace")
    if template is not None and (said := template.string(written)):
        assert orjson.loads(written) == {"said": said, "id": first}
