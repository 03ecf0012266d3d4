"""The first sentence of growing words, and words out of growing JSON."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mud_assistant.assistant.loop.speech.sentence import MAX_CHARS, GrowingArgument, first_sentence

JSONS = (
    '{"text": "The well lies north, dear Ann. Go there."}',
    '{"text":"a\\nb \\"c\\" \\\\ \\/ \\t\\u00e9\\ud83d\\ude00!"}',
    ' \n{ "text" :\t"\\u4f60\\u597d\u3002x" }',
)


def fed(*pieces: str) -> GrowingArgument:
    argument = GrowingArgument("text")
    for piece in pieces:
        argument.feed(piece)
    return argument


@pytest.mark.parametrize("whole", JSONS)
def test_it_reads_the_same_however_the_json_is_cut(whole: str) -> None:
    value = json.loads(whole)["text"]
    for one in range(len(whole) + 1):
        for other in range(one, len(whole) + 1):
            argument = fed(whole[:one], whole[one:other], whole[other:])
            assert (argument.text, argument.closed, argument.failed) == (value, True, False)


@pytest.mark.parametrize("whole", JSONS)
def test_what_is_known_at_any_moment_is_the_beginning_of_the_value(whole: str) -> None:
    value = json.loads(whole)["text"]
    argument = GrowingArgument("text")
    for character in whole:
        argument.feed(character)
        assert value.startswith(argument.text)


@given(st.text(max_size=MAX_CHARS), st.booleans(), st.integers(1, 7))
def test_any_string_is_read_as_json_reads_it(value: str, plain: bool, size: int) -> None:
    whole = json.dumps({"text": value}, ensure_ascii=plain)
    argument = fed(*(whole[at : at + size] for at in range(0, len(whole), size)))
    assert (argument.text, argument.closed, argument.failed) == (value, True, False)


@given(st.lists(st.text(alphabet='{}":\\ utex0dD8c\n', max_size=6), max_size=12))
def test_whatever_comes_the_text_is_what_json_would_make_of_it(pieces: list[str]) -> None:
    argument = fed(*pieces)
    if argument.closed:
        whole = "".join(pieces)
        assert json.JSONDecoder().raw_decode(whole[whole.index(":") + 1 :].lstrip())[0] == argument.text


@pytest.mark.parametrize(
    "wrong",
    [
        '["text"',
        '{"words": "x"',
        '{"text": 5',
        '{"te xt": "x',
        '{"text": "a\nb',
        '{"text": "\\x',
        '{"text": "\\u12g',
        '{"text": "\\ud83d x',
        '{"text": "\\ud83d\\n',
        '{"text": "\\ud83d\\ud83d',
        '{"text": "\\ude00',
        "{'text': 'x",
        '{"text": {"text": "x',
    ],
)
def test_what_is_not_the_argument_is_given_up(wrong: str) -> None:
    assert fed(wrong).failed
    assert fed(*wrong).failed


def test_a_flood_is_not_read() -> None:
    argument = fed('{"text": "', "x" * 10_000_000)
    assert len(argument.text) < 10 * MAX_CHARS
    assert argument.failed
    assert fed(" " * 10_000_000).failed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("The well lies north of here. It is", "The well lies north of here."),
        ("The well lies north of here. ", "The well lies north of here."),
        ("Have you looked into the well? Do", "Have you looked into the well?"),
        ("It was a long time ago\u2026 The king", "It was a long time ago\u2026"),
        ("Hm. Ah! The well lies north. Go", "Hm. Ah! The well lies north."),
        ('He told me "Never go there!" And I', 'He told me "Never go there!"'),
        ("I saw old Mr. Miller at the mill. He", "I saw old Mr. Miller at the mill."),
        ("It is said... but who knows it? I", "It is said... but who knows it?"),
        (
            "\u90a3\u53e3\u4e95\u5728\u78e8\u574a\u7684\u5317\u8fb9\uff0c\u8d70\u8fc7\u90a3\u68f5\u8001\u6a61\u6811\u5c31\u5230\u4e86\u3002\u5c0f\u5fc3",
            "\u90a3\u53e3\u4e95\u5728\u78e8\u574a\u7684\u5317\u8fb9\uff0c\u8d70\u8fc7\u90a3\u68f5\u8001\u6a61\u6811\u5c31\u5230\u4e86\u3002",
        ),
        ("The well lies north of here.", ""),
        ("The well lies north of here", ""),
        ("Well met. Hello.", ""),
        ('He said "Go to the well now. And', ""),
        ("*bows to you very deeply. And", ""),
        ("The rooms are 1. the hall and 2. the", ""),
        ("So it is, and so\nit was. And", None),
        ("word " * 200, None),
    ],
)
def test_the_first_sentence(text: str, sentence: str | None) -> None:
    assert first_sentence(text) == sentence


@given(st.text(alphabet="ab .!?\u3002\n\"'\u201d*(", max_size=80))
def test_it_is_a_beginning_that_stays_whatever_comes_after(text: str) -> None:
    sentence = first_sentence(text)
    if sentence:
        assert text.startswith(sentence)
        assert "\n" not in sentence
        assert first_sentence(text + "A")  # more words take nothing away from it


@given(st.text(alphabet="aB .!?\u3002\"'\u201d*(", max_size=80), st.integers(1, 9))
def test_looking_on_finds_what_looking_anew_would(text: str, size: int) -> None:
    assume(not re.search(r"[^aB .]{6}", text))  # more marks in a row than are looked back for
    looked = 0
    for end in range(0, len(text) + size, size):
        found = first_sentence(text[:end], looked)
        assert found == first_sentence(text[:end])
        if found != "":
            break
        looked = end
