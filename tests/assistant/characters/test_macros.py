"""Macros are expanded once, in one pass."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.characters.macros import Macros, insert_names


def expand(text: str) -> str:
    return Macros("seed").expand(text, "field")


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{{char}} {{CHAR}} <BOT> <char>", "{{char}} {{char}} {{char}} {{char}}"),
        ("to {{user}} and <USER>", "to whoever speaks to you and whoever speaks to you"),
        ("{{// a note}}{{comment: x}}{{hidden_key:x}}{{original}}.", "."),
        ("{{reverse:abc}}", "cba"),
        ("{{random:one\\, two}}", "one, two"),
        ("{{random::one}}", "one"),
        ("{{roll:1d1}} {{roll:0}} {{roll:x}} {{ROLL:d1}}", "1   1"),
        ("{{weather}}{{unknown:x}}", ""),
        ("a {{ b }} }}c", "a  c"),
    ],
)
def test_macros(text: str, expanded: str) -> None:
    assert expand(text) == expanded


def test_dice_stay_within_their_sides_and_all_are_drawn_by_the_seed() -> None:
    rolls = [int(Macros(str(seed)).expand("{{roll:2d6}}", "field")) for seed in range(200)]
    assert set(rolls) == set(range(2, 13))
    assert expand("{{roll:d1000000}}") == expand("{{roll:d1000000}}")


def test_what_was_inserted_is_not_expanded_again() -> None:
    assert insert_names("{{char}} greets {{user}}", char="{{user}}", user="{{char}}") == "{{user}} greets {{char}}"
    assert insert_names("{{char}} greets {{user}}", char="Wren") == "Wren greets {{user}}"


def test_unknown_macros_are_named() -> None:
    macros = Macros("seed")
    macros.expand("{{weather}} {{weather}} {{char}}", "field")
    assert list(macros.unknown) == ["{{weather}}"]
