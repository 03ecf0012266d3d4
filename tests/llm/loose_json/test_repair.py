from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.llm.loose_json.repair import (
    MAX_CHARS,
    UnreadableJSON,
    clean_json,
    parse_arguments,
    parse_value,
    read_arguments,
)
from mud_assistant.llm.loose_json.tokens import MAX_DEPTH, WorkBudget, scan_value
from mud_assistant.llm.messages import JSON

scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, max_size=4)
near_json = st.text(st.sampled_from("{}[]()\"'\\,: \n/*-1e.tTnNau0d\u201c\u201d\u2018\u2019\0\ud800"), max_size=60)


def value_of(text: str, *, complete: bool = True) -> JSON:
    return parse_value(text, complete=complete).value


@settings(deadline=None)
@given(values)
def test_strict_json_comes_back_as_it_is(value: JSON) -> None:
    parsed = parse_value(json.dumps(value) + " and more", complete=False)
    assert parsed.value == value
    assert not parsed.repaired
    assert parsed.end == len(json.dumps(value))


def test_blanks_before_the_value_are_skipped_and_the_end_is_behind_it() -> None:
    assert parse_value('x \n {"a": 1} rest', 1, complete=True).end == 12


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}, id="literal newline and tab"),
        pytest.param('{"a": [1, 2,], "b": {"c": 1,},}', {"a": [1, 2], "b": {"c": 1}}, id="trailing commas"),
        pytest.param('{"a": 1, // don\'t\n "b": /* {"x": */ 2}', {"a": 1, "b": 2}, id="comments"),
        pytest.param('{"a": "http://x/*y*/",}', {"a": "http://x/*y*/"}, id="no comment inside a string"),
        pytest.param("{'a': 'it\\'s \"x\"', 'b': True}", {"a": 'it\'s "x"', "b": True}, id="single quotes"),
        pytest.param("{'a': None, 'b': False, 'c': (1, 2)}", {"a": None, "b": False, "c": [1, 2]}, id="Python"),
        pytest.param("{'a': '\\x41\\n\\d'}", {"a": "A\n\\d"}, id="Python escapes"),
        pytest.param('{\u201ca\u201d: \u201cit\u2019s "b"\u201d}', {"a": 'it\u2019s "b"'}, id="typographic quotes"),
        pytest.param("{\u2018a\u2019: \u2018b\u2019}", {"a": "b"}, id="single typographic quotes"),
        pytest.param('{a: 1, b_c: "x", 3: true}', {"a": 1, "b_c": "x", "3": True}, id="bare keys"),
        pytest.param('{{"a": {"b": 1}}}', {"a": {"b": 1}}, id="doubled outer braces"),
        pytest.param("{'a': 1, // why\n b: [True,],}", {"a": 1, "b": [True]}, id="several at once"),
        pytest.param('{"a": "\\d+ \\u12"}', {"a": "\\d+ \\u12"}, id="escapes that JSON does not have"),
    ],
)
def test_97_common_mistakes_are_repaired(text: str, value: JSON) -> None:
    parsed = parse_value(text + " }'\"", complete=False)
    assert parsed.value == value
    assert parsed.repaired
    assert parsed.end == len(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "b', {"a": "b"}),
        ('{"a": {"b": [1, 2', {"a": {"b": [1, 2]}}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b": ', {"a": 1}),
        ('{"a": 1, "b": tru', {"a": 1}),
        ('{"a": "b\\', {"a": "b"}),
        ('{"a": "b\\u00', {"a": "b"}),
        ('{"a": "b\\\\', {"a": "b\\"}),
        ('{"a": "b\\\\u00', {"a": "b\\u00"}),
        ("[1, [2, ", [1, [2]]),
        ("[1, fal", [1]),
        ("{", {}),
    ],
)
def test_98_what_is_open_is_closed_only_when_the_text_is_complete(text: str, value: JSON) -> None:
    assert value_of(text) == value
    with pytest.raises(UnreadableJSON):
        value_of(text, complete=False)


@settings(deadline=None)
@given(objects, st.data())
def test_98_every_beginning_of_an_object_can_be_closed(value: dict[str, JSON], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(1, len(text)))
    assert isinstance(value_of(text[:cut]), dict)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "hello",
        "{:",
        "{: x",
        "[}",
        "{]",
        "{a b}",
        "{'a', 'b'}",
        '{"a": look}',
        '{"a": 1 2}',
        "NaN",
        '{"a": Infinity}',
        "{{{1}}}",
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(UnreadableJSON):
        value_of(text, complete=True)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[])) | near_json, st.booleans())
