from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.llm.wire.thinking import ThinkingSplitter, split_thinking

tagged = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<thinking>",
            "</thinking>",
            "[THINK]",
            "[/THINK]",
            "<|channel|>analysis<|message|>",
            "<|end|>",
            "<|end_thinking|>",
            "<",
            "</th",
            "[",
            "a",
            " ",
            "\n",
            "b<",
        ]
    ),
    max_size=14,
).map("".join)


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        pytest.param("hello", "", "hello", id="no tags"),
        pytest.param("<think>hm</think>\n\nhello", "hm", "hello", id="closed"),
        pytest.param("<thinking>hm</thinking>hello", "hm", "hello", id="the longer tag"),
        pytest.param("[THINK]hm[/THINK] hello", "hm", "hello", id="Mistral's tag"),
        pytest.param("<THINK>hm</Think> hello", "hm", "hello", id="any case"),
        pytest.param("<think>hm", "hm", "", id="never closed"),
        pytest.param("hm</think> hello", "hm", "hello", id="only the closing tag"),
        pytest.param("<think></think>hello", "", "hello", id="empty"),
        pytest.param("a <think>b</think> c <think>d</think> e", "bd", "a c e", id="two blocks"),
        pytest.param("<think>a</think> b </think> c", "a", "b c", id="a stray closing tag later is dropped"),
        pytest.param("<think>a<think>b</think>c", "ab", "c", id="opened twice"),
        pytest.param("I <thin", "", "I <thin", id="half a tag at the end"),
        pytest.param("he [think]s <th\u0131nk>", "", "he [think]s <th\u0131nk>", id="look-alikes"),
    ],
)
def test_71_reasoning_is_set_apart(text: str, reasoning: str, answer: str) -> None:
    assert split_thinking(text) == (reasoning, answer)


@settings(deadline=None)
@given(tagged, st.lists(st.integers(0, 60), max_size=8))
def test_71_a_stream_cut_anywhere_gives_the_same_as_the_whole(text: str, cuts: list[int]) -> None:
    borders = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    splitter = ThinkingSplitter()
    pieces = []
    for start, end in pairwise(borders):
        pieces += splitter.feed(text[start:end])
    pieces += splitter.finish()
    answer = "".join(piece for is_reasoning, piece in pieces if not is_reasoning)
    reasoning = "".join(piece for is_reasoning, piece in pieces if is_reasoning)
    assert answer.startswith(splitter.taken_back)
    assert (splitter.taken_back + reasoning, answer.removeprefix(splitter.taken_back)) == split_thinking(text)


def test_71_a_stream_delivers_what_is_certain_at_once() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("hello <") == [(False, "hello ")]
    assert splitter.feed("b> <thi") == [(False, "<b> ")]
    assert splitter.feed("nk>hm</") == [(True, "hm")]
    assert splitter.feed("think") == []
    assert splitter.finish() == [(True, "</think")]
    assert not splitter.taken_back


def test_71_a_lone_closing_tag_takes_back_what_was_delivered() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("let me see</think> hello") == [(False, "let me see"), (False, "hello")]
    assert splitter.finish() == []
    assert splitter.taken_back == "let me see"


def test_71_a_block_that_the_template_opened_is_reasoning_from_the_start() -> None:
    splitter = ThinkingSplitter(opened=True)
    assert splitter.feed("let me see</think> hello") == [(True, "let me see"), (False, "hello")]
    assert not splitter.taken_back


def test_the_analysis_of_gpt_oss_is_reasoning_to_the_end_of_its_message() -> None:
    text = "<|channel|>analysis<|message|>Bob greets.<|end|><|start|>assistant<|channel|>final<|message|>Hello."
    assert split_thinking(text) == ("Bob greets.", "<|start|>assistant<|channel|>final<|message|>Hello.")


def test_the_end_of_a_message_without_an_analysis_is_no_tag() -> None:
    assert split_thinking("Hello.<|end|><|start|>user") == ("", "Hello.<|end|><|start|>user")


def test_the_thoughts_of_command_a_are_reasoning() -> None:
    assert split_thinking("<|START_THINKING|>Hm.<|END_THINKING|>Hello.") == ("Hm.", "Hello.")
