from __future__ import annotations

import sqlite3

import pytest

from mud_assistant.assistant.memory.recall.words import (
    asks_for_past,
    match_expression,
    says_something,
    select_terms,
    speaks_of_self,
    split_words,
)

HOSTILE = (
    'NOT "',
    "a* OR b",
    "line : x",
    "^first",
    'unbalanced " quote',
    "NEAR(a b)",
    "(((",
    "people:q1",
    "- + {a}",
    "\x00",
)


def test_stop_words_are_dropped_unless_none_remain() -> None:
    assert select_terms("What is the name of my dog?") == ["name", "dog"]
    assert select_terms("What is it?") == ["what", "is", "it"]


def test_names_are_no_terms_unless_none_remain() -> None:
    assert select_terms("Where does Wren sleep?", names=frozenset({"wren"})) == ["sleep"]
    assert select_terms("What do you know about Wren?", names=frozenset({"wren"})) == ["wren"]


def test_a_possessive_is_the_word_itself() -> None:
    assert split_words("Ann's dog, the widow\u2019s ROOF, don't") == ["ann", "dog", "the", "widow", "roof", "don"]


@pytest.mark.parametrize("language", ["english", "german"])
@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_player_is_never_syntax(text: str, language: str) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(line, people)")
    expression = match_expression(select_terms(text, language), language)
    if expression:
        db.execute("SELECT * FROM t WHERE t MATCH ?", (f"line : ({expression})",)).fetchall()
    assert expression.count('"') % 2 == 0
    db.close()


def test_a_run_without_spaces_is_cut_for_trigrams() -> None:
    assert match_expression(["\u5317\u6d77\u9053\u306e"], "japanese").count(" OR ") == 1
    assert match_expression(["ab"], "german") == ""


def test_who_and_when_are_read_from_the_words() -> None:
    assert speaks_of_self("What did I give you?")
    assert not speaks_of_self("What did Iris give you?")
    assert asks_for_past("Where did Wren use to live, where she used to sleep?")
    assert not asks_for_past("Where does Wren sleep?")
    assert says_something(["what", "happened"])
    assert not says_something(["what", "did", "you"])