def test_no_text_raises_anything_else(text: str, complete: bool) -> None:
    try:
        value = value_of(text, complete=complete)
    except UnreadableJSON:
        return
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 1000 + "]" * 1000, id="nesting"),
        pytest.param('{"a":' * 1000 + "1" + "}" * 1000, id="nested objects"),
        pytest.param('{"a": ' + "9" * 10_000 + "}", id="integer"),
        pytest.param('{"a": 1e999}', id="real"),
        pytest.param('{"a": 18446744073709551616}', id="more than 64 bits"),
        pytest.param('{"a": NaN}', id="NaN"),
        pytest.param('{"a": "' + "x" * 5_000_000 + '"}', id="5 MB"),
    ],
)
def test_88_what_is_too_much_is_refused(text: str) -> None:
    with pytest.raises(UnreadableJSON):
        value_of(text)
    assert parse_arguments(text, complete=True)[1]


def test_88_the_bounds_themselves_are_allowed() -> None:
    nested = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert json.dumps(value_of(nested)) == nested
    assert value_of("[18446744073709551615, -9223372036854775808]") == [2**64 - 1, -(2**63)]
    assert value_of('"' + "x" * (MAX_CHARS - 2) + '"') == "x" * (MAX_CHARS - 2)


def test_88_of_equal_keys_the_last_wins() -> None:
    assert value_of('{"a": 1, "a": 2}') == {"a": 2}


def test_89_nul_and_lone_surrogates_are_replaced() -> None:
    assert value_of('{"a\\u0000": "x\\ud800y\\udc00"}') == {"a\ufffd": "x\ufffdy\ufffd"}
    assert value_of('"\ud83d"') == "\ufffd"
    assert value_of('"\\ud83d\\ude00"') == "\U0001f600"


def test_clean_json_refuses_what_json_does_not_have() -> None:
    for value in (b"x", {1, 2}, float("nan"), 2**64):
        with pytest.raises(UnreadableJSON):
            clean_json(value)


@pytest.mark.parametrize("unit", ["{", "[", '{"', "{'", '{"a":', "/*", "{/*", "//\n", '{"a":"}', "\\", "{{"])
def test_a_scan_costs_no_more_than_its_text(unit: str) -> None:
    text = "{" + unit * 20_000
    budget = WorkBudget(len(text))
    scan = scan_value(text, 0, budget)
    assert budget.spent <= len(text)
    assert len(scan.tokens) <= len(text)


def test_14_an_object_is_taken_as_it_is() -> None:
    assert parse_arguments({"a": {"b": [1]}}, complete=False) == ({"a": {"b": [1]}}, "")


@pytest.mark.parametrize("raw", ["", "  \n", None, "null", " null "])
def test_15_16_nothing_and_null_are_no_arguments(raw: str | None) -> None:
    assert parse_arguments(raw, complete=True) == ({}, "")


@pytest.mark.parametrize("raw", ["[]", "[1]", "5", "true", '"hello"', '"[]"', "hello", '{"a": look}'])
def test_16_what_is_no_object_is_a_problem(raw: str) -> None:
    arguments, problem = parse_arguments(raw, complete=True)
    assert arguments == {}
    assert problem.startswith("arguments ")


def test_16_a_string_that_holds_an_object_is_decoded_one_more_level() -> None:
    assert parse_arguments(json.dumps(json.dumps({"a": 1})), complete=True) == ({"a": 1}, "")
    assert parse_arguments('"null"', complete=True) == ({}, "")


def test_17_arguments_delivered_twice_count_once() -> None:
    assert parse_arguments('{"a":1}{"a":1}', complete=True) == ({"a": 1}, "")


def test_18_of_two_objects_the_first_is_kept_and_the_rest_is_told() -> None:
    arguments = read_arguments('{"a":1}{"b":2}', complete=True)
    assert (arguments.value, arguments.problem, arguments.rest) == ({"a": 1}, "", '{"b":2}')


def test_19_line_breaks_and_tabs_inside_a_string_are_read() -> None:
    assert parse_arguments('{"text": "one\ntwo\t"}', complete=True) == ({"text": "one\ntwo\t"}, "")


@settings(deadline=None)
@given(objects.filter(bool), st.data())
def test_20_61_arguments_cut_anywhere_by_the_token_limit_are_never_used(
    value: dict[str, JSON], data: st.DataObject
) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text) - 1))
    assert parse_arguments(text[:cut], complete=False) == ({}, "arguments truncated")
    assert parse_arguments(text, complete=False) == (value, "")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[])) | near_json, st.booleans())
def test_no_argument_text_raises(raw: str, complete: bool) -> None:
    arguments, problem = parse_arguments(raw, complete=complete)
    assert not (arguments and problem)


def test_88_an_object_that_is_too_deep_is_a_problem() -> None:
    value: JSON = {}
    for _ in range(MAX_DEPTH + 2):
        value = {"a": value}
    assert isinstance(value, dict)
    assert parse_arguments(value, complete=True)[1]
