from __future__ import annotations

import pytest

from assistant.keys import KeyReferenceError, resolve_key


def test_no_reference_is_no_key() -> None:
    assert resolve_key("", {}) == ""


def test_the_key_is_where_the_reference_points() -> None:
    assert resolve_key("env:MY_KEY", {"MY_KEY": " planted \n"}) == "planted"


@pytest.mark.parametrize("reference", ["env:", "planted-literal-key", "file:/x"])
def test_what_is_no_reference_is_refused_and_not_repeated(reference: str) -> None:
    with pytest.raises(KeyReferenceError) as caught:
        resolve_key(reference, {})
    assert "planted" not in str(caught.value)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(KeyReferenceError, match="MY_KEY"):
        resolve_key("env:MY_KEY", {})
