from __future__ import annotations

import pytest

from mud_assistant.llm.loose_json.repair import value_at
from mud_assistant.llm.loose_json.rewrite import rewrite
from mud_assistant.llm.loose_json.tokens import Token, UnreadableJSON, WorkBudget


def test_tokens_behind_the_end_of_the_value_are_refused() -> None:
    tokens = [Token("open", "{"), Token("close", "}"), Token("comma", ",")]
    with pytest.raises(UnreadableJSON):
        rewrite(tokens, close=True)


def test_an_open_value_is_cut_unless_the_text_ended_by_itself() -> None:
    text = '{"a": 1, '
    whole, broken = (value_at(text, 0, WorkBudget(len(text)), complete=complete) for complete in (True, False))
    assert whole is not None
    assert broken is not None
    assert (whole.value, whole.cut, broken.cut) == ({"a": 1}, False, True)


def test_what_stands_inside_a_value_nested_too_deeply_is_not_read() -> None:
    text = '{"a":' * 100
    budget = WorkBudget(len(text))
    assert value_at(text, 0, budget, complete=True) is None
    spent = budget.spent
    assert value_at(text, 5, budget, complete=True) is None
    assert budget.spent == spent
